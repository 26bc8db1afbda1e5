import { Clock, Effect, Layer, LogLevel, References } from "effect"
import { Audit, type AuditEntry } from "../../core/ports/Audit.ts"
import type { OnHangUp } from "../observe/audit.ts"
import type { AuditTarget } from "../observe/ObserveSettings.ts"
import { LogLines } from "./standardError.ts"
import type { WrongSettings } from "./Variable.ts"

const info = "Info"

/** The line that the logger would write, made without a fiber and a formatter of its own: each token leads to one. */
const lineOf = ({ event: { _tag, ...details }, requestId, workspace }: AuditEntry, time: string): string =>
  JSON.stringify({ requestId, workspace, ...details, time, level: info, message: _tag })

/** The text of the current millisecond, made once for all that happens in it. */
const makeTimes = () => {
  let last = -1
  let text = ""
  return (millis: number): string => {
    if (millis !== last) {
      last = millis
      text = new Date(millis).toISOString()
    }
    return text
  }
}

/** Audit events as lines of the log, each with its request's id. Refusals are there already: the core logs them itself. */
export const auditLog: Layer.Layer<Audit> = Layer.effect(
  Audit,
  Effect.gen(function* () {
    const write = yield* LogLines
    const clock = yield* Clock.Clock
    const least = yield* References.MinimumLogLevel
    const isTold = LogLevel.isLessThanOrEqualTo(least, info)
    const timeAt = makeTimes()
    return {
      record: (entry) => {
        if (entry.event._tag === "Refused") return Effect.void
        if (write !== undefined) {
          if (isTold) write(lineOf(entry, timeAt(clock.currentTimeMillisUnsafe())))
          return Effect.void
        }
        const {
          event: { _tag, ...details },
          requestId,
          workspace
        } = entry
        return Effect.logInfo(_tag, { requestId, workspace, ...details })
      }
    }
  })
)

/** Where audit events go. The stream is loaded only where it is wanted. */
export const auditOf = (target: AuditTarget, onHangUp?: OnHangUp): Layer.Layer<Audit, WrongSettings> => {
  switch (target._tag) {
    case "Log":
      return auditLog
    case "Off":
      return Audit.layerNone
    case "Stream":
    case "File":
      return Layer.unwrap(
        Effect.map(
          Effect.promise(() => import("../observe/audit.ts")),
          ({ auditStream }) => auditStream(target, onHangUp)
        )
      )
  }
}
