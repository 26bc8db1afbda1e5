import { Result } from "effect"
import type { ClientId } from "../rules/Id.ts"
import { InvalidClient } from "../rules/Refusal.ts"
import { type Digest, digestOf, isDigestOf } from "../rules/Secret.ts"
import type { AuthMethod, Client } from "./Client.ts"

/** What a request shows of its sender; whether it holds is for `authenticate` to say. */
export interface Presented {
  readonly id: ClientId
  readonly method: AuthMethod
  /** Of the secret that was shown. The text itself goes no further than where it was read. */
  readonly hash: Uint8Array | undefined
}

declare const proof: unique symbol

/** A client that has shown to be itself. Commands take nothing less, so forgetting to ask does not compile. */
export interface AuthenticatedClient {
  readonly client: Client
  readonly [proof]: true
}

/** Compared against where there is no client, so that an unknown id takes the same steps as a wrong secret. */
const nobody: Digest = digestOf("")

/** RFC 6749 §2.3 and §3.2.1. A confidential client may use either secret method, whichever it registered. */
export const authenticate = (
  presented: Presented,
  client: Client | undefined
): Result.Result<AuthenticatedClient, InvalidClient> => {
  const triedHeader = presented.method === "client_secret_basic"
  const refuse = (reason: InvalidClient["reason"]) => Result.fail(new InvalidClient({ reason, triedHeader }))

  const expected = client?.credential._tag === "Secret" ? client.credential.digest : nobody
  const shown = presented.hash
  const matches = shown !== undefined && isDigestOf(shown, expected)

  if (client === undefined) return refuse("unknown")
  if ((client.credential._tag === "Secret") !== (shown !== undefined)) return refuse("wrong_method")
  if (shown !== undefined && !matches) return refuse("bad_secret")
  if (client.disabled) return refuse("disabled")
  // The one place where the proof is made: everything above has been checked.
  return Result.succeed({ client } as AuthenticatedClient)
}
