import { type Effect, Option } from "effect"
import { type Complaint, complaint, optional, readVariable, type Variable, wholeNumber } from "../server/Variable.ts"

/** A listener for whoever asks how the server is; none where nobody is to. */
export interface MetricsSettings {
  readonly host: string
  readonly port: number
}

/** Where audit events go: into the log, nowhere, onto one of the process's own streams, or into a file. */
export type AuditTarget =
  | { readonly _tag: "Log" }
  | { readonly _tag: "Off" }
  | { readonly _tag: "Stream"; readonly file: 1 | 2 }
  | { readonly _tag: "File"; readonly path: string }

/** How one may look on while the server works. */
export interface ObserveSettings {
  readonly audit: AuditTarget
  readonly metrics: Option.Option<MetricsSettings>
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
      return /^[^\0]*\/[^\0]*[^/\0]$/.test(given) ? Option.some({ _tag: "File", path: given }) : Option.none()
  }
}

const variables = {
  audit: {
    name: "AUDIT",
    expected: "log, off, stdout, or the path of a file with a slash in it, such as ./audit.jsonl",
    read: readAudit,
    fallback: { _tag: "Log" }
  } as Variable<AuditTarget>, // The fallback is one variant of several.
  metricsHost: {
    name: "METRICS_HOST",
    expected: "an address or a host name to listen on",
    read: (given: string) => (/^[A-Za-z0-9.:_-]+$/.test(given) ? Option.some(given) : Option.none()),
    fallback: "127.0.0.1"
  },
  metricsPort: optional(wholeNumber("METRICS_PORT", 1, 65535, 0))
}

/** Each on its own, to be read together with the server's others. */
export const observeVariables = {
  audit: readVariable(variables.audit),
  metricsHost: readVariable(variables.metricsHost),
  metricsPort: readVariable(variables.metricsPort)
}

type Given = { readonly [name in keyof typeof observeVariables]: Effect.Success<(typeof observeVariables)[name]> }

export const observeSettings = ({ audit, metricsHost, metricsPort }: Given): ObserveSettings => ({
  audit,
  metrics: Option.map(metricsPort, (port) => ({ host: metricsHost, port }))
})

/** What is wrong with two that are right by themselves. */
export const metricsOnPublicPort: Complaint = complaint("METRICS_PORT", "another port than PORT, which is the public's")
