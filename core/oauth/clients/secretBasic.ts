import { Effect, Option, Result, Schema } from "effect"
import { Base64 } from "effect/encoding"
import type { Proof } from "../../client/authenticate.ts"
import { readClientIdentifier } from "../../client/ClientIdentifier.ts"
import { registerSecret, StoredSecret, secretMark, whichSecret } from "../../client/ClientSecret.ts"
import { asItCame, formDecoded } from "../../http/form.ts"
import type { Instant } from "../../rules/Instant.ts"
import { InvalidClient, InvalidRequest } from "../../rules/Refusal.ts"
import { hashOf } from "../../rules/Secret.ts"
import { clientAuth, type ProofFault, type Shown, unreadable } from "./ClientAuth.ts"
import { StoredPublic } from "./none.ts"

/** What the header shows. A secret's text goes no further than where it was read. */
interface ShownBasic extends Shown {
  /** `undefined`: the empty one, by which a public client names itself. */
  readonly hash: Uint8Array | undefined
}

const holds: Effect.Effect<Proof | undefined, ProofFault> = Effect.undefined

/** RFC 6749 §2.3.1, whichever way the secret came. An unknown id takes the same steps as a wrong secret. */
export const proveSecret = (
  hash: Uint8Array,
  stored: StoredSecret | undefined,
  now: Instant,
  triedHeader: boolean
): Effect.Effect<Proof | undefined, ProofFault> => {
  const which = whichSecret(hash, stored, now)
  if (stored === undefined || which === "wrong") {
    return Effect.fail(new InvalidClient({ reason: "bad_secret", triedHeader }))
  }
  const { digest, older } = stored
  if (older === undefined) return holds
  return Effect.succeed({ mark: secretMark(which === "older" ? older.digest : digest) })
}

const wrongMethod = Effect.fail(new InvalidClient({ reason: "wrong_method", triedHeader: true }))

const utf8 = new TextDecoder()

/** RFC 6749 §2.3.1: both halves are form-encoded before they are joined. */
const formDecode = (text: string): string | undefined => {
  try {
    return formDecoded(text)
  } catch {
    return undefined
  }
}

const readBasic = (header: string): Result.Result<{ readonly id: string; readonly secret: string }, InvalidClient> => {
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(header)?.[1]
  if (encoded === undefined) return unreadable
  const decoded = Base64.decode(encoded)
  if (Result.isFailure(decoded)) return unreadable
  const text = utf8.decode(decoded.success)
  const colon = text.indexOf(":")
  if (colon < 0) return unreadable
  const id = formDecode(text.slice(0, colon))
  const secret = formDecode(text.slice(colon + 1))
  return id === undefined || secret === undefined ? unreadable : Result.succeed({ id, secret })
}

const isBasic = (authorization: string): boolean => /^basic(?: |$)/i.test(authorization)

/**
 * RFC 6749 §2.3.1: id and secret by HTTP Basic. The body may name the same client. A client without a secret may send an
 * empty one.
 */
export const secretBasic = clientAuth<ShownBasic, StoredSecret | StoredPublic>({
  name: "client_secret_basic",
  proves: true,
  scheme: "Basic",
  fields: {},
  shown: ({ authorization, sent }) => {
    if (authorization === "" || !isBasic(authorization)) return undefined
    const basic = readBasic(authorization)
    if (Result.isFailure(basic)) return Result.fail(basic.failure)
    const named = asItCame(sent, "client_id")
    if (named !== undefined && named !== basic.success.id) {
      const message = "The client_id of the body is not the one of the header."
      return Result.fail(new InvalidRequest({ reason: "two_client_ids", message }))
    }
    const id = readClientIdentifier(basic.success.id)
    return Option.isNone(id)
      ? Result.fail(new InvalidClient({ reason: "unknown", triedHeader: true }))
      : Result.succeed({ id: id.value, hash: basic.success.secret === "" ? undefined : hashOf(basic.success.secret) })
  },
  stored: Schema.Union([StoredSecret, StoredPublic]),
  register: (_, drawn, kept) =>
    Result.succeed(registerSecret("client_secret_basic", drawn, kept?._tag === "Secret" ? kept : undefined)),
  prove: ({ hash }, stored, { call }) => {
    if (hash === undefined) return stored?._tag === "Public" ? holds : wrongMethod
    return stored?._tag === "Public" ? wrongMethod : proveSecret(hash, stored, call.now, true)
  }
})
