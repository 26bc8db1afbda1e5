import { Base64 } from "effect/encoding"

type Pairs = ReadonlyArray<readonly [name: string, value: string]>

/** How a client of a script shows who it is: a row of client authentications, as seen from outside. */
export interface ClientMethod {
  /** Its `token_endpoint_auth_method`. */
  readonly name: string
  /** The members of a registration beside those of every client. */
  readonly metadata: Readonly<Record<string, unknown>>
  readonly issuesSecret: boolean
  /** `right`: whether what is shown is to hold. `secret`: what the registration handed out, if anything. */
  readonly show: (
    client: { readonly id: string; readonly secret: string; readonly issuer: string },
    right: boolean
  ) => { readonly headers: Pairs; readonly body: Pairs }
}

/** Another secret of the same length. */
const wrong = (secret: string): string => `${secret.slice(0, -1)}${secret.endsWith("A") ? "B" : "A"}`

/** RFC 6749 §2.3.1. */
export const byPost: ClientMethod = {
  name: "client_secret_post",
  metadata: {},
  issuesSecret: true,
  show: ({ id, secret }, right) => ({
    headers: [],
    body: [
      ["client_id", id],
      ["client_secret", right ? secret : wrong(secret)]
    ]
  })
}

/** RFC 6749 §2.3.1. */
export const byBasic: ClientMethod = {
  name: "client_secret_basic",
  metadata: {},
  issuesSecret: true,
  show: ({ id, secret }, right) => {
    const pair = `${encodeURIComponent(id)}:${encodeURIComponent(right ? secret : wrong(secret))}`
    return { headers: [["authorization", `Basic ${Base64.encode(pair)}`]], body: [] }
  }
}
