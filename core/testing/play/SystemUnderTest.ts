import type { Effect } from "effect"
import type { HeaderPairs, HttpRequest, HttpResponse } from "../../http/Http.ts"
import type { PlaceName, WorkspaceNumber } from "../model/World.ts"
import type { AnswerClient, AsserterName, Fault, TrustTerms } from "../script/Command.ts"

/** The name that a person goes by. */
export const nameOf = (user: string): string => `Mx ${user}`

/**
 * A running system, as a script sees it. Everything else goes over HTTP as a value. What is done without a request answers
 * 503 where it could not be kept, else `null`.
 * A request whose process is killed by a fault answers 503, as the proxy before it would.
 */
export interface SystemUnderTest {
  readonly request: (request: HttpRequest) => Effect.Effect<HttpResponse>
  /**
   * The same request at a resource of the host's own, which takes the scope `api`: as that is refused, or with what the
   * guard tells it of the caller, in the words of introspection.
   */
  readonly guard: (request: HttpRequest) => Effect.Effect<HttpResponse>
  /** The headers of a browser in which this person is signed in. */
  readonly signIn: (workspace: WorkspaceNumber, user: string) => Effect.Effect<HeaderPairs>
  /** An owner says which API a client is, so that it may exchange tokens; `null`: none. */
  readonly allowExchange: (
    workspace: WorkspaceNumber,
    client: string,
    api: string | null
  ) => Effect.Effect<HttpResponse | null>
  /**
   * An owner approves or refuses a client by what that goes by, or looks at it: `outcome` is what comes of it, in the words
   * of the model.
   */
  readonly answerClient: (
    workspace: WorkspaceNumber,
    client: string,
    says: AnswerClient["says"]
  ) => Effect.Effect<HttpResponse>
  /** What a fetcher finds at an address of https from now on; `null`: nothing. */
  readonly publish: (address: string, document: object | null) => Effect.Effect<void>
  /** An owner takes no documents of clients from a host any more, or again. */
  readonly blockHost: (workspace: WorkspaceNumber, host: string, blocks: boolean) => Effect.Effect<HttpResponse | null>
  /** An owner registers a client that sends this, and is answered as the client would be (RFC 7591 §3.2.1). */
  readonly registerForOwner: (workspace: WorkspaceNumber, metadata: object) => Effect.Effect<HttpResponse>
  /** An owner trusts an issuer of assertions (RFC 7523), or on other terms; `null`: no more. */
  readonly trust: (
    workspace: WorkspaceNumber,
    issuer: AsserterName,
    terms: TrustTerms | null
  ) => Effect.Effect<HttpResponse | null>
  /** The session that `signIn` gives ends; the person may sign in again. */
  readonly endSession: (workspace: WorkspaceNumber, user: string) => Effect.Effect<HttpResponse | null>
  /** The host says which places a person has, from now on. */
  readonly belong: (workspace: WorkspaceNumber, user: string, places: ReadonlyArray<PlaceName>) => Effect.Effect<void>
  /** All that a person let clients have ends: at a place, or of one client. */
  readonly endAll: (
    workspace: WorkspaceNumber,
    user: string,
    which: { readonly place: PlaceName | undefined; readonly client: string | undefined }
  ) => Effect.Effect<HttpResponse | null>
  readonly pass: (millis: number) => Effect.Effect<void>
  /** A new sealing key; the others still open. */
  readonly addKey: Effect.Effect<void>
  /** The last key of the ring goes, unless it is the only one. */
  readonly dropOldestKey: Effect.Effect<void>
  readonly sweep: Effect.Effect<void>
  /** From now on until `calm`: the fault strikes one write. */
  readonly trouble: (fault: Fault) => Effect.Effect<void>
  /** Ends the trouble; whether a write was struck. */
  readonly calm: Effect.Effect<boolean>
  /** How requests that run at the same time get into each other's way; `null`: they need not. */
  readonly shuffle: (seed: number | null) => Effect.Effect<void>
}
