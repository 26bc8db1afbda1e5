import { Cause, Effect } from "effect"
import { noSniffing, withRequestId } from "../../core/http/answer.ts"
import { broken } from "../../core/http/faults.ts"
import type { HttpResponse } from "../../core/http/Http.ts"
import { earlyAnswer, type OnEarlyAnswer } from "./limitConcurrency.ts"

/** What the system calls its failure: `EACCES`, `ENOENT`. Its errors carry that beside what the language knows of them. */
export const systemCode = (thrown: unknown): string | undefined =>
  thrown instanceof Error && "code" in thrown && typeof thrown.code === "string" ? thrown.code : undefined

/** Runs what there is to log. */
export type Log = (entry: Effect.Effect<void>) => void

const wholeBroken: HttpResponse = { ...broken, headers: [...broken.headers, noSniffing] }

/** A host's own answer may have any text for its id, even the one that the platform would not send. */
const writable = /^[\x21-\x7e]*$/

type Pair = readonly [name: string, value: string]

const isPair = (pair: unknown): pair is Pair =>
  Array.isArray(pair) && typeof pair[0] === "string" && typeof pair[1] === "string"

/** What can be read of the headers of what a host answered with, which need be no answer at all. */
export const pairsIn = (answered: unknown): ReadonlyArray<Pair> =>
  typeof answered === "object" && answered !== null && "headers" in answered && Array.isArray(answered.headers)
    ? answered.headers.filter(isPair)
    : []

const requestIdOf = (answered: unknown): string => {
  const id = pairsIn(answered).findLast(([name]) => name === "x-request-id")?.[1] ?? ""
  return writable.test(id) ? id : ""
}

const logDefect = (log: Log, answered: unknown, defect: unknown): void =>
  log(Effect.logError("a defect", { requestId: requestIdOf(answered) }, Cause.die(defect)))

/** In place of an answer of a host's own that the platform would not send: nothing of it but its id. */
export const insteadOf = (unsent: unknown, defect: unknown, log: Log): HttpResponse => {
  logDefect(log, unsent, defect)
  return withRequestId(requestIdOf(unsent), wholeBroken)
}

/** Where a host's own `Serve` throws or rejects, there is no answer, and so no id yet. */
export const answerThrown = (defect: unknown, log: Log): HttpResponse => {
  const answer = earlyAnswer(wholeBroken)
  logDefect(log, answer, defect)
  return answer
}

/** A host's own code may throw here, too, or reject: the answer is what it is none the less, and no process ends by it. */
export const harmless = (onEarlyAnswer: OnEarlyAnswer | undefined, log: Log): OnEarlyAnswer | undefined =>
  onEarlyAnswer &&
  ((request, answer) => {
    const fail = (defect: unknown) => logDefect(log, answer, defect)
    try {
      // An `async` function is one, too, to the type.
      const told: unknown = onEarlyAnswer(request, answer)
      if (told instanceof Promise) told.catch(fail)
    } catch (defect) {
      fail(defect)
    }
  })
