import { describe, expect, test } from "bun:test"
import { Effect, Logger, Option, Redacted } from "effect"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import { makeOutbox } from "../../runtimes/observe/otlp/Outbox.ts"
import { readTraceparent } from "../../runtimes/observe/otlp/tracing.ts"
import { freePort } from "../harness/freePort.ts"
import { pollUntil } from "../harness/pollUntil.ts"
import { inFolder, scoped } from "../harness/scoped.ts"
import { startCollector } from "./given/collector.ts"
import { ask, companies, ended, register, started, tokenOf } from "./given/serving.ts"

const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
const callersSpan = "00f067aa0ba902b7"
const server = 2
const client = 3

type Line = Readonly<Record<string, unknown>>

describe("a server with a collector", () => {
  test("traces each request down to the store, logs with the same ids, and tells neither a secret", () =>
    inFolder(function* (cwd) {
      const collector = yield* startCollector
      const running = yield* started(cwd, {
        OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
        OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20the-collectors-own-secret, x-scope=a",
        OTEL_SERVICE_NAME: "auth",
        ACCESS_LOG: "on"
      })
      const { url } = running
      const machine = yield* register(url)
      const token = yield* tokenOf(url, machine)
      const traced = yield* ask(`${url}/rest/companies?access_token=in-the-query`, {
        headers: { authorization: `Bearer ${token}`, traceparent: `00-${trace}-${callersSpan}-01` }
      })
      yield* ask(`${url}/rest/companies`, {
        headers: { authorization: `Bearer ${token}`, traceparent: `00-${"a".repeat(32)}-${callersSpan}-00` }
      })
      const refused = yield* companies(url, "nonsense")
      yield* ask(`${url}/a-secret-in-a-path`, { headers: { traceparent: "nonsense" } })
      expect(yield* ended(running, "SIGTERM")).toEqual({ status: 0, signal: null })

      expect(collector.faults).toEqual([])
      expect([...collector.authorizations]).toEqual(["Bearer the-collectors-own-secret"])
      expect(collector.resources[0]).toMatchObject({ "service.name": "auth", "service.version": "0.1.0" })
      const requests = collector.spans.filter(({ kind }) => kind === server)
      expect(requests.map(({ name }) => name)).toEqual([
        "POST /oauth/register",
        "POST /oauth/token",
        "GET /rest/companies",
        "GET /rest/companies",
        "GET /rest/companies",
        "GET none"
      ])
      const [, , below, unsampled, unasked] = requests
      expect(below).toMatchObject({
        traceId: trace,
        parentSpanId: callersSpan,
        fields: {
          "http.request.method": "GET",
          "http.route": "/rest/companies",
          "http.response.status_code": 200,
          "tessera.request_id": traced.headers.get("x-request-id")
        }
      })
      expect(unsampled).toMatchObject({ traceId: "a".repeat(32), parentSpanId: callersSpan })
      expect(requests.filter(({ parentSpanId }) => parentSpanId !== undefined)).toEqual(
        below && unsampled ? [below, unsampled] : []
      )
      const calls = collector.spans.filter(({ kind }) => kind === client)
      const parentOf = new Map(collector.spans.map(({ parentSpanId, spanId }) => [spanId, parentSpanId]))
      const isBelow = (spanId: string | undefined, above: string | undefined): boolean =>
        spanId !== undefined && (spanId === above || isBelow(parentOf.get(spanId), above))
      const callsOf = (spanId = "none") => calls.filter(({ parentSpanId }) => isBelow(parentSpanId, spanId))
      const named = collector.spans.find(({ name }) => name === "engine.registerClient")
      expect(isBelow(named?.spanId, requests[0]?.spanId)).toBe(true)
      expect(collector.spans.filter(({ parentSpanId, kind }) => parentSpanId === undefined && kind !== server)).toEqual(
        []
      )
      expect(callsOf(requests[0]?.spanId).map(({ name }) => name)).toContain("storage insert client")
      expect(callsOf(below?.spanId)[0]).toMatchObject({
        name: "storage get grant",
        traceId: trace,
        fields: { "db.operation.name": "get", "db.collection.name": "grant" }
      })
      expect(calls.every(({ spanId }) => requests.some((request) => isBelow(spanId, request.spanId)))).toBe(true)

      const requestId = refused.headers.get("x-request-id")
      const ids = { traceId: unasked?.traceId, spanId: unasked?.spanId }
      const said = collector.logs.filter(({ fields }) => fields.requestId === requestId)
      expect(said).toMatchObject([
        {
          body: { stringValue: "refused" },
          severityText: "Info",
          severityNumber: 9,
          ...ids,
          fields: { reason: "malformed" }
        },
        { body: { stringValue: "request" }, ...ids, fields: { status: 401, path: "/rest/companies" } }
      ])
      const lines = running.child.stderr().trim().split("\n")
      // A line that is no JSON fails right here.
      const written = lines.map((line) => JSON.parse(line) as Line).filter((line) => line.requestId === requestId)
      expect(written).toMatchObject([
        { message: "refused", reason: "malformed", level: "Info", ...ids },
        { message: "request", status: 401, ...ids }
      ])
      expect(collector.logs.length).toBe(lines.length)

      const everything = `${collector.bodies.join("\n")}\n${running.child.stderr()}`
      for (const secret of [
        token,
        machine.client_secret,
        machine.registration_access_token,
        "in-the-query",
        "the-collectors-own-secret"
      ]) {
        expect(everything).not.toContain(secret)
      }
      expect(collector.spans.map((span) => JSON.stringify(span)).join()).not.toContain("a-secret-in-a-path")
    }))

  test.each([
    ["0", []],
    ["1", [callersSpan, undefined, callersSpan, undefined]]
  ])("traces the share that it is told (%s), and no caller makes it more or less", (share, parents) =>
    inFolder(function* (cwd) {
      const collector = yield* startCollector
      const running = yield* started(cwd, {
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_TRACES_SAMPLER_ARG: share
      })
      for (const flags of ["01", "00"]) {
        yield* ask(`${running.url}/healthz`, { headers: { traceparent: `00-${trace}-${callersSpan}-${flags}` } })
        yield* ask(`${running.url}/healthz`)
      }
      expect(yield* ended(running, "SIGTERM")).toEqual({ status: 0, signal: null })
      expect(collector.spans.map(({ parentSpanId }) => parentSpanId)).toEqual(parents)
    })
  )

  test("that is away goes on as if there were none", () =>
    inFolder(function* (cwd) {
      const port = yield* freePort
      const running = yield* started(cwd, {
        OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
        AUDIT: "off"
      })
      const token = yield* tokenOf(running.url, yield* register(running.url))
      yield* Effect.promise(() => running.child.says(/collector does not take what it is sent/))
      for (let turn = 0; turn < 20; turn++) expect((yield* companies(running.url, token)).status).toBe(200)
      expect(yield* ended(running, "SIGTERM")).toEqual({ status: 0, signal: null })
      const lines = running.child.stderr().trim().split("\n")
      // A line that is no JSON, such as an unhandled rejection, fails right here.
      const told = lines.map((line) => (JSON.parse(line) as Line).message)
      expect(told).toEqual([
        "the telemetry collector does not take what it is sent",
        "the telemetry collector did not take all before the end"
      ])
    }))
})

const options = {
  headers: Redacted.make([]),
  room: 3,
  timeout: 10_000,
  pause: 1,
  patience: 5000
}

describe("the outbox", () => {
  const post = (url: string, text: string) =>
    HttpClientRequest.post(`${url}/v1/logs`).pipe(HttpClientRequest.bodyText(text, "application/json"))
  const empty = JSON.stringify({ resourceLogs: [] })
  const hearing = (said: Array<string>) =>
    Logger.layer([Logger.make(({ message }) => said.push(JSON.stringify(message)))])

  test("keeps so many batches and no more while the collector hangs, and says what was lost when it is back", () => {
    const said: Array<string> = []
    return scoped(
      Effect.gen(function* () {
        const collector = yield* startCollector
        collector.answers.push("none", 503, 429)
        const outbox = yield* makeOutbox({ ...options, timeout: 200 })
        for (let batch = 0; batch < 10; batch++) {
          expect((yield* outbox.execute(post(collector.url, empty))).status).toBe(200)
        }
        // The first batch four times, and those that found room behind it.
        expect(
          yield* pollUntil(
            Effect.sync(() => collector.bodies.length >= 6),
            10_000
          )
        ).toBe(true)
        expect(
          yield* pollUntil(
            Effect.sync(() => said.length >= 3),
            10_000
          )
        ).toBe(true)
        const lost = /"batchesLost":(\d+)/.exec(said[2] ?? "")?.[1]
        expect([said.length, Number(lost) + collector.bodies.length - 3]).toEqual([3, 10])
        expect(Number(lost)).toBeGreaterThanOrEqual(6)
      }).pipe(Effect.provide(hearing(said)))
    )
  })

  test("drops a batch that the collector refuses, and follows it nowhere else", () => {
    const said: Array<string> = []
    return scoped(
      Effect.gen(function* () {
        const collector = yield* startCollector
        collector.answers.push(401, 307)
        const outbox = yield* makeOutbox(options)
        for (let batch = 0; batch < 3; batch++) yield* outbox.execute(post(collector.url, empty))
        expect(
          yield* pollUntil(
            Effect.sync(() => said.length >= 2),
            10_000
          )
        ).toBe(true)
        expect(collector.bodies.length).toBe(3)
        expect(said[0]).toContain("status 401")
        expect(said[1]).toContain('"batchesLost":2')
      }).pipe(Effect.provide(hearing(said)))
    )
  })

  test("says that a collector is too slow, and how much that cost", () => {
    const said: Array<string> = []
    return scoped(
      Effect.gen(function* () {
        const collector = yield* startCollector
        const outbox = yield* makeOutbox(options)
        for (let batch = 0; batch < 10; batch++) yield* outbox.execute(post(collector.url, empty))
        expect(
          yield* pollUntil(
            Effect.sync(() => said.length >= 2),
            10_000
          )
        ).toBe(true)
        expect(said[0]).toContain("too slow")
        const lost = /"batchesLost":(\d+)/.exec(said[1] ?? "")?.[1]
        expect(
          yield* pollUntil(
            Effect.sync(() => collector.bodies.length + Number(lost) === 10),
            10_000
          )
        ).toBe(true)
        expect(said.length).toBe(2)
      }).pipe(Effect.provide(hearing(said)))
    )
  })

  test("says at the end what was lost, and what was not taken", () => {
    const said: Array<string> = []
    return scoped(
      Effect.gen(function* () {
        const collector = yield* startCollector
        collector.answers.push("none")
        const sending = Effect.gen(function* () {
          const outbox = yield* makeOutbox({ ...options, patience: 50 })
          for (let batch = 0; batch < 10; batch++) yield* outbox.execute(post(collector.url, empty))
        })
        yield* Effect.scoped(sending)
        expect(said.length).toBe(2)
        expect(said[0]).toContain("too slow")
        expect(said[1]).toContain('"batchesLost":10')
      }).pipe(Effect.provide(hearing(said)))
    )
  })

  test("pauses no longer when the end comes, so that a collector that is back gets the rest", () => {
    const said: Array<string> = []
    return scoped(
      Effect.gen(function* () {
        const collector = yield* startCollector
        collector.answers.push(503)
        const sending = Effect.gen(function* () {
          const outbox = yield* makeOutbox({ ...options, pause: 60 * 60 * 1000 })
          for (let batch = 0; batch < 2; batch++) yield* outbox.execute(post(collector.url, empty))
          expect(
            yield* pollUntil(
              Effect.sync(() => said.length > 0),
              10_000
            )
          ).toBe(true)
        })
        yield* Effect.scoped(sending)
        expect(collector.bodies.length).toBe(3)
        expect(said.length).toBe(2)
        expect(said[1]).toContain('"batchesLost":0')
      }).pipe(Effect.provide(hearing(said)))
    )
  })
})

describe("traceparent (W3C Trace Context)", () => {
  const good = `00-${trace}-${callersSpan}-01`

  test("is read with its flag, and a later version by what this one knows", () => {
    expect(Option.getOrThrow(readTraceparent(good))).toMatchObject({
      traceId: trace,
      spanId: callersSpan,
      sampled: true
    })
    expect(Option.getOrThrow(readTraceparent(good.replace(/01$/, "02"))).sampled).toBe(false)
    expect(Option.isSome(readTraceparent(`01${good.slice(2)}-more`))).toBe(true)
  })

  test.each([
    undefined,
    null,
    "",
    `${good}-more`,
    `${good}, ${good}`,
    ` ${good}`,
    good.toUpperCase(),
    good.replace(/^00/, "ff"),
    good.replace(trace, "0".repeat(32)),
    good.replace(callersSpan, "0".repeat(16)),
    good.replace(trace, trace.slice(1)),
    good.slice(0, -1),
    good.replace("f", "g")
  ])("is nothing where it is %p", (header) => {
    expect(Option.isNone(readTraceparent(header))).toBe(true)
  })
})
