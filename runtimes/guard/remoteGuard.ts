import { Clock, Effect, Option, Result } from "effect"
import { readClientKey } from "../../core/client/ClientIdentifier.ts"
import type { HttpResponse } from "../../core/http/Http.ts"
import type { Needs } from "../../core/oauth/presented/guard.ts"
import type { AuditEntry, AuditEvent } from "../../core/ports/Audit.ts"
import { InvalidToken } from "../../core/rules/Refusal.ts"
import { withoutEndSlash } from "../../core/rules/Resource.ts"
import { digestOf } from "../../core/rules/Secret.ts"
import { pathOf } from "../serve/request.ts"
import { AnswerCache } from "./AnswerCache.ts"
import { sharesWaiting, tellHost } from "./asking.ts"
import { type Caller, type Checked, type Guard, type GuardedCall, guardOf } from "./Check.ts"
import { type Answer, introspect } from "./introspect.ts"
import {
  type IntrospectionFailure,
  type OwnMetadata,
  type RemoteGuardOptions,
  readOptions
} from "./RemoteGuardOptions.ts"
import { makeSeenHere, makeSeenInStore } from "./SeenProofs.ts"
import { makeShown, notNow } from "./shown.ts"

/** The audit stream has the id of the client's record, introspection what the client goes by. */
const isOf = (client: string | undefined, caller: Caller): boolean =>
  caller._tag !== "ApiKey" && Option.getOrUndefined(readClientKey(caller.client)) === client

/** No answer tells whose grant an exchanged token is of: it ends with that one's client, too. */
const isExchanged = (caller: Caller): boolean => caller._tag === "User" && caller.actors !== undefined

const anybody = (): boolean => true

/** A line of the audit stream of a server that runs on its own, as `JSON.parse` gives it, as far as a guard goes by it. */
export interface AuditLine {
  readonly event: string
  readonly grant?: string
  readonly client?: string
  readonly change?: string
}

const lineOf = (heard: AuditEvent | AuditEntry | AuditLine): AuditLine => {
  if ("_tag" in heard) return { ...heard, event: heard._tag }
  const { event } = heard
  return typeof event === "string" ? { ...heard, event } : lineOf(event)
}

/**
 * Whose tokens an event of the audit stream may have ended; `undefined` where it ends none. Where an answer does not tell
 * what the event is about, all go that it may be about.
 */
const endedBy = ({ change, client, event, grant }: AuditLine): ((caller: Caller) => boolean) | undefined => {
  switch (event) {
    case "GrantRevoked":
    case "TokenRevoked":
    case "KeyRevoked":
      return (caller) => caller.grant === grant
    case "ClientDeleted":
    case "ClientChanged":
      return (caller) => isOf(client, caller) || isExchanged(caller)
    case "IssuerChanged":
    case "IssuerRemoved":
      return (caller) => caller._tag === "User"
    case "SigningKeysChanged":
      return change === "withdrawn" ? (caller) => caller._tag !== "ApiKey" : undefined
    case "WorkspaceChanged":
      return change === "disabled" ? anybody : undefined
    case "WorkspaceMoved":
    case "EventsLost":
      return anybody
    default:
      return undefined
  }
}

/** A guard over an authorization server in another process. */
export interface RemoteGuard extends Guard {
  /** The token was revoked, or turned away elsewhere: ask anew. */
  readonly forget: (token: string) => void
  /** The same for all tokens of a person, a client …, for hosts that hear of revocations. */
  readonly forgetWhere: (revoked: (caller: Caller) => boolean) => void
  /**
   * An event of the authorization server's audit stream, however it got here: what it ended is asked about anew. A line of
   * the stream, or what `audit` of `createTessera` was told, or the event in that.
   */
  readonly hear: (heard: AuditEvent | AuditEntry | AuditLine) => void
  readonly clear: () => void
  /** Closes what `seenProofs` opened. */
  readonly close: () => Promise<void>
  /** Where the options have `metadata`: what this resource server has to serve at `path` of its own host (RFC 9728 §3.1). */
  readonly metadata: OwnMetadata | undefined
  /** The answer to a request for that document; `undefined` where it is for something else. */
  readonly serveMetadata: (request: Request) => Response | undefined
}

type Told = Pick<Answer, "binding" | "caller" | "implied">

type Outcome = Result.Result<Told, IntrospectionFailure>

interface Question {
  readonly askedAt: number
}

interface Flight extends Question {
  readonly outcome: Promise<Outcome>
}

/** No token of Tessera's comes near it, and no other is asked about. */
const longestToken = 8192

/** RFC 9728 §3.3: under the very name that was called, slash or none, as the authorization server has its own. */
const documentAt = (
  path: string | undefined,
  { document, path: own }: OwnMetadata
): OwnMetadata["document"] | undefined => {
  if (path === own) return document
  if (path === undefined || withoutEndSlash(path) !== withoutEndSlash(own)) return undefined
  const resource = withoutEndSlash(document.resource)
  return { ...document, resource: path.endsWith("/") ? `${resource}/` : resource }
}

/** RFC 9728 §3: any page may read it, as it may the authorization server's own. */
const metadataResponse = ({ method }: Request, document: OwnMetadata["document"]): Response => {
  const headers = { "access-control-allow-origin": "*" }
  if (method === "GET" || method === "HEAD") {
    const response = Response.json(document, { headers: { ...headers, "cache-control": "public, max-age=300" } })
    return method === "HEAD" ? new Response(null, response) : response
  }
  return method === "OPTIONS"
    ? new Response(null, { status: 204, headers: { ...headers, "access-control-allow-headers": "*" } })
    : new Response(null, { status: 405, headers: { ...headers, allow: "GET, HEAD, OPTIONS" } })
}

/**
 * RFC 7662: asks the authorization server what a token is, and remembers the answer for a few seconds. Throws
 * `BadGuardOption`, which names the option, and nothing else.
 */
export const remoteGuard = (options: RemoteGuardOptions): RemoteGuard => {
  const checked = readOptions(options)
  if (Result.isFailure(checked)) throw checked.failure
  const read = checked.success
  const clock = options.clock ?? Effect.runSync(Clock.Clock)
  const fetchIt = options.fetch ?? ((url, init) => fetch(url, init))
  const cache = new AnswerCache(read)
  const flights = new Map<string, Flight>()
  const shares = sharesWaiting()
  const seen = options.seenProofs === undefined ? makeSeenHere() : makeSeenInStore(options.seenProofs)
  const shown = makeShown(read, seen, clock)

  // The flights are fewer: one that was forgotten is still a question under way.
  const underWay = new Set<Question>()

  /** Long past its time, a question's own request is gone, and nothing ends it any more. */
  const isLost = ({ askedAt }: Question, now: number): boolean => now < askedAt || now > askedAt + 2 * read.timeout

  const isRoom = (now: number): boolean => {
    if (underWay.size < read.questionsAtOnce) return true
    for (const one of underWay) if (isLost(one, now)) underWay.delete(one)
    for (const [name, one] of flights) if (isLost(one, now)) flights.delete(name)
    return underWay.size < read.questionsAtOnce
  }

  const question = (token: string) =>
    Effect.suspend((): Effect.Effect<Answer, IntrospectionFailure> => {
      const askedAt = clock.currentTimeMillisUnsafe()
      if (!isRoom(askedAt)) return Effect.fail({ _tag: "TooMany" })
      const mine: Question = { askedAt }
      underWay.add(mine)
      return Effect.ensuring(
        introspect(read, fetchIt, token),
        Effect.sync(() => underWay.delete(mine))
      )
    })

  const asking = (token: string): Promise<Result.Result<Answer, IntrospectionFailure>> =>
    question(token).pipe(
      Effect.tapError((failure) => Effect.sync(() => tellHost(options.onFailure, failure))),
      Effect.result,
      Effect.provideService(Clock.Clock, clock),
      Effect.runPromise
    )

  const ask = (name: string, token: string, now: number): Promise<Outcome> => {
    const flying = flights.get(name)
    // A call that joins believes an answer that was asked for earlier, so it is held to the same bound as the cache.
    if (shares && flying !== undefined && now < flying.askedAt + read.ttl) return flying.outcome
    const outcome = asking(token).then((answered) => {
      // Forgotten meanwhile, or asked anew: this answer is for the calls that wait for it, and for no later one.
      if (flights.get(name) === flight) {
        flights.delete(name)
        if (Result.isSuccess(answered)) {
          cache.keep(name, answered.success, now, clock.currentTimeMillisUnsafe())
        }
      }
      return answered
    })
    const flight: Flight = { askedAt: now, outcome }
    flights.set(name, flight)
    return outcome
  }

  const check = async (call: GuardedCall, needs: Needs): Promise<Checked<HttpResponse>> => {
    const presented = shown.read(call, needs)
    if ("_tag" in presented) return presented
    const token = presented.text
    if (token.length > longestToken) return shown.refuse(needs, new InvalidToken({ reason: "malformed" }))
    const name = digestOf(token)
    const now = clock.currentTimeMillisUnsafe()
    const known = cache.get(name, now)
    const outcome: Outcome = known === undefined ? await ask(name, token, now) : Result.succeed(known)
    if (Result.isFailure(outcome)) return notNow
    const { binding, caller, implied } = outcome.success
    if (caller === undefined) return shown.refuse(needs, new InvalidToken({ reason: "unknown" }))
    if (caller.expiresAt !== null && caller.expiresAt <= clock.currentTimeMillisUnsafe()) {
      return shown.refuse(needs, new InvalidToken({ reason: "expired" }))
    }
    return shown.admit(call, needs, presented, { binding, caller, implied }, now)
  }

  const forgetWhere = (revoked: (caller: Caller) => boolean) => {
    // The callers of questions under way are not known yet.
    flights.clear()
    cache.deleteWhere(revoked)
  }

  return {
    ...guardOf(check),
    forget: (token: string) => {
      const name = digestOf(token)
      flights.delete(name)
      cache.delete(name)
    },
    forgetWhere,
    hear: (heard) => {
      const ended = endedBy(lineOf(heard))
      if (ended !== undefined) forgetWhere(ended)
    },
    clear: () => {
      flights.clear()
      cache.clear()
    },
    close: seen.close,
    metadata: read.metadata,
    serveMetadata: (request) => {
      const document = read.metadata && documentAt(pathOf(request.url), read.metadata)
      return document && metadataResponse(request, document)
    }
  }
}
