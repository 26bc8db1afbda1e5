import { Cause, type Logger, References } from "effect"

const isFields = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Error)

/** One entry of the log, whatever it is written to. */
export interface LogEntry {
  readonly time: string
  readonly level: string
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
  /** The span that it was said in, where requests are traced. */
  readonly traceId?: string
  readonly spanId?: string
}

/** The text, and beside it the fields that came along. */
export const entryOf = ({ cause, date, fiber, logLevel, message }: Logger.Options<unknown>): LogEntry => {
  const parts = Array.isArray(message) ? message : [message]
  const words = parts.filter((part) => !isFields(part)).map(String)
  const { span } = fiber.cache
  return {
    time: date.toISOString(),
    level: logLevel,
    message: words.join(" "),
    fields: {
      ...Object.assign({}, ...parts.filter(isFields), fiber.getRef(References.CurrentLogAnnotations)),
      ...(cause.reasons.length === 0 ? {} : { cause: Cause.pretty(cause) })
    },
    ...(span === undefined ? {} : { traceId: span.traceId, spanId: span.spanId })
  }
}
