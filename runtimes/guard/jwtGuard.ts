import { Clock, Effect, Exit, Result } from "effect"
import { makeSignatures } from "../../adapters/jose/Signatures.ts"
import { LruMap } from "../../core/cache/LruMap.ts"
import { readJws, type UnverifiedJws } from "../../core/codec/Jws.ts"
import type { HttpResponse } from "../../core/http/Http.ts"
import type { Needs } from "../../core/oauth/presented/guard.ts"
import { InvalidToken } from "../../core/rules/Refusal.ts"
import { digestOf } from "../../core/rules/Secret.ts"
import { AnswerCache } from "./AnswerCache.ts"
import { sharesWaiting, tellHost } from "./asking.ts"
import { type Checked, type Guard, type GuardedCall, guardOf } from "./Check.ts"
import { introspect } from "./introspect.ts"
import { type JwtGuardOptions, readOptions } from "./JwtGuardOptions.ts"
import { readSaid, type Said } from "./jwtClaims.ts"
import type { IntrospectionFailure } from "./RemoteGuardOptions.ts"
import { RemoteKeys } from "./RemoteKeys.ts"
import { makeSeenHere, makeSeenInStore } from "./SeenProofs.ts"
import { makeShown, notNow } from "./shown.ts"

/** Tokens whose signature held lately, and grants that stood. */
const kept = 10_000

const invalid = (reason: InvalidToken["reason"]) => new InvalidToken({ reason })

/** A guard that goes by keys of an authorization server elsewhere. */
export interface JwtGuard extends Guard {
  /** Closes what `seenProofs` opened. */
  readonly close: () => Promise<void>
}

/**
 * RFC 9068: checks JWT access tokens by the keys of the authorization server, without asking it about each. Throws
 * `BadGuardOption`, which names the option, and nothing else.
 */
export const jwtGuard = (options: JwtGuardOptions): JwtGuard => {
  const checked = readOptions(options)
  if (Result.isFailure(checked)) throw checked.failure
  const read = checked.success
  const clock = options.clock ?? Effect.runSync(Clock.Clock)
  const fetchIt = options.fetch ?? ((url, init) => fetch(url, init))
  const signatures = makeSignatures()
  const seen = options.seenProofs === undefined ? makeSeenHere() : makeSeenInStore(options.seenProofs)
  const shown = makeShown(read, seen, clock)
  const verified = new LruMap<string, { readonly kid: string }>(kept)
  const { asking } = read
  const within = asking?.within ?? 0
  const standing = new AnswerCache({ ttl: within, negativeTtl: within, maxEntries: kept })
  const questions = new Map<string, Promise<boolean | undefined>>()
  const shares = sharesWaiting()

  const tell = (of: "keys" | "standing") => (failure: IntrospectionFailure) =>
    tellHost(options.onFailure, { ...failure, of })

  const keys = new RemoteKeys({
    jwksUri: read.jwksUri,
    timeout: read.timeout,
    fetch: fetchIt,
    clock,
    tell: tell("keys")
  })

  /** `undefined`: the server could not say. */
  const isSigned = async (jws: UnverifiedJws, name: string, { kid }: Said): Promise<boolean | undefined> => {
    const named = await keys.find(kid)
    if (named === undefined || named.length === 0) return named === undefined ? undefined : false
    if (verified.get(name)?.kid === kid) return true
    const exit = await Effect.runPromiseExit(signatures.verify(jws, named, read.algorithms))
    if (Exit.isFailure(exit)) return false
    verified.set(name, { kid })
    return true
  }

  const ask = async (text: string, name: string, grant: string): Promise<boolean | undefined> => {
    if (asking === undefined) return true
    const askedAt = clock.currentTimeMillisUnsafe()
    const question = introspect({ ...asking, issuer: read.issuer, timeout: read.timeout }, fetchIt, text)
    const answered = await Effect.runPromise(Effect.result(Effect.provideService(question, Clock.Clock, clock)))
    if (Result.isFailure(answered)) {
      tell("standing")(answered.failure)
      return undefined
    }
    const answer = answered.success
    const isGood = answer.caller !== undefined
    // A bad answer is about this token alone: its siblings may stand.
    standing.keep(isGood ? grant : name, answer, askedAt, clock.currentTimeMillisUnsafe())
    return isGood
  }

  const begin = (waiting: ReadonlyArray<string>, ...asked: Parameters<typeof ask>) => {
    const flight = ask(...asked).finally(() => {
      for (const one of waiting) questions.delete(one)
    })
    for (const one of waiting) questions.set(one, flight)
    return flight
  }

  /** Whether the grant behind a token stands, as far as that was asked lately; one question for all its tokens that wait. */
  const stands = async (text: string, name: string, { caller }: Said): Promise<boolean | undefined> => {
    if (asking === undefined) return true
    const grant = `${caller.client} ${caller._tag === "User" ? caller.user : ""} ${caller.grant}`
    const now = clock.currentTimeMillisUnsafe()
    if (standing.get(name, now) !== undefined) return false
    if (standing.get(grant, now) !== undefined) return true
    if (!shares) return ask(text, name, grant)
    const flying = questions.get(name)
    if (flying !== undefined) return flying
    // Where each call is asked about, an answer counts for its own token.
    const sibling = within === 0 ? undefined : questions.get(grant)
    if (sibling === undefined) return begin([name, grant], text, name, grant)
    const stood = await sibling
    // That the other token is no good says nothing of this one.
    return stood === false ? (questions.get(name) ?? begin([name], text, name, grant)) : stood
  }

  const check = async (call: GuardedCall, needs: Needs): Promise<Checked<HttpResponse>> => {
    const now = clock.currentTimeMillisUnsafe()
    const presented = shown.read(call, needs)
    if ("_tag" in presented) return presented
    const { text } = presented
    const jws = readJws(text)
    if (jws === undefined) return shown.refuse(needs, invalid("malformed"))
    const said = readSaid(jws, { ...read, now })
    if (Result.isFailure(said)) return shown.refuse(needs, said.failure)
    const name = digestOf(text)
    const signed = await isSigned(jws, name, said.success)
    if (signed === undefined) return notNow
    if (!signed) return shown.refuse(needs, invalid("forged"))
    const stood = await stands(text, name, said.success)
    if (stood === undefined) return notNow
    if (!stood) return shown.refuse(needs, invalid("revoked"))
    return shown.admit(call, needs, presented, said.success, now)
  }

  return { ...guardOf(check), close: seen.close }
}
