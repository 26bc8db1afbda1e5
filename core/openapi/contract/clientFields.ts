import { Schema } from "effect"
import { ClientId } from "../../rules/Id.ts"

/** RFC 6749 §2.3.1: how a client says who it is in the body. */
export const clientFields = {
  client_id: Schema.optionalKey(
    ClientId.annotate({ description: "The client, unless its id and secret come in the Authorization header." })
  ),
  client_secret: Schema.optionalKey(
    Schema.String.annotate({
      description: "Its secret; a public client has none. Never beside the Authorization header."
    })
  )
} as const
