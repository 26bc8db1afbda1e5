import { Cause, Effect } from "effect"
import { broken } from "../core/http/answerFault.ts"
import { noSniffing } from "../core/http/commonHeaders.ts"
import { withRequestId } from "../core/http/finish.ts"
import type { HttpResponse } from "../core/http/Http.ts"
import { turnedAway } from "./turnedAway.ts"

/** Runs what there is to log. */
export type Log = (entry: Effect.Effect<void>) => void

const wholeBroken: HttpResponse = { ...broken, headers: [...broken.headers, noSniffing] }

/** A host's own answer may have any text for it, and then that is what nobody would send. */
const writable = /^[\x21-\x7e]*$/

const requestIdOf = ({ headers }: HttpResponse): string => {
  const id = headers.findLast(([name]) => name === "x-request-id")?.[1] ?? ""
  return writable.test(id) ? id : ""
}

const logDefect = (log: Log, answer: HttpResponse, defect: unknown): void =>
  log(Effect.logError("a defect", { requestId: requestIdOf(answer) }, Cause.die(defect)))

/** In place of an answer of a host's own that the platform would not send: nothing of it but its id. */
export const insteadOf = (unsent: HttpResponse, defect: unknown, log: Log): HttpResponse => {
  logDefect(log, unsent, defect)
  return withRequestId(requestIdOf(unsent), wholeBroken)
}

/** Where a host's own `Serve` throws or rejects, there is no answer, and so no id yet. */
export const answerThrown = (defect: unknown, log: Log): HttpResponse => {
  const answer = turnedAway(wholeBroken)
  logDefect(log, answer, defect)
  return answer
}
