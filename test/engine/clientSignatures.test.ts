import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { verifiedOfClient } from "../../core/engine/clientSignatures.ts"
import { type ClientKeys, type KeySource, KeysFault } from "../../core/ports/ClientKeys.ts"
import { SignatureFault, Signatures, type Verified } from "../../core/ports/Signatures.ts"
import { ClientId } from "../../core/rules/Id.ts"
import type { PublicKey } from "../../core/rules/Jwk.ts"
import { theWorkspace } from "../given/World.ts"

const jws = { text: "h.c.s", header: { kid: "one" }, claims: { sub: "c" } }
const key: PublicKey = { kty: "OKP", crv: "Ed25519", x: "A".repeat(43), kid: "one" }
const client = ClientId.make("A".repeat(22))
const fetched: KeySource = { _tag: "Fetched", jwksUri: "https://app.example/keys" }
const registered: KeySource = { _tag: "Registered", keys: [key] }

type Verdict = Effect.Effect<Verified, SignatureFault>

/** What comes of a signature, and what the ports were asked for it. */
const verify = (source: KeySource, found: ReturnType<ClientKeys["Service"]["find"]>, verdict: Verdict) => {
  const asked: Array<unknown> = []
  const answering =
    <A, E>(answer: Effect.Effect<A, E>) =>
    (...what: ReadonlyArray<unknown>) =>
      Effect.suspend(() => {
        asked.push(what)
        return answer
      })
  const ports = {
    clientKeys: { find: answering(found) },
    signatures: { ...Signatures.none, verify: answering(verdict) }
  }
  const by = { workspace: theWorkspace.id, client, source, kid: "one", algorithm: "EdDSA" } as const
  return Effect.runPromise(Effect.result(verifiedOfClient(ports, jws, by))).then((result) => [result, asked] as const)
}

const held = { header: jws.header, claims: jws.claims, key }
const holds: Verdict = Effect.succeed(held)

describe("what a client signed", () => {
  const asked = [jws, [key], ["EdDSA"]]

  test("is verified by the keys that it registered, which no port is asked for", async () => {
    const [result, calls] = await verify(registered, Effect.succeed([]), holds)
    expect(result).toMatchObject({ _tag: "Success", success: held })
    expect(calls).toEqual([asked])
  })

  test("is verified by the keys where the client said that they are, for that client of that workspace", async () => {
    const [result, calls] = await verify(fetched, Effect.succeed([key]), holds)
    expect(result).toMatchObject({ _tag: "Success", success: held })
    expect(calls).toEqual([[{ workspace: theWorkspace.id, client }, fetched, "one"], asked])
  })

  const own = (reason: string) => ({ _tag: "ClientSignatureFault", reason })
  const ofPort = (port: string, reason: string) => ({ _tag: "PortUnavailable", port, reason })

  const keysFaults: ReadonlyArray<readonly [KeysFault["reason"], object]> = [
    ["no_adapter", ofPort("client_keys", "no_adapter")],
    ["unreachable", ofPort("client_keys", "unreachable")],
    ["malformed", own("key_unknown")]
  ]
  test.each(keysFaults)("whose keys are %s is no more than that", async (reason, fault) => {
    const [result, calls] = await verify(fetched, Effect.fail(new KeysFault({ reason })), holds)
    expect(result).toMatchObject({ _tag: "Failure", failure: fault })
    expect(calls).toHaveLength(1)
  })

  const faults: ReadonlyArray<readonly [SignatureFault["reason"], object]> = [
    ["no_adapter", ofPort("signatures", "no_adapter")],
    ["failed", ofPort("signatures", "failed")],
    ["no_key", own("key_unknown")],
    ["algorithm", own("algorithm")],
    ["malformed", own("forged")],
    ["forged", own("forged")],
    ["wrapped", own("forged")]
  ]
  test.each(faults)("by a signature that is %s is told from the others", async (reason, fault) => {
    const [result] = await verify(registered, Effect.succeed([]), Effect.fail(new SignatureFault({ reason })))
    expect(result).toMatchObject({ _tag: "Failure", failure: fault })
  })
})
