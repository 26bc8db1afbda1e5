import { Effect, Result, Schema } from "effect"
import { clientAuth } from "./ClientAuth.ts"

export const StoredPublic = Schema.Struct({ _tag: Schema.Literal("Public") })
export type StoredPublic = typeof StoredPublic.Type

/** RFC 6749 §2.1, RFC 7591 §2: a public client names itself in the body and proves nothing. */
export const none = clientAuth({
  name: "none",
  proves: false,
  fields: {},
  shown: ({ named }) => (named === undefined ? undefined : Result.succeed({ id: named })),
  stored: StoredPublic,
  register: () => Result.succeed({ _tag: "Public" }),
  prove: () => Effect.undefined
})
