import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect, Schema } from "effect"

const Value = Schema.Union([
  Schema.Struct({ stringValue: Schema.String }),
  Schema.Struct({ intValue: Schema.Union([Schema.Int, Schema.String]) }),
  Schema.Struct({ doubleValue: Schema.Finite }),
  Schema.Struct({ boolValue: Schema.Boolean })
])
const Attributes = Schema.Array(Schema.Struct({ key: Schema.String, value: Value }))
const Resource = Schema.Struct({ attributes: Attributes })
const hex = (length: number) => Schema.String.check(Schema.isPattern(new RegExp(`^[0-9a-f]{${length}}$`)))
const Nanos = Schema.String.check(Schema.isPattern(/^\d{19}$/))

const Span = Schema.Struct({
  traceId: hex(32),
  spanId: hex(16),
  parentSpanId: Schema.optionalKey(hex(16)),
  name: Schema.String,
  kind: Schema.Int,
  startTimeUnixNano: Nanos,
  endTimeUnixNano: Nanos,
  attributes: Attributes,
  status: Schema.Struct({ code: Schema.Int, message: Schema.optionalKey(Schema.String) })
})

const LogRecord = Schema.Struct({
  timeUnixNano: Nanos,
  observedTimeUnixNano: Nanos,
  severityNumber: Schema.Int,
  severityText: Schema.String,
  body: Schema.Struct({ stringValue: Schema.String }),
  attributes: Attributes,
  traceId: Schema.optionalKey(hex(32)),
  spanId: Schema.optionalKey(hex(16))
})

/** What the OTLP/HTTP receiver of a collector takes, as JSON. */
const Traces = Schema.Struct({
  resourceSpans: Schema.Array(
    Schema.Struct({ resource: Resource, scopeSpans: Schema.Array(Schema.Struct({ spans: Schema.Array(Span) })) })
  )
})
const Logs = Schema.Struct({
  resourceLogs: Schema.Array(
    Schema.Struct({
      resource: Resource,
      scopeLogs: Schema.Array(Schema.Struct({ logRecords: Schema.Array(LogRecord) }))
    })
  )
})

const decodeTraces = Schema.decodeUnknownSync(Schema.fromJsonString(Traces))
const decodeLogs = Schema.decodeUnknownSync(Schema.fromJsonString(Logs))

type Fields = Readonly<Record<string, unknown>>

const fieldsOf = (attributes: typeof Attributes.Type): Fields =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))

export interface ReceivedSpan extends Omit<typeof Span.Type, "attributes"> {
  readonly fields: Fields
}

export interface ReceivedLog extends Omit<typeof LogRecord.Type, "attributes"> {
  readonly fields: Fields
}

export interface Collector {
  readonly url: string
  readonly spans: Array<ReceivedSpan>
  readonly logs: Array<ReceivedLog>
  readonly resources: Array<Fields>
  readonly authorizations: Set<string | undefined>
  /** Everything as it came. */
  readonly bodies: Array<string>
  /** What it could not read. */
  readonly faults: Array<unknown>
  /** Its next answers; then 200. `none`: it reads and never answers. */
  readonly answers: Array<number | "none">
}

const receive = (collector: Collector, path: string, body: string): void => {
  if (path === "/base/v1/traces") {
    for (const { resource, scopeSpans } of decodeTraces(body).resourceSpans) {
      collector.resources.push(fieldsOf(resource.attributes))
      for (const { spans } of scopeSpans) {
        collector.spans.push(...spans.map(({ attributes, ...span }) => ({ ...span, fields: fieldsOf(attributes) })))
      }
    }
  } else if (path === "/base/v1/logs") {
    for (const { resource, scopeLogs } of decodeLogs(body).resourceLogs) {
      collector.resources.push(fieldsOf(resource.attributes))
      for (const { logRecords } of scopeLogs) {
        collector.logs.push(...logRecords.map(({ attributes, ...log }) => ({ ...log, fields: fieldsOf(attributes) })))
      }
    }
  } else throw new Error(`nothing is taken at ${path}`)
}

const listening = (server: Server) =>
  Effect.promise(
    () =>
      new Promise<number>((resolve) =>
        server.listen(0, "127.0.0.1", () => {
          // A server that listens on a port has an address with one.
          resolve((server.address() as AddressInfo).port)
        })
      )
  )

/** An OpenTelemetry collector as far as OTLP over HTTP goes, gone with the scope. */
export const startCollector = Effect.gen(function* () {
  const seen = {
    spans: [] as Array<ReceivedSpan>,
    logs: [] as Array<ReceivedLog>,
    resources: [] as Array<Fields>,
    authorizations: new Set<string | undefined>(),
    bodies: [] as Array<string>,
    faults: [] as Array<unknown>,
    answers: [] as Array<number | "none">
  }
  const server = createServer((request, response) => {
    let body = ""
    request.setEncoding("utf8")
    request.on("data", (chunk) => {
      body += chunk
    })
    request.on("end", () => {
      seen.authorizations.add(request.headers.authorization)
      seen.bodies.push(body)
      const answer = seen.answers.shift() ?? 200
      if (answer === "none") return
      try {
        if (answer === 200) receive(collector, request.url ?? "", body)
        // One that points elsewhere says where.
        response.writeHead(answer, answer === 307 ? { location: "/elsewhere" } : {}).end()
      } catch (fault) {
        seen.faults.push(fault)
        response.writeHead(400).end()
      }
    })
  })
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      server.closeAllConnections()
      server.close()
    })
  )
  const port = yield* listening(server)
  const collector: Collector = { ...seen, url: `http://127.0.0.1:${port}/base` }
  return collector
})
