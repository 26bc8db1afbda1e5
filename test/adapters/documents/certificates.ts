import { expect } from "bun:test"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { runProgram } from "../../harness/runProgram.ts"
import { throwawayFolder } from "../../harness/throwawayFolder.ts"

const ecKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]

const openssl = (folder: string, args: ReadonlyArray<string>) =>
  Effect.map(runProgram("openssl", args, { cwd: folder }), ({ status, stderr }) => {
    expect([args.join(" "), status, status === 0 ? "" : stderr]).toEqual([args.join(" "), 0, ""])
  })

const selfSigned = (folder: string, name: string) =>
  openssl(
    folder,
    ["req", "-x509", ...ecKey, "-days", "2", "-subj", `/CN=${name}`].concat([
      ...["-addext", `subjectAltName=DNS:${name}`],
      ...["-keyout", `${name}.key`, "-out", `${name}.pem`]
    ])
  )

interface Leaf {
  readonly name: string
  readonly by: "public" | "private"
  readonly for: string
  readonly days?: string
}

/** As they are called in a folder: `NAME.key`, `NAME.pem`. */
const leaves: ReadonlyArray<Leaf> = [
  { name: "keys.example", by: "public", for: "DNS:keys.example,DNS:xn--bcher-kva.example" },
  { name: "addresses", by: "public", for: "IP:93.184.216.34,IP:2606:2800:220:1::1,IP:127.0.0.1" },
  { name: "expired.example", by: "public", for: "DNS:expired.example", days: "-1" },
  { name: "localhost", by: "private", for: "DNS:localhost,DNS:internal.example,IP:127.0.0.1,IP:::1" }
]

const signed = Effect.fnUntraced(function* (folder: string, { by, days = "2", for: names, name }: Leaf) {
  writeFileSync(join(folder, `${name}.ext`), `subjectAltName=${names}\n`)
  yield* openssl(folder, ["req", ...ecKey, "-subj", `/CN=${name}`, "-keyout", `${name}.key`, "-out", `${name}.csr`])
  yield* openssl(
    folder,
    ["x509", "-req", "-in", `${name}.csr`, "-CA", `${by}.pem`, "-CAkey", `${by}.key`].concat([
      ...["-CAcreateserial", "-days", days, "-extfile", `${name}.ext`, "-out", `${name}.pem`]
    ])
  )
})

/**
 * Two authorities, `public.pem` for those that every runtime trusts and `private.pem` for a company's own, and what they
 * signed; and `itself.example.pem`, which neither did.
 */
export const certificates = Effect.gen(function* () {
  const folder = yield* throwawayFolder("certificates")
  for (const name of ["public", "private", "itself.example"]) yield* selfSigned(folder, name)
  for (const leaf of leaves) yield* signed(folder, leaf)
  return folder
})
