import { secretJson } from "../core/http/answer.ts"
import type { HttpResponse } from "../core/http/Http.ts"

/** In bytes. No request of the protocol, and no form of the pages, comes near it. */
export const bodyLimit = 64 * 1024

/** The rest of the body is not read, so the connection can't be used again. */
export const tooLarge: HttpResponse = secretJson(
  413,
  { error: "invalid_request", error_description: `The body is larger than ${bodyLimit} bytes.` },
  [
    ["x-content-type-options", "nosniff"],
    ["connection", "close"]
  ]
)

export const unreadable: HttpResponse = secretJson(
  400,
  { error: "invalid_request", error_description: "The body could not be read." },
  [
    ["x-content-type-options", "nosniff"],
    ["connection", "close"]
  ]
)
