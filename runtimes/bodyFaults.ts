import { secretJson } from "../core/http/answer.ts"
import type { HttpResponse } from "../core/http/Http.ts"
import { turnedAway } from "./turnedAway.ts"

/** In bytes. No request of the protocol, and no form of the pages, comes near it. */
export const bodyLimit = 64 * 1024

// The rest of the body is not read, so the connection can't be used again.

const tooMuch: HttpResponse = secretJson(
  413,
  { error: "invalid_request", error_description: `The body is larger than ${bodyLimit} bytes.` },
  [
    ["x-content-type-options", "nosniff"],
    ["connection", "close"]
  ]
)

const cutOff: HttpResponse = secretJson(
  400,
  { error: "invalid_request", error_description: "The body could not be read." },
  [
    ["x-content-type-options", "nosniff"],
    ["connection", "close"]
  ]
)

export const tooLarge = (): HttpResponse => turnedAway(tooMuch)

export const unreadable = (): HttpResponse => turnedAway(cutOff)

/** A fault of the host's own, told so that it is found at the first try and not in production. */
export const readBefore: HttpResponse = secretJson(500, {
  error: "server_error",
  error_description: "The body was read before it got here. Mount the authorization server before body parsers."
})
