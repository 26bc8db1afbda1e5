import type { Plan } from "../Plan.ts"

export const redirectUri = "https://app.example.org/callback"
export const verifier = "a-code-verifier-of-at-least-43-characters-~._"

const formHeaders = { "content-type": "application/x-www-form-urlencoded" }

/** A form of which one field may be `{value}`, which stays as it is. */
export const formOf = (fields: Readonly<Record<string, string>>): string =>
  Object.entries(fields)
    .map(([name, value]) => `${name}=${value === "{value}" ? value : encodeURIComponent(value)}`)
    .join("&")

export const post = (
  path: string,
  fields: Readonly<Record<string, string>>,
  use: Plan["use"] = "none",
  values: ReadonlyArray<string> = []
): Plan => ({ method: "POST", path, headers: formHeaders, body: formOf(fields), use, values, expect: 200 })

export const get = (path: string): Plan => ({
  method: "GET",
  path,
  headers: {},
  body: "",
  use: "none",
  values: [],
  expect: 200
})

export const getWithBearer = (path: string, tokens: ReadonlyArray<string>): Plan => ({
  ...get(path),
  headers: { authorization: "Bearer {value}" },
  use: "cycle",
  values: tokens
})

export const registration: Plan = {
  method: "POST",
  path: "/oauth/register",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({
    client_name: "Benchmark",
    redirect_uris: [redirectUri],
    token_endpoint_auth_method: "client_secret_post",
    grant_types: ["authorization_code", "refresh_token"]
  }),
  use: "none",
  values: [],
  expect: 201
}
