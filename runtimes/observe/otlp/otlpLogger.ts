import { Effect, Logger, type LogLevel } from "effect"
import * as OtlpExporter from "effect/observability/OtlpExporter"
import { entriesToAttributes, type Resource } from "effect/observability/OtlpResource"
import { OtlpSerialization } from "effect/observability/OtlpSerialization"
import { entryOf } from "../../server/logEntry.ts"

export interface OtlpLoggerOptions {
  readonly url: string
  readonly resource: Resource
  readonly batch: number
}

/** OpenTelemetry's log data model, "SeverityNumber". */
const severities: Readonly<Record<LogLevel.LogLevel, number>> = {
  All: 0,
  None: 0,
  Trace: 1,
  Debug: 5,
  Info: 9,
  Warn: 13,
  Error: 17,
  Fatal: 21
}

/** The same entries as the log's lines of JSON, with the same fields as attributes. */
export const otlpLogger = Effect.fnUntraced(function* ({ batch, resource, url }: OtlpLoggerOptions) {
  const serialization = yield* OtlpSerialization
  const exporter = yield* OtlpExporter.make({
    label: "Logs",
    url,
    headers: undefined,
    exportInterval: "1 second",
    maxBatchSize: batch,
    shutdownTimeout: "3 seconds",
    body: (logRecords) => [
      serialization.logs({ resourceLogs: [{ resource, scopeLogs: [{ scope: { name: "tessera" }, logRecords }] }] }),
      Effect.void
    ]
  })
  return Logger.make<unknown, void>((options) => {
    const { fields, level, message, spanId, traceId } = entryOf(options)
    const time = `${options.date.getTime()}000000`
    exporter.push({
      timeUnixNano: time,
      observedTimeUnixNano: time,
      severityNumber: severities[options.logLevel],
      severityText: level,
      body: { stringValue: message },
      attributes: entriesToAttributes(Object.entries(fields)),
      droppedAttributesCount: 0,
      ...(traceId === undefined ? {} : { traceId, spanId })
    })
  })
})
