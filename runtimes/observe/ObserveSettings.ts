import { Option, Redacted } from "effect"
import { isLoopbackHost } from "../../core/workspace/Workspace.ts"
import {
  type Complaint,
  complaint,
  type Given,
  optional,
  readVariables,
  switchOf,
  text,
  type Variable
} from "../server/Variable.ts"

/** A listener for questions of how the server is; none where there are to be none. */
interface MetricsSettings {
  readonly host: string
  readonly port: number
}

/** Where audit events go: into the log, nowhere, onto one of the process's own streams, or into a file. */
export type AuditTarget =
  | { readonly _tag: "Log" }
  | { readonly _tag: "Off" }
  | { readonly _tag: "Stream"; readonly file: 1 | 2 }
  /** `most`: the bytes that it and the one before it have together, where there is a ceiling. */
  | { readonly _tag: "File"; readonly path: string; readonly most?: number }

/** An OpenTelemetry collector. */
export interface OtlpSettings {
  /** Without a slash at the end; the paths of OTLP over HTTP come behind it. */
  readonly endpoint: string
  readonly headers: Redacted.Redacted<ReadonlyArray<readonly [name: string, value: string]>>
  readonly serviceName: string
  /** Which share of requests is traced, whatever the caller's `traceparent` says. */
  readonly share: number
}

/** How one may look on while the server works. */
export interface ObserveSettings {
  readonly audit: AuditTarget
  readonly metrics: Option.Option<MetricsSettings>
  readonly otlp: Option.Option<OtlpSettings>
}

const readAudit = (given: string): Option.Option<AuditTarget> => {
  switch (given) {
    case "log":
      return Option.some({ _tag: "Log" })
    case "off":
      return Option.some({ _tag: "Off" })
    case "stdout":
      return Option.some({ _tag: "Stream", file: 1 })
    default:
      // A slash, so that no misspelt word becomes a file.
      return given.includes("/") && !given.endsWith("/") && !given.includes("\0")
        ? Option.some({ _tag: "File", path: given })
        : Option.none()
  }
}

const units = { MiB: 2 ** 20, GiB: 2 ** 30 } as const

/** What waits for the disk is written at once, and fits into a half of it. */
const leastSize = 64 * units.MiB

const readSize = (given: string): Option.Option<number | undefined> => {
  if (given === "off") return Option.some(undefined)
  const [, digits, unit] = /^(\d{1,6})(MiB|GiB)$/.exec(given) ?? []
  const size = unit === "MiB" || unit === "GiB" ? Number(digits) * units[unit] : 0
  return size >= leastSize ? Option.some(size) : Option.none()
}

type OtlpHeaders = ReadonlyArray<readonly [name: string, value: string]>

const readEndpoint = (given: string): Option.Option<string> => {
  const url = URL.canParse(given) ? new URL(given) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) return Option.none()
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") return Option.none()
  let end = url.href.length
  while (url.href[end - 1] === "/") end -= 1
  return Option.some(url.href.slice(0, end))
}

/** Spans and log lines name clients, grants and people: over a network no other may read them. */
export const isOpenToReaders = (endpoint: string): boolean => {
  const { hostname, protocol } = new URL(endpoint)
  return protocol === "http:" && !isLoopbackHost(hostname)
}

const readHeader = (pair: string): Option.Option<readonly [name: string, value: string]> => {
  const equals = pair.indexOf("=")
  const name = pair.slice(0, Math.max(0, equals)).trim()
  const value = Option.liftThrowable(decodeURIComponent)(pair.slice(equals + 1).trim())
  const isHeader =
    /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) && Option.isSome(value) && /^[\x20-\x7e]*$/.test(value.value)
  return isHeader ? Option.some([name.toLowerCase(), value.value]) : Option.none()
}

const readHeaders = (given: string): Option.Option<Redacted.Redacted<OtlpHeaders>> =>
  Option.map(Option.all(given.split(",").map(readHeader)), (headers) =>
    Redacted.make(headers, { label: "OTEL_EXPORTER_OTLP_HEADERS" })
  )

/** On this machine alone, unless an address is named. */
const readMetrics = (given: string): Option.Option<MetricsSettings> => {
  const [, bracketed, plain = "127.0.0.1", digits = ""] =
    /^(?:(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+)):)?(\d{1,5})$/.exec(given) ?? []
  const port = Number(digits)
  return port >= 1 && port <= 65535 ? Option.some({ host: bracketed ?? plain, port }) : Option.none()
}

const variables = {
  audit: {
    name: "AUDIT",
    expected: "log, off, stdout, or the path of a file with a slash in it, such as ./audit.jsonl",
    read: readAudit,
    fallback: { _tag: "Log" }
  } as Variable<AuditTarget>, // The fallback is one variant of several.
  auditMaxSize: {
    name: "AUDIT_MAX_SIZE",
    expected: "off, or a size of at least 64MiB, such as 512MiB or 2GiB",
    read: readSize,
    fallback: units.GiB
  } as Variable<number | undefined>, // The fallback is one variant of several.
  metrics: optional<MetricsSettings>({
    name: "METRICS",
    expected: "a port, or an address and a port, such as 9464, 0.0.0.0:9464 or [::1]:9464",
    read: readMetrics
  }),
  otlpEndpoint: optional({
    name: "OTEL_EXPORTER_OTLP_ENDPOINT",
    expected: "an http or https URL without user, query and fragment, such as http://127.0.0.1:4318",
    read: readEndpoint
  }),
  otlpInsecure: switchOf("OTEL_EXPORTER_OTLP_INSECURE", "true", "false", false),
  otlpHeaders: {
    name: "OTEL_EXPORTER_OTLP_HEADERS",
    expected: "headers such as name=value, separated by commas, with values as URLs have them",
    read: readHeaders,
    fallback: Redacted.make<OtlpHeaders>([], { label: "OTEL_EXPORTER_OTLP_HEADERS" })
  },
  serviceName: {
    ...text("OTEL_SERVICE_NAME", "a name of at most 255 characters", /^[^\p{Cc}]{1,255}$/u),
    fallback: "tessera"
  },
  share: {
    name: "OTEL_TRACES_SAMPLER_ARG",
    expected: "a number from 0 to 1",
    read: (given: string) => (/^(?:0(?:\.\d+)?|1(?:\.0+)?)$/.test(given) ? Option.some(Number(given)) : Option.none()),
    fallback: 1
  }
}

export const observeVariables = readVariables(variables)

export const observeSettings = (given: Given<typeof variables>): ObserveSettings => ({
  audit:
    given.audit._tag === "File" && given.auditMaxSize !== undefined
      ? { ...given.audit, most: given.auditMaxSize }
      : given.audit,
  metrics: given.metrics,
  otlp: Option.map(given.otlpEndpoint, (endpoint) => ({
    endpoint,
    headers: given.otlpHeaders,
    serviceName: given.serviceName,
    share: given.share
  }))
})

/** A conflict of two variables, each right by itself. */
export const metricsOnPublicPort: Complaint = complaint("METRICS", "another port than PORT, which is the public's")

/** A right path, at which nothing can be written. */
export const unappendable = (path: string, why: string): Complaint =>
  complaint("AUDIT", `a file that can be appended to, and ${path} ${why}`)
