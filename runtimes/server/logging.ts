import { Layer, Logger } from "effect"
import { entryOf } from "./logEntry.ts"

/** An error tells its own fields, and `JSON` would not tell an ordinary one's message. */
const plain = (_key: string, value: unknown): unknown =>
  value instanceof Error ? { ...value, message: value.message } : typeof value === "bigint" ? String(value) : value

/** One line of JSON for each entry. What JSON can't tell is left out, never the entry. */
const formatLine = Logger.make((options) => {
  const { fields, ...told } = entryOf(options)
  try {
    return JSON.stringify({ ...fields, ...told }, plain)
  } catch {
    return JSON.stringify({ ...told, unreadable: Object.keys(fields) })
  }
})

export type LogFormat = "pretty" | "json"

/** Logs go to standard error: what standard output says is for whoever started the program. */
export const logging = (format: LogFormat): Layer.Layer<never> =>
  format === "pretty"
    ? Layer.merge(Logger.layer([Logger.consolePretty()]), Layer.succeed(Logger.LogToStderr, true))
    : Logger.layer([Logger.withConsoleError(formatLine)])
