import { Effect, Result, Schema } from "effect"
import { asItCame } from "../../core/http/form.ts"
import { clientAuth, type ProofFault, type Shown } from "../../core/oauth/clients/ClientAuth.ts"
import { bearer } from "../../core/oauth/presented/bearer.ts"
import type { Presentation } from "../../core/oauth/presented/Presentation.ts"
import { SignatureFault, type Signatures } from "../../core/ports/Signatures.ts"
import type { PublicKey } from "../../core/rules/Jwk.ts"
import { InvalidClient, InvalidClientMetadata, InvalidToken, PortUnavailable } from "../../core/rules/Refusal.ts"
import { digestOf } from "../../core/rules/Secret.ts"
import type { ClientMethod } from "../../core/testing/script/ClientMethod.ts"

/** A signature for tests: a digest of key and claims. Asynchronous, as a platform's would be. */
export const toySignature = (key: string, claims: string): string => `${claims}.${digestOf(`${key} ${claims}`)}`

const fault = (reason: SignatureFault["reason"]) => Effect.fail(new SignatureFault({ reason }))

export const toySignatures: Signatures["Service"] = {
  verify: (jws, keys) =>
    Effect.flatMap(Effect.yieldNow, () => {
      const text = typeof jws === "string" ? jws : jws.text
      const [claims = ""] = text.split(".")
      const key = keys.find((key) => key.kty === "OKP" && toySignature(key.x, claims) === text)
      return key === undefined ? fault("forged") : Effect.succeed({ header: {}, claims: { sub: claims }, key })
    }),
  makeKey: () => fault("failed"),
  rewrap: () => fault("failed"),
  signer: () => fault("failed")
}

const StoredKey = Schema.Struct({
  _tag: Schema.Literal("Key"),
  method: Schema.Literal("toy_note"),
  toy_key: Schema.String
})

interface ShownNote extends Shown {
  readonly note: string
}

const judge = ({ reason }: SignatureFault): Effect.Effect<never, ProofFault> =>
  reason === "no_adapter"
    ? Effect.fail(new PortUnavailable({ port: "signatures", reason }))
    : Effect.fail(new InvalidClient({ reason: "bad_assertion", triedHeader: false }))

/** A client authentication method outside any specification: the client signs its own id. */
export const toyNote = clientAuth<ShownNote, typeof StoredKey.Type>({
  name: "toy_note",
  proves: true,
  fields: { client_note: Schema.optionalKey(Schema.String.annotate({ description: "The client's id, signed." })) },
  shown: ({ named, sent }) => {
    const note = asItCame(sent, "client_note")
    if (note === undefined) return undefined
    return named === undefined
      ? Result.fail(new InvalidClient({ reason: "none_presented", triedHeader: false }))
      : Result.succeed({ id: named, note })
  },
  stored: StoredKey,
  members: { toy_key: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(64))) },
  register: ({ toy_key }) =>
    typeof toy_key === "string"
      ? Result.succeed({ _tag: "Key", method: "toy_note", toy_key })
      : Result.fail(new InvalidClientMetadata({ message: "A client of the method toy_note needs a toy_key." })),
  told: ({ toy_key }) => ({ toy_key }),
  prove: ({ id, note }, stored, _, { signatures }) => {
    const keys: ReadonlyArray<PublicKey> =
      stored === undefined ? [] : [{ kty: "OKP", crv: "Ed25519", x: stored.toy_key }]
    return signatures.verify(note, keys, ["EdDSA"]).pipe(
      Effect.catch(judge),
      Effect.flatMap(({ claims }) =>
        claims.sub === id
          ? Effect.undefined
          : Effect.fail(new InvalidClient({ reason: "bad_assertion", triedHeader: false }))
      )
    )
  },
  metadata: { auth_signing_alg_values_supported: ["EdDSA"] }
})

/** The same method as the reference model's scripts use it. */
export const byNote: ClientMethod = {
  name: "toy_note",
  metadata: { toy_key: "k" },
  issuesSecret: false,
  show: ({ id }, right) => ({
    headers: [],
    body: [
      ["client_id", id],
      ["client_note", toySignature(right ? "k" : "other", id)]
    ]
  })
}

/**
 * A token presentation outside any specification: a stamp beside the token, which can stand for a key of the caller.
 */
export const toyStamp: Presentation = {
  name: "stamped",
  scheme: "Stamped",
  shows: "token",
  carries: (binding) => binding !== null,
  read: ({ headers }) => {
    const authorization = headers.get("authorization")
    const text = authorization?.startsWith("Stamped ") === true ? authorization.slice(8) : undefined
    if (text === undefined) return undefined
    switch (headers.get("stamp")) {
      case "right":
        return Effect.succeed({ text, binding: null })
      case "a key's":
        return Effect.succeed({ text, binding: { thumbprint: digestOf("stamp") } })
      default:
        return Effect.fail(new InvalidToken({ reason: "malformed" }))
    }
  },
  challenge: (parameters) => `Stamped stamps="right", ${parameters.join(", ")}`
}

/** A second row with the name of a built-in one. */
export const secondBearer: Presentation = { ...toyStamp, name: bearer.name }
