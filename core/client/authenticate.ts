import { Result } from "effect"
import type { GoodOnce } from "../rules/GoodOnce.ts"
import { InvalidClient } from "../rules/Refusal.ts"
import type { Client } from "./Client.ts"

declare const proof: unique symbol

/** What a method found out of a proof that holds, beyond that it does. */
export interface Proof {
  /** The mark of the credential that was shown, where the client has two: the audit is told. */
  readonly mark?: string
  /** What of it is good once. */
  readonly once?: GoodOnce<InvalidClient>
}

/** A client that has shown to be itself. Commands take nothing less, so forgetting to ask does not compile. */
export interface AuthenticatedClient {
  readonly client: Client
  /** The mark of the credential that it showed, where it has two. */
  readonly shown: string | undefined
  /** What of its proof is good once. Nothing may be written or answered before that is spent. */
  readonly once: GoodOnce<InvalidClient> | undefined
  readonly [proof]: true
}

/**
 * RFC 6749 §2.3 and §3.2.1: a client, by what its method made of the request. `registered`: the method is one that the
 * client may use. `proved` is asked for before it is known whether there is a client, so that both take the same steps.
 */
export const authenticate = <E>(
  client: Client | undefined,
  registered: boolean,
  proved: Result.Result<Proof | undefined, E>,
  triedHeader: boolean
): Result.Result<AuthenticatedClient, E | InvalidClient> => {
  if (client === undefined) return Result.fail(new InvalidClient({ reason: "unknown", triedHeader }))
  if (!registered) return Result.fail(new InvalidClient({ reason: "wrong_method", triedHeader }))
  if (Result.isFailure(proved)) return Result.fail(proved.failure)
  if (client.disabled) return Result.fail(new InvalidClient({ reason: "disabled", triedHeader }))
  // The one place where the proof is made: everything above has been checked.
  return Result.succeed({ client, shown: proved.success?.mark, once: proved.success?.once } as AuthenticatedClient)
}
