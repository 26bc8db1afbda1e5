import { Cause, Layer, Logger, References } from "effect"

const isFields = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** An error tells its own fields, and `JSON` would not tell an ordinary one's message. */
const plain = (_key: string, value: unknown): unknown =>
  value instanceof Error ? { ...value, message: value.message } : typeof value === "bigint" ? String(value) : value

/** One line of JSON for each entry: the text, and beside it the fields that came along. */
const formatLine = Logger.make(({ cause, date, fiber, logLevel, message }) => {
  const parts = Array.isArray(message) ? message : [message]
  const words = parts.filter((part) => !isFields(part)).map(String)
  return JSON.stringify(
    {
      ...Object.assign({}, ...parts.filter(isFields), fiber.getRef(References.CurrentLogAnnotations)),
      time: date.toISOString(),
      level: logLevel,
      message: words.join(" "),
      ...(cause.reasons.length === 0 ? {} : { cause: Cause.pretty(cause) })
    },
    plain
  )
})

export type LogFormat = "pretty" | "json"

/** Logs go to standard error: what standard output says is for whoever started the program. */
export const logging = (format: LogFormat): Layer.Layer<never> =>
  format === "pretty"
    ? Layer.merge(Logger.layer([Logger.consolePretty()]), Layer.succeed(Logger.LogToStderr, true))
    : Logger.layer([Logger.withConsoleError(formatLine)])
