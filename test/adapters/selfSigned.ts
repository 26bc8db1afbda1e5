import { expect } from "bun:test"
import { join } from "node:path"
import { Effect } from "effect"
import { runProgram } from "../harness/runProgram.ts"
import { letThrough, throwawayFolder } from "../harness/throwawayFolder.ts"
import { unprivilegedUser } from "../harness/unprivilegedUser.ts"

/** A certificate that vouches for itself, and its key, as files: for `localhost`, and for what else is said. */
export const selfSigned = Effect.fnUntraced(function* (also: ReadonlyArray<`IP:${string}`> = []) {
  const user = unprivilegedUser()
  const folder = yield* throwawayFolder("tls", user)
  letThrough(folder)
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")]
  const made = yield* runProgram(
    "openssl",
    ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"].concat([
      "-subj",
      "/CN=localhost",
      "-addext",
      `subjectAltName=${["DNS:localhost", ...also].join(",")}`,
      "-keyout",
      key,
      "-out",
      cert
    ]),
    { user }
  )
  expect([made.status, made.stderr.includes("rror")]).toEqual([0, false])
  return { key, cert }
})
