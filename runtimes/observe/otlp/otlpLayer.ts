import { ConfigProvider, Effect, Layer, Logger, type LogLevel } from "effect"
import * as HttpClient from "effect/http/HttpClient"
import * as OtlpExporter from "effect/observability/OtlpExporter"
import { layerFlusher } from "effect/observability/OtlpExporter"
import { entriesToAttributes, make as makeResource, type Resource } from "effect/observability/OtlpResource"
import { layerJson, OtlpSerialization } from "effect/observability/OtlpSerialization"
import { layer as tracerLayer } from "effect/observability/OtlpTracer"
import { version } from "../../command/version.ts"
import { entryOf } from "../../server/logging.ts"
import type { OtlpSettings } from "../ObserveSettings.ts"
import { makeOutbox } from "./Outbox.ts"

interface OtlpLoggerOptions {
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
const otlpLogger = Effect.fnUntraced(function* ({ batch, resource, url }: OtlpLoggerOptions) {
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

/** Spans and entries in one request to the collector; as many again wait for it to be made. */
const batch = 512
/** Such requests that wait for the collector: together with the batches, all that is ever kept. */
const room = 16

/** The settings have read what there is to read, and complained of what is wrong. */
const noVariables = ConfigProvider.layer(ConfigProvider.fromEnvRecord({}))

/** Entries and spans on their way to an OpenTelemetry collector, beside the loggers that are there. */
export const otlpLayer = ({ endpoint, headers, serviceName }: OtlpSettings): Layer.Layer<never> => {
  const outbox = Layer.effect(
    HttpClient.HttpClient,
    makeOutbox({ headers, room, timeout: 10_000, pause: 1000, patience: 3000 })
  )
  const resource = { serviceName, serviceVersion: version }
  const logger = otlpLogger({ url: `${endpoint}/v1/logs`, resource: makeResource(resource), batch })
  return Layer.mergeAll(
    tracerLayer({ url: `${endpoint}/v1/traces`, resource, exportInterval: "1 second", maxBatchSize: batch }),
    Logger.layer([logger], { mergeWithExisting: true })
  ).pipe(Layer.provide([layerFlusher, layerJson, outbox]), Layer.provide(noVariables))
}
