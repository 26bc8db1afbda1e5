import type { Json } from "../../core/ports/Storage.ts"

/** The same body, which no reader can change for the others from now on. */
export const freeze = (body: Json): Json => {
  if (typeof body !== "object" || body === null || Object.isFrozen(body)) return body
  for (const inner of Object.values(body)) freeze(inner)
  return Object.freeze(body)
}
