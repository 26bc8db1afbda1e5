import { Result, Schema } from "effect"
import { registerSecret, StoredSecret } from "../../client/ClientSecret.ts"
import { asItCame } from "../../http/form.ts"
import { hashOf } from "../../rules/Secret.ts"
import { clientAuth, noneShown, type Shown } from "./ClientAuth.ts"
import { proveSecret } from "./secretBasic.ts"

/** What the body shows. A secret's text goes no further than where it was read. */
interface ShownPost extends Shown {
  readonly hash: Uint8Array
}

/** RFC 6749 §2.3.1: id and secret in the body. */
export const secretPost = clientAuth<ShownPost, StoredSecret>({
  name: "client_secret_post",
  proves: true,
  fields: {
    client_secret: Schema.optionalKey(
      Schema.String.annotate({
        description: "Its secret; a public client has none. Never beside the Authorization header."
      })
    )
  },
  shown: ({ named, sent }) => {
    const secret = asItCame(sent, "client_secret")
    if (secret === undefined) return undefined
    return named === undefined ? noneShown : Result.succeed({ id: named, hash: hashOf(secret) })
  },
  stored: StoredSecret,
  register: (_, drawn, kept) => Result.succeed(registerSecret("client_secret_post", drawn, kept)),
  prove: ({ hash }, stored, { call }) => proveSecret(hash, stored, call.now, false)
})
