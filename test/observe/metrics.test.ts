import { describe, expect, test } from "bun:test"
import { createServer } from "node:net"
import { Effect, Exit } from "effect"
import { Audit, type AuditEntry } from "../../core/ports/Audit.ts"
import { Conflict, type Storage, StorageUnavailable } from "../../core/ports/Storage.ts"
import { UserId } from "../../core/rules/Id.ts"
import { WorkspaceId } from "../../core/workspace/Workspace.ts"
import { Meters } from "../../runtimes/observe/metrics/Meters.ts"
import { meteredServe } from "../../runtimes/observe/metrics/meteredServe.ts"
import { meteredAudit, meteredStorage } from "../../runtimes/observe/metrics/meteredStorage.ts"
import { metering, processMeters } from "../../runtimes/observe/metrics/metering.ts"
import { freePort } from "../harness/freePort.ts"
import { pollUntil } from "../harness/pollUntil.ts"
import { inFolder, scoped } from "../harness/scoped.ts"
import { command } from "../runtimes/given/tessera.ts"
import { head, open } from "../runtimes/given/wire.ts"
import { type Family, parseExposition, sampleOf } from "./given/exposition.ts"
import { ask, companies, ended, formOf, register, started, tokenOf } from "./given/serving.ts"

const read = (port: number) =>
  Effect.map(ask(`http://127.0.0.1:${port}/metrics`), (answer) => {
    expect(answer.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8")
    return parseExposition(answer.text)
  })

const sumOf = (families: ReadonlyMap<string, Family>, name: string): number =>
  [...(families.get(name)?.samples.values() ?? [])].reduce((sum, value) => sum + value, 0)

describe("GET /metrics", () => {
  test("counts what was sent, by route and never by path, on a listener of its own", () =>
    inFolder(function* (cwd) {
      const port = yield* freePort
      const server = yield* started(cwd, { METRICS: String(port) })
      const { url } = server
      const client = yield* register(url)
      const token = yield* tokenOf(url, client)
      const secretPath = "a-token-that-somebody-put-into-a-path"
      for (let turn = 0; turn < 5; turn++) yield* companies(url, token)
      yield* companies(url)
      yield* companies(url, "nonsense")
      yield* ask(`${url}/oauth/token`, {
        ...formOf({ grant_type: "client_credentials" }),
        headers: { ...formOf({}).headers, dpop: "no proof" }
      })
      yield* ask(`${url}/${secretPath}`)
      yield* ask(`${url}/oauth/register/${client.client_id}`)
      yield* ask(`${url}/oauth/token`, formOf({ grant_type: "client_credentials", client_id: "x", client_secret: "y" }))
      yield* ask(`${url}/oauth/token`, { method: "PROPFIND" })

      const families = yield* read(port)
      const expected = {
        'tessera_requests_total{endpoint="/oauth/register",method="POST",status="2xx"}': 1,
        'tessera_requests_total{endpoint="/oauth/token",method="POST",status="2xx"}': 1,
        'tessera_requests_total{endpoint="/oauth/token",method="POST",status="4xx"}': 2,
        'tessera_requests_total{endpoint="/oauth/token",method="other",status="4xx"}': 1,
        'tessera_requests_total{endpoint="/rest/companies",method="GET",status="2xx"}': 5,
        'tessera_requests_total{endpoint="/rest/companies",method="GET",status="4xx"}': 2,
        'tessera_requests_total{endpoint="/oauth/register/*",method="GET",status="4xx"}': 1,
        'tessera_requests_total{endpoint="none",method="GET",status="4xx"}': 1,
        'tessera_request_seconds_count{endpoint="/rest/companies",method="GET"}': 7,
        'tessera_bearer_checks_total{outcome="accepted"}': 5,
        'tessera_bearer_checks_total{outcome="none"}': 2,
        'tessera_bearer_checks_total{outcome="invalid"}': 1,
        'tessera_dpop_total{outcome="invalid"}': 1,
        'tessera_dpop_total{outcome="accepted"}': 0,
        'tessera_tokens_issued_total{grant_type="client_credentials"}': 1,
        'tessera_clients_total{change="registered"}': 1,
        'tessera_refusals_total{refusal="TokenRequired",reason=""}': 2,
        'tessera_refusals_total{refusal="InvalidToken",reason="malformed"}': 1,
        'tessera_storage_calls_total{verb="insert",kind="client",outcome="done"}': 1,
        tessera_requests_shed_total: 0,
        tessera_requests_in_flight: 0
      }
      const found = Object.fromEntries(Object.keys(expected).map((series) => [series, sampleOf(families, series)]))
      expect(found).toEqual(expected)
      expect(sumOf(families, "tessera_requests_total")).toBe(14)
      expect(sampleOf(families, "process_resident_memory_bytes")).toBeGreaterThan(10_000_000)
      expect([...(families.get("tessera_build_info")?.samples.keys() ?? [])].join()).toContain('version="0.1.0"')

      const { text } = yield* ask(`http://127.0.0.1:${port}/metrics`)
      for (const unwanted of [secretPath, client.client_id, client.client_secret, token]) {
        expect(text).not.toContain(unwanted)
      }
      expect((yield* ask(`http://127.0.0.1:${port}/oauth/token`)).status).toBe(404)
      expect((yield* ask(`http://127.0.0.1:${port}/metrics`, { method: "POST" })).status).toBe(405)
      expect((yield* ask(`${url}/metrics`)).status).toBe(404)
      expect(yield* ended(server, "SIGTERM")).toEqual({ status: 0, signal: null })
    }))

  test("is there until the public's requests are answered, and keeps no shutdown waiting", () =>
    inFolder(function* (cwd) {
      const port = yield* freePort
      const env = { METRICS: String(port), SHUTDOWN_TIMEOUT: "1 hour", REQUEST_TIMEOUT: "200 seconds" }
      const server = yield* started(cwd, env)
      const halfAsked = Effect.fnUntraced(function* (at: number, target: string) {
        const socket = open(at)
        yield* Effect.addFinalizer(() => Effect.sync(() => socket.destroy()))
        const beginning = head({ method: "POST", target, headers: [["content-length", "10"]] })
        yield* Effect.callback<void>((resume) => void socket.write(beginning, () => resume(Effect.void)))
        return socket
      })
      const half = yield* halfAsked(Number(new URL(server.url).port), "/oauth/token")
      yield* halfAsked(port, "/metrics")
      // They are with the system now. The server has read them once it has answered a later request.
      yield* register(server.url)
      yield* read(port)

      server.child.process.kill("SIGTERM")
      const isRefused = Effect.promise(() =>
        fetch(server.url).then(
          () => false,
          () => true
        )
      )
      expect(yield* pollUntil(isRefused, 10_000)).toBe(true)
      expect(sampleOf(yield* read(port), 'tessera_clients_total{change="registered"}')).toBe(1)
      half.write("0123456789")
      expect(yield* Effect.promise(() => server.child.ended)).toEqual({ status: 0, signal: null })
    }))

  test("says which variable is wrong where its port is taken, or the public's", () =>
    inFolder(function* (cwd) {
      const port = String(yield* freePort)
      const both = yield* command(["serve"], { cwd, env: { PORT: port, METRICS: port } })
      expect(both.stderr.trim()).toBe("METRICS: expected another port than PORT, which is the public's")
      expect(both.status).toBe(2)
      const taken = yield* freePort
      const other = createServer().listen(taken, "127.0.0.1")
      yield* Effect.addFinalizer(() => Effect.sync(() => other.close()))
      const late = yield* command(["serve"], { cwd, env: { PORT: port, METRICS: String(taken) } })
      expect(late.stderr).toContain("set METRICS to a free one")
      expect(late.status).toBe(1)
    }))
})

const key = { workspace: "w", kind: "grant", id: "id" } as const
const record = { ...key, owner: "o", expiresAt: null, body: {} }

/** A store that answers each verb as it is told. */
const storeOf = (own: Partial<Storage["Service"]>): Storage["Service"] => ({
  get: () => Effect.die("not asked for"),
  insert: () => Effect.die("not asked for"),
  replace: () => Effect.die("not asked for"),
  remove: () => Effect.die("not asked for"),
  list: () => Effect.die("not asked for"),
  sweep: () => Effect.die("not asked for"),
  ...own
})

describe("the store's meters", () => {
  test("count each outcome, time each call, and leave what is there at once as it is", () => {
    const meters = new Meters()
    const away = new StorageUnavailable({ outcome: "unknown", message: "away" })
    const storage = meteredStorage(
      meters,
      storeOf({
        insert: () => Exit.fail(new Conflict()),
        replace: () => Effect.suspend(() => Effect.fail(away)),
        remove: () => Effect.yieldNow,
        sweep: () => Effect.succeed(7)
      })
    )
    expect(Exit.isExit(storage.insert(record))).toBe(true)
    expect(Effect.runSync(Effect.flip(storage.replace(1, record)))).toBe(away)
    const removing = storage.remove(key)
    expect(sampleOf(parseExposition(meters.exposition()), "tessera_swept_records_total")).toBe(0)
    return Effect.runPromise(removing.pipe(Effect.andThen(removing), Effect.andThen(storage.sweep(0, 10)))).then(() => {
      const families = parseExposition(meters.exposition())
      const count = (verb: string, outcome: string, kind = "grant") =>
        sampleOf(families, `tessera_storage_calls_total{verb="${verb}",kind="${kind}",outcome="${outcome}"}`)
      expect(count("insert", "conflict")).toBe(1)
      expect(count("replace", "unavailable")).toBe(1)
      expect(count("remove", "done")).toBe(2)
      expect(count("sweep", "done", "all")).toBe(1)
      expect(sampleOf(families, "tessera_swept_records_total")).toBe(7)
      expect(sampleOf(families, 'tessera_storage_seconds_count{verb="remove",kind="grant"}')).toBe(2)
    })
  })
})

describe("the requests' meters", () => {
  test("count what the audit is told, each refusal that a line stands for, and pass all of it on", () => {
    const meters = new Meters()
    const heard: Array<AuditEntry> = []
    const { record } = meteredAudit(meters, { record: (entry) => Effect.sync(() => void heard.push(entry)) })
    const refused = { _tag: "Refused", endpoint: "/oauth/token", refusal: "InvalidGrant", reason: "forged" } as const
    const events: ReadonlyArray<AuditEntry["event"]> = [
      refused,
      { ...refused, count: 5 },
      { _tag: "ConsentDenied", client: "c", user: UserId.make("ada") },
      { _tag: "SignedOut", account: UserId.make("ada") }
    ]
    const entries = events.map((event) => ({ at: 0, workspace: WorkspaceId.make("w"), requestId: "r", event }))
    for (const entry of entries) Effect.runSync(record(entry))
    expect(heard).toEqual(entries)
    const families = parseExposition(meters.exposition())
    expect(sumOf(families, "tessera_refusals_total")).toBe(6)
    expect(sumOf(families, "tessera_consents_total")).toBe(1)
  })

  test("stand around a store that is traced, too", async () => {
    const seen: Array<string> = []
    const below = { get: () => Effect.succeedNone } as unknown as Storage["Service"]
    const traced = (storage: Storage["Service"]): Storage["Service"] => ({
      ...storage,
      get: (key) => {
        seen.push(key.id)
        return storage.get(key)
      }
    })
    const { onlookers } = await Effect.runPromise(Effect.scoped(metering({ host: "h", port: 1, requestTimeout: 1 })))
    const { storage } = onlookers({ audit: Audit.layerNone, storage: traced })
    await Effect.runPromise(storage?.(below).get({ workspace: "w", kind: "grant", id: "a" }) ?? Effect.void)
    expect(seen).toEqual(["a"])
  })

  test("count what is under way, and what is turned away", async () => {
    const meters = new Meters()
    const answers: Array<() => void> = []
    const { serve } = meteredServe(
      meters,
      () => undefined,
      () => new Promise((resolve) => answers.push(() => resolve({ status: 200, headers: [], body: "" }))),
      2
    )
    const request = { method: "GET", path: "/", query: "", headers: { get: () => null }, body: "" }
    const waiting = [serve(request), serve(request), serve(request)]
    const during = parseExposition(meters.exposition())
    expect(sampleOf(during, "tessera_requests_in_flight")).toBe(2)
    expect(sampleOf(during, "tessera_requests_shed_total")).toBe(1)
    for (const answer of answers) answer()
    await Promise.all(waiting)
    const after = parseExposition(meters.exposition())
    expect(sampleOf(after, "tessera_requests_in_flight")).toBe(0)
    expect(sampleOf(after, 'tessera_requests_total{endpoint="none",method="GET",status="2xx"}')).toBe(2)
    expect(sampleOf(after, 'tessera_requests_total{endpoint="none",method="GET",status="5xx"}')).toBe(1)
  })
})

describe("the process's meters", () => {
  test("show a stall that was over before a scrape asked", () =>
    scoped(function* () {
      const meters = new Meters()
      yield* processMeters(meters, "0")
      const stalled = 200
      const until = performance.now() + stalled
      while (performance.now() < until);
      yield* Effect.sleep(stalled)
      const lag = sampleOf(parseExposition(meters.exposition()), "tessera_event_loop_lag_seconds")
      // It began at any moment of the 50 ms between two looks.
      expect(lag).toBeGreaterThanOrEqual((stalled - 50) / 1000)
    }))
})

describe("the reader of these tests", () => {
  const sound = "# HELP a_total b\n# TYPE a_total counter\na_total 1\n"
  test.each([
    ["no end", sound.slice(0, -1)],
    ["no help", sound.slice(sound.indexOf("\n") + 1)],
    ["two of a kind", sound + sound],
    ["another family's sample", `${sound}b_total 1\n`],
    ["a label without quotes", `${sound}a_total{b=c} 1\n`],
    ["no number", `${sound}a_total{b="c"} one\n`],
    ["the same series again", `${sound}a_total 2\n`],
    ["a histogram without its last bucket", '# HELP h b\n# TYPE h histogram\nh_bucket{le="1"} 1\nh_sum 1\nh_count 1\n'],
    [
      "counts that fall",
      '# HELP h b\n# TYPE h histogram\nh_bucket{le="1"} 2\nh_bucket{le="+Inf"} 1\nh_sum 1\nh_count 1\n'
    ]
  ])("takes no exposition with %s", (_, text) => {
    expect(() => parseExposition(text)).toThrow()
  })
})
