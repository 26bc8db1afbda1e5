import { Effect, Option, Result, Schema, Struct } from "effect"
import { Base64 } from "effect/encoding"
import { type AuthenticatedClient, authenticate, type Presented } from "../../client/authenticate.ts"
import { isKnown } from "../../client/Client.ts"
import { takeOfAddress } from "../../http/addressLimit.ts"
import { asItCame, formDecoded, readerOf, type Sent } from "../../http/form.ts"
import type { Call, Parts } from "../../http/Route.ts"
import { allowances } from "../../ports/Limiter.ts"
import type { StorageUnavailable } from "../../ports/Storage.ts"
import { ClientId, readClientId } from "../../rules/Id.ts"
import { InvalidClient, InvalidRequest, type TooManyRequests } from "../../rules/Refusal.ts"
import { hashOf } from "../../rules/Secret.ts"

/** RFC 6749 §2.3.1: how a client says who it is in the body. */
export const clientFields = {
  client_id: Schema.optionalKey(
    ClientId.annotate({ description: "The client, unless its id and secret come in the Authorization header." })
  ),
  client_secret: Schema.optionalKey(
    Schema.String.annotate({
      description: "Its secret; a public client has none. Never beside the Authorization header."
    })
  )
} as const

const utf8 = new TextDecoder()

/** RFC 6749 §2.3.1: both halves are form-encoded before they are joined. */
const formDecode = (text: string): Option.Option<string> => {
  try {
    return Option.some(formDecoded(text))
  } catch {
    return Option.none()
  }
}

const unreadable = new InvalidClient({ reason: "unreadable", triedHeader: true })

const readBasic = (header: string): Result.Result<{ readonly id: string; readonly secret: string }, InvalidClient> => {
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(header)?.[1]
  if (encoded === undefined) return Result.fail(unreadable)
  const decoded = Base64.decode(encoded)
  if (Result.isFailure(decoded)) return Result.fail(unreadable)
  const text = utf8.decode(decoded.success)
  const colon = text.indexOf(":")
  if (colon < 0) return Result.fail(unreadable)
  const id = formDecode(text.slice(0, colon))
  const secret = formDecode(text.slice(colon + 1))
  return Option.isSome(id) && Option.isSome(secret)
    ? Result.succeed({ id: id.value, secret: secret.value })
    : Result.fail(unreadable)
}

const readClient = readerOf(clientFields)
const readSecret = readerOf(Struct.pick(clientFields, ["client_secret"]))

const presented = (id: ClientId, method: Presented["method"], secret: string | undefined): Presented => ({
  id,
  method,
  hash: secret === undefined || secret === "" ? undefined : hashOf(secret)
})

/** RFC 6749 §2.3: by one method only, so the body may name the same client and nothing more. */
const presentedByHeader = (
  authorization: string,
  sent: Sent
): Result.Result<Presented, InvalidClient | InvalidRequest> => {
  const basic = readBasic(authorization)
  if (Result.isFailure(basic)) return Result.fail(basic.failure)
  const body = readSecret(sent)
  if (Result.isFailure(body) || body.success.client_secret !== undefined) {
    const message = "The client authenticates by the header or by the body, not by both."
    return Result.fail(new InvalidRequest({ reason: "two_client_credentials", message }))
  }
  const named = asItCame(sent, "client_id")
  if (named !== undefined && named !== basic.success.id) {
    const message = "The client_id of the body is not the one of the header."
    return Result.fail(new InvalidRequest({ reason: "two_client_ids", message }))
  }
  const id = readClientId(basic.success.id)
  return Option.isNone(id)
    ? Result.fail(new InvalidClient({ reason: "unknown", triedHeader: true }))
    : Result.succeed(presented(id.value, "client_secret_basic", basic.success.secret))
}

/** What the request says about its sender. */
const readPresented = (
  authorization: string | null | undefined,
  sent: Sent
): Result.Result<Presented, InvalidClient | InvalidRequest> => {
  if (authorization !== null && authorization !== undefined && authorization !== "")
    return presentedByHeader(authorization, sent)
  const body = readClient(sent)
  // What no client can be called is not known, like what none is called.
  if (Result.isFailure(body)) return Result.fail(new InvalidClient({ reason: "unknown", triedHeader: false }))
  const { client_id: id, client_secret: secret } = body.success
  return id === undefined
    ? Result.fail(new InvalidClient({ reason: "none_presented", triedHeader: false }))
    : Result.succeed(presented(id, secret === undefined ? "none" : "client_secret_post", secret))
}

/** What a form has beside its client, who is read before the rest of it. */
export const besidesClient = <F extends typeof clientFields>(fields: F) =>
  Struct.omit(fields, ["client_id", "client_secret"])

type Unauthenticated = InvalidClient | InvalidRequest | TooManyRequests | StorageUnavailable

/** What is presented, held against the client that it names as that stands now. */
const proofOf = (
  parts: Parts,
  call: Call,
  presented: Presented
): Effect.Effect<Result.Result<AuthenticatedClient, InvalidClient>, StorageUnavailable> =>
  Effect.mapEager(parts.clients.find(call.workspace.id, presented.id, call.now), (client) =>
    authenticate(presented, client !== undefined && isKnown(client, call.now) ? client : undefined)
  )

/** The client behind a request to the token, revocation or introspection endpoint. */
export const authenticateClient = (
  parts: Parts,
  call: Call,
  sent: Sent
): Effect.Effect<AuthenticatedClient, Unauthenticated> => {
  const presented = readPresented(call.request.headers.get("authorization"), sent)
  if (Result.isFailure(presented)) return Effect.fail(presented.failure)
  const workspace = call.workspace.id
  return Effect.flatMapEager(
    proofOf(parts, call, presented.success),
    (authenticated): Effect.Effect<AuthenticatedClient, Unauthenticated> =>
      Result.isSuccess(authenticated)
        ? Effect.mapEager(
            parts.limiter.take({ allowance: allowances.client, workspace, of: presented.success.id }),
            () => authenticated.success
          )
        : // Counted by address: by the client's name, anybody could use up somebody else's share.
          Effect.flatMapEager(takeOfAddress(parts.limiter, call, allowances.failedClient), () =>
            Effect.fail(authenticated.failure)
          )
  )
}

/** The same for whoever was let in by this very request, and may have been deleted since: its share was taken then. */
export const authenticateAgain = (
  parts: Parts,
  call: Call,
  sent: Sent
): Effect.Effect<AuthenticatedClient, InvalidClient | InvalidRequest | StorageUnavailable> => {
  const presented = readPresented(call.request.headers.get("authorization"), sent)
  return Result.isFailure(presented)
    ? Effect.fail(presented.failure)
    : Effect.flatMapEager(proofOf(parts, call, presented.success), Effect.fromResult)
}
