import { readFileSync } from "node:fs"
import { join } from "node:path"
import { runProgram } from "../harness/runProgram.ts"
import { scoped } from "../harness/scoped.ts"
import { throwawayFolder } from "../harness/throwawayFolder.ts"

/** A key and a certificate that vouches for itself, for a server that only a test's own browser goes to. */
export const certificateFor = (host: string): Promise<{ readonly key: string; readonly cert: string }> =>
  scoped(function* () {
    const folder = yield* throwawayFolder("certificate")
    const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")]
    const request = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    const names = ["-days", "2", "-subj", `/CN=${host}`, "-addext", `subjectAltName=DNS:${host}`]
    const { status, stderr } = yield* runProgram("openssl", [...request, ...names, "-keyout", key, "-out", cert])
    if (status !== 0) throw new Error(`openssl made no certificate: ${stderr}`)
    return { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8") }
  })
