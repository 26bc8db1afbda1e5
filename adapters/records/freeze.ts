import type { Json } from "../../core/ports/Storage.ts"

/** Freezes a body, because its readers share it. */
export const freeze = (body: Json): Json => {
  if (typeof body !== "object" || body === null || Object.isFrozen(body)) return body
  for (const inner of Object.values(body)) freeze(inner)
  return Object.freeze(body)
}
