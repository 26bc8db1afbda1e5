import { audit, isAllowed } from "./duty.ts"
import document from "./metadata.json" with { type: "json" }
import { kinds, type Opened, open, seal, sha256Of } from "./Seal.ts"

/** What a floor answers: no check but those without which there would be no seal and no secret. */

export const hour = 3_600_000
export const month = 30 * 24 * hour
export const headers = { "content-type": "application/json", "cache-control": "no-store" }

export const clientId = "AAAAAAAAAAAAAAAAAAAAAA"
export const secret = "tsr_cs_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
export const credentials = { client_id: clientId, client_secret: secret }
const secretDigest = sha256Of(secret).slice()
export const grant = new Uint8Array(16).fill(9)

const isSecret = (text: string | null): boolean => {
  const shown = sha256Of(text ?? "")
  let difference = 0
  for (let i = 0; i < shown.length; i++) difference |= (shown[i] ?? 0) ^ (secretDigest[i] ?? 0)
  return difference === 0
}

const refused = JSON.stringify({ error: "invalid_grant" })

/** The first eight characters of a grant's id. */
export const markOf = (of: Uint8Array): string => Buffer.from(of.buffer, of.byteOffset, 6).toString("base64url")

/** A client whose secret it is, with room for one more request. */
export const isClient = (form: URLSearchParams): boolean => isSecret(form.get("client_secret")) && isAllowed(clientId)

export const tokens = (grantType: string, of: Uint8Array, generation: number) => {
  const text = JSON.stringify({
    access_token: seal(kinds.access, of, 0, Date.now() + hour),
    token_type: "Bearer",
    expires_in: 3600,
    refresh_token: seal(kinds.refresh, of, generation, Date.now() + month),
    scope: "api"
  })
  audit(grantType, clientId, markOf(of))
  return text
}

/** Refreshes of one grant are counted too. */
const isRefresh = (opened: Opened): boolean => isAllowed(markOf(opened.grant))

export const token = (body: string): string => {
  const form = new URLSearchParams(body)
  if (!isClient(form)) return refused
  switch (form.get("grant_type")) {
    case "client_credentials": {
      const text = JSON.stringify({
        access_token: seal(kinds.access, grant, 0, Date.now() + hour, "api"),
        token_type: "Bearer",
        expires_in: 3600,
        scope: "api"
      })
      audit("client_credentials", clientId, markOf(grant))
      return text
    }
    case "authorization_code": {
      const opened = open(form.get("code") ?? "")
      // The verifier's hash is left out: the floor makes one SHA-256, Tessera two.
      return opened === undefined ? refused : tokens("authorization_code", opened.grant, 1)
    }
    default: {
      const opened = open(form.get("refresh_token") ?? "")
      if (opened === undefined || !isRefresh(opened)) return refused
      return tokens("refresh_token", opened.grant, opened.number + 1)
    }
  }
}

/** The refresh token of a form whose secret is the client's. */
export const refreshOf = (body: string): Opened | undefined => {
  const form = new URLSearchParams(body)
  const opened = isClient(form) ? open(form.get("refresh_token") ?? "") : undefined
  return opened !== undefined && isRefresh(opened) ? opened : undefined
}

export const introspect = (body: string): string => {
  const form = new URLSearchParams(body)
  if (!isClient(form)) return refused
  const opened = open(form.get("token") ?? "")
  return JSON.stringify(
    opened === undefined
      ? { active: false }
      : {
          active: true,
          iss: "http://127.0.0.1:3000",
          sub: "user-1",
          client_id: clientId,
          scope: "api",
          token_type: "Bearer",
          exp: Math.floor(opened.expiresAt / 1000),
          principal: "User",
          grant: markOf(opened.grant)
        }
  )
}

const companies = [
  { id: "1", name: "Acme", domain: "acme.example" },
  { id: "2", name: "Globex", domain: "globex.example" }
]

const scheme = "Bearer "
export const bearerOf = (token: string): string => scheme + token

/** What a caller gets who is let in. */
export const data = (): string => JSON.stringify({ data: companies, as: { kind: "user", user: "user-1" } })

const isOpened = (authorization: string | null | undefined): boolean =>
  open(authorization?.slice(scheme.length) ?? "") !== undefined

export const bearer = (authorization: string | null | undefined): string => (isOpened(authorization) ? data() : refused)

const person = { sub: "user-1", name: "Ada Lovelace" }

export const userinfo = (authorization: string | null | undefined): string =>
  isOpened(authorization) ? JSON.stringify(person) : refused

/** What Tessera answers, so that both send as much. */
export const metadata = JSON.stringify(document)
