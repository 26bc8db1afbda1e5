import { expect, test } from "bun:test"
import { join } from "node:path"
import { Effect } from "effect"
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify, SignJWT } from "jose"
import * as oauth from "oauth4webapi"
import * as openid from "openid-client"
import { assertionType } from "../../core/oauth/clients/assertion.ts"
import { startServer } from "../given/server.ts"
import { register } from "../given/serverVisitor.ts"
import { command } from "../runtimes/given/tessera.ts"
import { keyOf, keyServer } from "./signing.ts"

interface Signer {
  readonly key: CryptoKey
  readonly kid: string
}

/** A token for a client by what it signed, or the error that it was refused with. */
type TokenOf = (issuer: string, client: string, alg: string, signer: Signer) => Promise<string>

const own = { grant_type: "client_credentials", scope: "api" }

const programs: Readonly<Record<string, TokenOf>> = {
  "openid-client": async (issuer, id, _, signer) => {
    const config = await openid.discovery(new URL(issuer), id, undefined, openid.PrivateKeyJwt(signer), {
      algorithm: "oauth2",
      execute: [openid.allowInsecureRequests]
    })
    return (await openid.clientCredentialsGrant(config, { scope: "api" })).access_token
  },
  oauth4webapi: async (issuer, client_id, _, signer) => {
    const at = new URL(issuer)
    const insecure = { [oauth.allowInsecureRequests]: true }
    const found = await oauth.discoveryRequest(at, { algorithm: "oauth2", ...insecure })
    const as = await oauth.processDiscoveryResponse(at, found)
    const client = { client_id }
    const scope = new URLSearchParams({ scope: "api" })
    const asked = await oauth.clientCredentialsGrantRequest(as, client, oauth.PrivateKeyJwt(signer), scope, insecure)
    return (await oauth.processClientCredentialsResponse(as, client, asked)).access_token
  },
  jose: async (issuer, client, alg, { key, kid }) => {
    const assertion = await new SignJWT({ jti: crypto.randomUUID() })
      .setProtectedHeader({ alg, kid })
      .setIssuer(client)
      .setSubject(client)
      .setAudience(issuer)
      .setIssuedAt()
      .setExpirationTime("1 minute")
      .sign(key)
    const body = new URLSearchParams({ ...own, client_assertion_type: assertionType, client_assertion: assertion })
    const answer = await fetch(`${issuer}/oauth/token`, { method: "POST", body })
    // As the libraries do: what is refused is thrown.
    const said: unknown = await answer.json()
    if (!answer.ok) throw said
    return String(Object(said).access_token)
  }
}

const refused = expect.objectContaining({ error: "invalid_client" })

test("openid-client, oauth4webapi and jose sign through a rotation of their keys, and jose reads ours through one", () =>
  Effect.gen(function* () {
    const keys = yield* keyServer
    const server = yield* startServer({ env: keys.env })
    const { url: issuer } = server
    const alg = { first: "ES256", second: "EdDSA", other: "PS256" }
    const first = yield* keyOf(alg.first, "first")
    const second = yield* keyOf(alg.second, "second")
    const other = yield* keyOf(alg.other, "other")
    const metadata = {
      grant_types: ["client_credentials"],
      redirect_uris: [],
      token_endpoint_auth_method: "private_key_jwt"
    }
    const registered = (how: object) =>
      Effect.map(
        Effect.promise(() => register(issuer, { ...metadata, ...how })),
        ({ client_id }) => client_id
      )
    let byValue = ""
    for (const tokenOf of Object.values(programs)) {
      const token = (client: string, by: keyof typeof alg, { signer }: typeof first) =>
        Effect.promise(() => tokenOf(issuer, client, alg[by], signer).catch((refusal: unknown) => refusal))
      const isToken = expect.stringMatching(/^tsr_at_/)

      byValue = yield* registered({ jwks: { keys: [first.told, other.told] } })
      expect(yield* token(byValue, "first", first)).toEqual(isToken)
      expect(yield* token(byValue, "other", other)).toEqual(isToken)
      expect(yield* token(byValue, "second", second)).toEqual(refused)

      keys.served.keys = [first.told]
      const byAddress = yield* registered({ jwks_uri: `https://${keys.host}/${crypto.randomUUID()}` })
      expect(yield* token(byAddress, "first", first)).toEqual(isToken)
      keys.served.keys = [first.told, second.told]
      expect(yield* token(byAddress, "second", second)).toEqual(isToken)
      expect(yield* token(byAddress, "first", first)).toEqual(isToken)
      expect(yield* token(byAddress, "other", other)).toEqual(refused)
    }

    const operator = {
      cwd: server.folder,
      env: { ...keys.env, DATABASE_URL: `sqlite:${join(server.folder, "tessera.db")}`, BASE_URL: issuer }
    }
    const run = (...args: ReadonlyArray<string>) => Effect.map(command(args, operator), ({ status }) => status)
    expect(yield* run("client", "access-tokens", byValue, "jwt")).toBe(0)
    const remote = () => createRemoteJWKSet(new URL(`${issuer}/oauth/jwks`), { cooldownDuration: 0 })
    const known = remote()
    const subjectOf = (token: string, keys = known) =>
      Effect.promise(() =>
        jwtVerify(token, keys, { issuer, typ: "at+jwt" }).then(
          ({ payload }) => payload.sub,
          () => "refused"
        )
      )
    const issue = Effect.promise(async () => programs.jose?.(issuer, byValue, alg.first, first.signer) ?? "")
    const before = yield* issue
    expect(yield* subjectOf(before)).toBe(byValue)
    expect(yield* run("signing-keys", "rotate")).toBe(0)
    expect(yield* run("signing-keys", "retire", decodeProtectedHeader(before).kid ?? "", "--compromised")).toBe(0)
    // What it has of its keys in memory is a few seconds old at most: a new start has nothing.
    yield* server.stop
    yield* server.start
    const after = yield* issue
    expect(decodeProtectedHeader(after).kid).not.toBe(decodeProtectedHeader(before).kid)
    expect([yield* subjectOf(after), yield* subjectOf(before, remote())]).toEqual([byValue, "refused"])
  }).pipe(Effect.scoped, Effect.runPromise))
