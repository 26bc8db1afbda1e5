import { Effect } from "effect"
import { isKeyText } from "../../grant/apiKey.ts"
import type { HttpRequest } from "../../http/Http.ts"
import { InvalidToken } from "../../rules/Refusal.ts"
import { isBearerToken } from "../../rules/Secret.ts"
import { isAboutProof, type Presentation, type Presented } from "./Presentation.ts"

export const bearerScheme = "Bearer"

const isSpace = (code: number): boolean => code === 0x20 || code === 0x09

/** Most have none, and `trim` looks for every kind of space that there is. */
const withoutSpaces = (text: string): string =>
  isSpace(text.charCodeAt(0)) || isSpace(text.charCodeAt(text.length - 1)) ? text.trim() : text

/** RFC 9110 §11.1: the scheme's name is the same in whatever case. */
const isBearer = (authorization: string): boolean =>
  authorization.startsWith("Bearer ") || authorization.slice(0, 7).toLowerCase() === "bearer "

/** What stands behind the scheme, well-formed or not; `undefined` where the header has another scheme or is not there. */
export const bearerText = ({ headers }: Pick<HttpRequest, "headers">): string | undefined => {
  const authorization = headers.get("authorization")
  return authorization === null || authorization === undefined || !isBearer(authorization)
    ? undefined
    : withoutSpaces(authorization.slice(7))
}

/** RFC 7591 §3, 7592 §2: a credential of registration, which is borne as a token is. */
export const readBearer = (request: Pick<HttpRequest, "headers">): string | undefined => {
  const text = bearerText(request)
  return text !== undefined && isBearerToken(text) ? text : undefined
}

export const shownAsBearer = (text: string): Effect.Effect<Presented, InvalidToken> =>
  isBearerToken(text) ? Effect.succeed({ text, binding: null }) : Effect.fail(new InvalidToken({ reason: "malformed" }))

/** RFC 6750 §2.1: the token comes in the header, and nowhere else. */
export const bearer: Presentation = {
  name: "bearer",
  scheme: bearerScheme,
  shows: "token",
  carries: (binding) => binding === null,
  read: (request) => {
    const text = bearerText(request)
    return text === undefined || isKeyText(text) ? undefined : shownAsBearer(text)
  },
  // RFC 9449 §9: clients look for one challenge there, and a token without its proof would do no better.
  challenge: (parameters, refusal) => (isAboutProof(refusal) ? undefined : `${bearerScheme} ${parameters.join(", ")}`)
}
