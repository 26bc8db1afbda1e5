import { Cause, Layer, Logger, References } from "effect"
import type { HttpRequest, HttpResponse } from "../../core/http/Http.ts"
import type { Serve } from "../../core/serve.ts"
import { withoutSessionPath } from "../../core/workspace/SessionPath.ts"
import type { OnEarlyAnswer } from "../serve/limitConcurrency.ts"

const isFields = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Error)

/** One entry of the log, whatever it is written to. */
interface LogEntry {
  readonly time: string
  readonly level: string
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
  /** The span of the entry, in a traced request. */
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
    ...(span?.sampled !== true ? {} : { traceId: span.traceId, spanId: span.spanId })
  }
}

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

/** Named spans are recorded only below a traced request (`observe/otlp/tracing.ts`), and housekeeping never is. */
const untraced = Layer.succeed(References.TracerEnabled, false)

/** The log goes to standard error; standard output is for the answers of commands. */
export const logging = (format: LogFormat): Layer.Layer<never> =>
  format === "pretty"
    ? Layer.mergeAll(untraced, Logger.layer([Logger.consolePretty()]), Layer.succeed(Logger.LogToStderr, true))
    : Layer.merge(untraced, Logger.layer([Logger.withConsoleError(formatLine)]))

/** By what each kind of our credentials begins (`core/token/FORMAT.md`), and a JWT. */
const credential = /(tsr_[a-z]{2}_)[\w-]+|(eyJ)[\w-]+\.[\w.-]+/g

/** A caller may have put a credential into the path by mistake: its kind is told, and nothing else of it. */
const withoutCredentials = (path: string): string =>
  path.replace(credential, (_, own?: string, jwt?: string) => `${own ?? jwt}...`)

/** One request as it went. No query and no header: codes, links and tokens travel there. */
interface Access {
  readonly method: string
  readonly path: string
  readonly status: number
  readonly milliseconds: number
  readonly requestId: string | undefined
  readonly peer: string | undefined
}

interface AccessLog {
  readonly serve: Serve
  /** Notes what was answered without `serve`. */
  readonly onEarlyAnswer: OnEarlyAnswer
}

export const accessLog = (serve: Serve, write: (access: Access, answer: HttpResponse) => void): AccessLog => {
  const begin = ({ method, path, peer }: HttpRequest) => {
    const start = performance.now()
    return (answer: HttpResponse) => {
      const access = {
        method,
        path: withoutCredentials(withoutSessionPath(path)),
        status: answer.status,
        milliseconds: Math.round((performance.now() - start) * 10) / 10,
        requestId: answer.headers.find(([name]) => name === "x-request-id")?.[1],
        peer
      }
      write(access, answer)
      return answer
    }
  }
  return {
    serve: (request) => {
      // Asked now: when the answer is there, the connection may be gone.
      const note = begin(request)
      const answer = serve(request)
      return answer instanceof Promise ? answer.then(note) : note(answer)
    },
    onEarlyAnswer: (request, answer) => void begin(request)(answer)
  }
}
