import { type Effect, Option } from "effect"
import { type Complaint, complaint, optional, readVariable, wholeNumber } from "../server/Variable.ts"

/** A listener for whoever asks how the server is; none where nobody is to. */
export interface MetricsSettings {
  readonly host: string
  readonly port: number
}

/** How one may look on while the server works. */
export interface ObserveSettings {
  readonly metrics: Option.Option<MetricsSettings>
}

const variables = {
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
  metricsHost: readVariable(variables.metricsHost),
  metricsPort: readVariable(variables.metricsPort)
}

type Given = { readonly [name in keyof typeof observeVariables]: Effect.Success<(typeof observeVariables)[name]> }

export const observeSettings = ({ metricsHost, metricsPort }: Given): ObserveSettings => ({
  metrics: Option.map(metricsPort, (port) => ({ host: metricsHost, port }))
})

/** What is wrong with two that are right by themselves. */
export const metricsOnPublicPort: Complaint = complaint("METRICS_PORT", "another port than PORT, which is the public's")
