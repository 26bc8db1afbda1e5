import { ConfigProvider, Layer, Logger } from "effect"
import * as HttpClient from "effect/http/HttpClient"
import { layerFlusher } from "effect/observability/OtlpExporter"
import { make as makeResource } from "effect/observability/OtlpResource"
import { layerJson } from "effect/observability/OtlpSerialization"
import { layer as tracerLayer } from "effect/observability/OtlpTracer"
import { version } from "../../command/version.ts"
import type { OtlpSettings } from "../ObserveSettings.ts"
import { makeOutbox } from "./Outbox.ts"
import { otlpLogger } from "./otlpLogger.ts"

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
