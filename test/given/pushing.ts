import { Effect } from "effect"
import { CompactSign, exportJWK, generateKeyPair, type JWK } from "jose"
import type { HttpResponse } from "../../core/http/Http.ts"
import { assertionType } from "../../core/oauth/clients/assertion.ts"
import {
  challenge,
  decide,
  form,
  formHeaders,
  header,
  jsonOf,
  prove,
  redirectUri,
  registerClient,
  type Values
} from "./flow.ts"
import { t0, theWorkspace, type World } from "./World.ts"

const seconds = t0 / 1000

interface Key {
  readonly alg: string
  readonly jwk: JWK
  readonly sign: (claims: unknown, header?: object) => Promise<string>
}

export const keyOf = async (alg: string, kid: string): Promise<Key> => {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  return {
    alg,
    jwk: { ...(await exportJWK(publicKey)), kid },
    sign: (claims, more = {}) =>
      new CompactSign(new TextEncoder().encode(typeof claims === "string" ? claims : JSON.stringify(claims)))
        .setProtectedHeader({ alg, kid, ...more })
        .sign(privateKey)
  }
}

/** A client that signs, as a person let it in. */
export interface SigningClient {
  readonly id: string
  readonly redirectUri: string
  readonly registrationUri: string
  readonly registrationToken: string
  readonly key: Key
}

export const signingClient = Effect.fnUntraced(function* (
  world: World,
  key: Key,
  metadata: Readonly<Record<string, unknown>> = {}
) {
  const client = yield* registerClient(world, {
    token_endpoint_auth_method: "private_key_jwt",
    jwks: { keys: [key.jwk] },
    ...metadata
  })
  yield* Effect.orDie(prove(world, client))
  return { ...client, key } satisfies SigningClient
})

let drawn = 0
const jti = () => `jti-${++drawn}`

export type Claims = Readonly<Record<string, unknown>>

export const assertionOf = (client: SigningClient, over: Claims = {}, header: object = {}, by: Key = client.key) =>
  Effect.promise(() => {
    const { id } = client
    const claims = {
      iss: id,
      sub: id,
      aud: theWorkspace.issuer,
      jti: jti(),
      iat: seconds,
      nbf: seconds,
      exp: seconds + 60
    }
    return by.sign({ ...claims, ...over }, header)
  })

/** What a client asks for where nothing is said. */
export const askedBy = (client: Pick<SigningClient, "id">, over: Values = {}): Values => ({
  response_type: "code",
  client_id: client.id,
  redirect_uri: redirectUri,
  scope: "api",
  state: "st",
  code_challenge: challenge,
  code_challenge_method: "S256",
  ...over
})

/** A request object with these claims over the usual ones; one that is `undefined` is left out. */
export const objectOf = (client: SigningClient, over: Claims = {}, header: object = {}, by: Key = client.key) =>
  Effect.promise(() =>
    by.sign(
      {
        iss: client.id,
        aud: theWorkspace.issuer,
        nbf: seconds,
        exp: seconds + 300,
        ...askedBy(client),
        ...over
      },
      header
    )
  )

export const post = (world: Pick<World, "send">, path: string, fields: Values): Effect.Effect<HttpResponse> =>
  world.send("POST", path, { headers: formHeaders, body: form(fields) })

/** Pushes what is asked for, the client proven by an assertion. */
export const pushSigned = Effect.fnUntraced(function* (
  world: World,
  client: SigningClient,
  fields: Values = askedBy(client),
  assertion?: string
) {
  return yield* post(world, "/oauth/par", {
    ...fields,
    client_assertion_type: assertionType,
    client_assertion: assertion ?? (yield* assertionOf(client))
  })
})

export const visitTarget = (client: { readonly id: string }, requestUri: string, more: Values = {}): string =>
  `/oauth/authorize?${form({ client_id: client.id, request_uri: requestUri, ...more })}`

export const uriOf = (answer: HttpResponse): string => String(jsonOf(answer).request_uri)

/** What a visit of `as` comes to: a page of consent, an error page, or what the client is told. */
export const visit = (world: World, target: string, as = "alice") => world.send("GET", target, { as })

/** The parameters that the client gets back. */
export const backOf = (answer: HttpResponse): URLSearchParams => {
  const to = header(answer, "location")
  return to === undefined ? new URLSearchParams() : new URL(to, theWorkspace.issuer).searchParams
}

export const approveAt = Effect.fnUntraced(function* (world: World, target: string, as = "alice") {
  const page = yield* visit(world, target, as)
  return page.status === 200 ? yield* decide(world, page, "approve", as) : page
})

/** A code, its client having pushed. */
export const codeByPush = Effect.fnUntraced(function* (world: World, client: SigningClient, fields?: Values) {
  const pushed = yield* pushSigned(world, client, fields)
  return backOf(yield* approveAt(world, visitTarget(client, uriOf(pushed)))).get("code") ?? ""
})

export const errorOf = (answer: HttpResponse): string =>
  header(answer, "content-type") === "application/json"
    ? String(jsonOf(answer).error)
    : (backOf(answer).get("error") ?? "page")
