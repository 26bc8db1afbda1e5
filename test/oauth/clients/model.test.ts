import { expect, test } from "bun:test"
import { Clock, Effect } from "effect"
import * as Memory from "../../../adapters/memory/Memory.ts"
import { base64Url } from "../../../core/codec/Base64Url.ts"
import { readJws } from "../../../core/codec/Jws.ts"
import { assertionType } from "../../../core/oauth/clients/assertion.ts"
import { SignatureFault, Signatures } from "../../../core/ports/Signatures.ts"
import { digestOf } from "../../../core/rules/Secret.ts"
import { checkModel, type Stage } from "../../../core/testing/play/checkModel.ts"
import { inProcess } from "../../../core/testing/play/inProcess.ts"
import { playOver } from "../../../core/testing/play/Player.ts"
import { report } from "../../../core/testing/play/report.ts"
import type { ClientMethod } from "../../../core/testing/script/ClientMethod.ts"
import { toySignatures } from "../../given/toyRows.ts"

const x = "A".repeat(43)
const utf8 = new TextEncoder()
const part = (value: unknown) => base64Url(utf8.encode(JSON.stringify(value)))
const mark = (key: string, text: string) => digestOf(`${key} ${text}`)

let drawn = 0

/** Clients that sign, as scripts use them: an assertion for each request. */
const bySigning: ClientMethod = {
  name: "private_key_jwt",
  metadata: { jwks: { keys: [{ kty: "OKP", crv: "Ed25519", x, kid: "k" }] } },
  issuesSecret: false,
  show: ({ id, issuer }, right) => {
    const claims = { iss: id, sub: id, aud: issuer, jti: `${++drawn}` }
    const text = `${part({ alg: "EdDSA", kid: "k" })}.${part(claims)}`
    return {
      headers: [],
      body: [
        ["client_assertion_type", assertionType],
        ["client_assertion", `${text}.${mark(right ? x : "another", text)}`]
      ]
    }
  }
}

/** A digest for a signature. Scripts know no time, so each assertion was made just now. */
const digests: Signatures["Service"] = {
  ...toySignatures,
  verify: (jws, keys) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const text = typeof jws === "string" ? jws : jws.text
      const end = text.lastIndexOf(".")
      const key = keys.find((key) => key.kty === "OKP" && mark(key.x, text.slice(0, end)) === text.slice(end + 1))
      const read = readJws(text)
      return key === undefined || read === undefined
        ? Effect.fail(new SignatureFault({ reason: "forged" }))
        : Effect.succeed({ ...read, claims: { ...read.claims, exp: now / 1000 + 60 }, key })
    })
}

test("clients that sign answer scripts of the reference model as those with a secret do", async () => {
  const stage: Stage = (world, script) =>
    inProcess(world).pipe(
      Effect.map(({ system }) => playOver(system, world, script)),
      Effect.provideService(Signatures, digests),
      Effect.provide(Memory.layer, { local: true })
    )
  const result = await Effect.runPromise(checkModel(stage, { seed: 41, runs: 16, world: { methods: [bySigning] } }))
  expect(result._tag === "Falsified" ? report(result) : "agreed").toBe("agreed")
})
