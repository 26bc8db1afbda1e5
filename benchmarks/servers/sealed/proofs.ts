import { randomBytes } from "node:crypto"
import { type CryptoKey, calculateJwkThumbprint, compactVerify, importJWK, type JWK } from "jose"
import type { Order, Plan } from "../../Plan.ts"
import { makeProvers, provenGet, provenPost, proverAt, pushedFields, states } from "../prover.ts"
import { obey, redirectUri, verifier } from "../serving.ts"
import { issuer } from "../signer.ts"
import { clientId, credentials, data, headers, hour, isClient, markOf, month } from "./answers.ts"
import { audit, isAllowed } from "./duty.ts"
import { kinds, open, seal, sha256Of } from "./Seal.ts"

/** What a floor does for tokens that are bound to a key: one call of `jose`, and what no server can leave out. */

const utf8Reader = new TextDecoder()
const refused = JSON.stringify({ error: "invalid_dpop_proof" })

interface Key {
  readonly key: CryptoKey | Uint8Array
  readonly thumbprint: string
}

/** A key comes with each proof, and the same one over and over. */
const known = new Map<string, Key>()
const used = new Set<string>()

const keyOf = async (jwk: JWK): Promise<Key> => {
  const name = `${jwk.x} ${jwk.y}`
  const found = known.get(name)
  if (found !== undefined) return found
  const made = { key: await importJWK(jwk, "ES256"), thumbprint: await calculateJwkThumbprint(jwk) }
  known.set(name, made)
  return made
}

interface Header {
  readonly jwk: JWK
}

interface Claims {
  readonly htm: string
  readonly htu: string
  readonly iat: number
  readonly jti: string
  readonly ath?: string
}

const minute = 60

// What its own plan signed.
const headerOf = (proof: string) =>
  JSON.parse(Buffer.from(proof.slice(0, proof.indexOf(".")), "base64url").toString()) as Header

/** The thumbprint of the key behind a proof that is for this request, and was not there before. */
const proven = async (
  proof: string | null,
  method: string,
  address: string,
  token?: string
): Promise<string | undefined> => {
  if (proof === null) return undefined
  const { key, thumbprint } = await keyOf(headerOf(proof).jwk)
  const { payload } = await compactVerify(proof, key, { algorithms: ["ES256"] })
  const { ath, htm, htu, iat, jti } = JSON.parse(utf8Reader.decode(payload)) as Claims
  const isFor = htm === method && htu === address && iat * 1000 > Date.now() - minute * 1000
  const isWith = token === undefined || ath === Buffer.from(sha256Of(token)).toString("base64url")
  const once = Buffer.from(sha256Of(`${thumbprint} ${jti}`)).toString("base64url")
  if (!isFor || !isWith || used.has(once)) return undefined
  used.add(once)
  return thumbprint
}

const tokens = (grantType: string, of: Uint8Array, generation: number, thumbprint: string): string => {
  const text = JSON.stringify({
    access_token: seal(kinds.access, of, 0, Date.now() + hour, thumbprint),
    token_type: "DPoP",
    expires_in: 3600,
    refresh_token: seal(kinds.refresh, of, generation, Date.now() + month),
    scope: "api"
  })
  audit(grantType, clientId, markOf(of))
  return text
}

const token = async (body: string, proof: string | null): Promise<string> => {
  const form = new URLSearchParams(body)
  if (!isClient(form)) return refused
  const thumbprint = await proven(proof, "POST", `${issuer}/oauth/token`)
  const isCode = form.get("grant_type") === "authorization_code"
  const opened = open(form.get(isCode ? "code" : "refresh_token") ?? "")
  if (thumbprint === undefined || opened === undefined) return refused
  if (isCode) return tokens("authorization_code", opened.grant, 1, thumbprint)
  return isAllowed(markOf(opened.grant))
    ? tokens("refresh_token", opened.grant, opened.number + 1, thumbprint)
    : refused
}

const kept = new Map<string, { readonly form: Record<string, string>; readonly thumbprint: string }>()

/** RFC 9126: the request waits, by a name that nobody guesses. */
const push = async (body: string, proof: string | null): Promise<Response> => {
  const form = new URLSearchParams(body)
  const thumbprint = isClient(form) ? await proven(proof, "POST", `${issuer}/oauth/par`) : undefined
  if (thumbprint === undefined) return new Response(refused, { headers, status: 400 })
  const id = randomBytes(16)
  kept.set(id.toString("base64url"), { form: Object.fromEntries(form), thumbprint })
  const uri = `urn:ietf:params:oauth:request_uri:${seal(kinds.code, id, 0, Date.now() + minute * 1000)}`
  return new Response(JSON.stringify({ request_uri: uri, expires_in: minute }), { headers, status: 201 })
}

const called = async (authorization: string | null, proof: string | null): Promise<string> => {
  const text = authorization?.slice("DPoP ".length) ?? ""
  const opened = open(text)
  const thumbprint = await proven(proof, "GET", `${issuer}/rest/companies`, text)
  return opened === undefined || thumbprint === undefined ? refused : data()
}

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  development: false,
  fetch: async (request) => {
    const { url } = request
    const proof = request.headers.get("dpop")
    switch (url.slice(url.indexOf("/", 8))) {
      case "/oauth/token":
        return new Response(await token(await request.text(), proof), { headers })
      case "/oauth/par":
        return push(await request.text(), proof)
      default:
        return new Response(await called(request.headers.get("authorization"), proof), { headers })
    }
  }
})

const provers = await makeProvers()

const sealedFor = (kind: 1 | 2 | 3, count: number) =>
  Array.from({ length: count }, (_, n) =>
    seal(kind, randomBytes(16), 1, Date.now() + hour, kind === kinds.access ? proverAt(provers, n).thumbprint : "")
  )

/** The same requests as Tessera's. */
const plan = async ({ count, workload }: Order): Promise<Plan> => {
  kept.clear()
  const proving = { provers, origin: issuer, count }
  switch (workload) {
    case "dpop_push": {
      const made = await provenPost(
        { ...proving, path: "/oauth/par" },
        { ...pushedFields, ...credentials },
        states(count)
      )
      return { ...made, expect: 201 }
    }
    case "dpop_code": {
      const fields = { redirect_uri: redirectUri, code_verifier: verifier, ...credentials }
      const form = { grant_type: "authorization_code", code: "{value}", ...fields }
      return provenPost({ ...proving, path: "/oauth/token" }, form, sealedFor(kinds.code, count))
    }
    case "dpop_refresh": {
      const form = { grant_type: "refresh_token", refresh_token: "{value}", ...credentials }
      return provenPost({ ...proving, path: "/oauth/token" }, form, sealedFor(kinds.refresh, count))
    }
    case "dpop_guard":
      return provenGet({ ...proving, path: "/rest/companies" }, sealedFor(kinds.access, count))
    default:
      throw new Error(`the proofs floor has no ${workload}`)
  }
}

await obey(server.port ?? 0, plan)
