import { describe, expect, test } from "bun:test"
import { ConfigProvider, Effect, Option, Redacted, Result } from "effect"
import { readSettings } from "../../runtimes/server/Settings.ts"

const read = (env: Readonly<Record<string, string>>) =>
  Effect.runSync(
    Effect.result(readSettings).pipe(
      Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnvRecord(env))
    )
  )

const observing = (env: Readonly<Record<string, string>>) => Result.getOrThrow(read(env)).observe

describe("the settings for observers", () => {
  test("are off where nothing is said", () => {
    expect(observing({})).toEqual({ audit: { _tag: "Log" }, metrics: Option.none(), otlp: Option.none() })
    expect(observing({ OTEL_SERVICE_NAME: "auth" }).metrics).toEqual(Option.none())
  })

  test("are for this machine alone, unless another host is named", () => {
    expect(observing({ METRICS: "9464" }).metrics).toEqual(Option.some({ host: "127.0.0.1", port: 9464 }))
  })

  test("send nothing in the clear over a network, unless that is said by name", () => {
    const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector.example:4318" }
    expect(Result.isFailure(read(endpoint))).toBe(true)
    expect(Option.isSome(observing({ ...endpoint, OTEL_EXPORTER_OTLP_INSECURE: "true" }).otlp)).toBe(true)
    expect(Option.isSome(observing({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://[::1]:4318" }).otlp)).toBe(true)
  })

  test("are what the variables say", () => {
    const { audit, metrics, otlp } = observing({
      AUDIT: "/var/log/tessera/audit.jsonl",
      METRICS: "[::1]:9464",
      OTEL_EXPORTER_OTLP_ENDPOINT: "https://otlp.example.com/base/",
      OTEL_EXPORTER_OTLP_HEADERS: "Api-Key=se%2Ccret, x-b = c=d",
      OTEL_SERVICE_NAME: "auth",
      OTEL_TRACES_SAMPLER_ARG: "0.25"
    })
    const file = { _tag: "File", path: "/var/log/tessera/audit.jsonl" }
    expect(audit).toEqual({ ...file, most: 2 ** 30 } as typeof audit)
    const sized = (AUDIT_MAX_SIZE: string) => observing({ AUDIT: file.path, AUDIT_MAX_SIZE }).audit
    expect(sized("64MiB")).toEqual({ ...file, most: 64 * 2 ** 20 } as typeof audit)
    expect(sized("2GiB")).toEqual({ ...file, most: 2 * 2 ** 30 } as typeof audit)
    expect(sized("off")).toEqual(file as typeof audit)
    expect(metrics).toEqual(Option.some({ host: "::1", port: 9464 }))
    const { headers, ...rest } = Option.getOrThrow(otlp)
    expect(rest).toEqual({ endpoint: "https://otlp.example.com/base", serviceName: "auth", share: 0.25 })
    expect(Redacted.value(headers)).toEqual([
      ["api-key", "se,cret"],
      ["x-b", "c=d"]
    ])
    expect(JSON.stringify(otlp)).not.toContain("cret")
  })

  test.each([
    ["AUDIT", "stderr"],
    ["AUDIT", "audit.jsonl"],
    ["AUDIT", "./folder/"],
    ["METRICS", "a b:9464"],
    ["METRICS", "::1:9464"],
    ["METRICS", "65536"],
    ["METRICS", "0"],
    ["METRICS", "off"],
    ["METRICS", "3000"],
    ["AUDIT_MAX_SIZE", "512"],
    ["AUDIT_MAX_SIZE", "63MiB"],
    ["AUDIT_MAX_SIZE", "0GiB"],
    ["AUDIT_MAX_SIZE", "-1GiB"],
    ["AUDIT_MAX_SIZE", "512MB"],
    ["METRICS", "0.0.0.0:3000"],
    ["OTEL_EXPORTER_OTLP_ENDPOINT", "127.0.0.1:4318"],
    ["OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector.example:4318"],
    ["OTEL_EXPORTER_OTLP_ENDPOINT", "http://10.0.0.5:4318"],
    ["OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1.evil.example:4318"],
    ["OTEL_EXPORTER_OTLP_INSECURE", "yes"],
    ["OTEL_EXPORTER_OTLP_ENDPOINT", "grpc://127.0.0.1:4317"],
    ["OTEL_EXPORTER_OTLP_ENDPOINT", "http://user:hunter2@127.0.0.1"],
    ["OTEL_EXPORTER_OTLP_ENDPOINT", "http://:hunter2@127.0.0.1"],
    ["OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1/?key=hunter2"],
    ["OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1/#hunter2"],
    ["OTEL_EXPORTER_OTLP_HEADERS", "hunter2"],
    ["OTEL_EXPORTER_OTLP_HEADERS", "a=b,"],
    ["OTEL_EXPORTER_OTLP_HEADERS", "a=%0d%0ax: y"],
    ["OTEL_EXPORTER_OTLP_HEADERS", "a=%zz"],
    ["OTEL_TRACES_SAMPLER_ARG", "1.5"],
    ["OTEL_TRACES_SAMPLER_ARG", "half"]
  ])("say by its name that %s can't be %s", (name, value) => {
    const wrong = read({ [name]: value })
    const complaints = Result.isFailure(wrong) ? wrong.failure.complaints : []
    expect(complaints).toEqual([expect.stringMatching(new RegExp(`^${name}: expected [^\n]+$`))])
    expect(complaints.join()).not.toContain("hunter2")
  })
})
