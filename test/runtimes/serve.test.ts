import { describe, expect, test } from "bun:test"
import { execFileSync } from "node:child_process"
import {
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  statSync,
  writeSync
} from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import { Effect } from "effect"
import { serverProgram } from "../given/serverProgram.ts"
import { freePort } from "../harness/freePort.ts"
import { node, node22, postgresUrl, redisUrl } from "../harness/given.ts"
import { pollUntil } from "../harness/pollUntil.ts"
import { plainEnvironment, runProgram } from "../harness/runProgram.ts"
import { inFolder } from "../harness/scoped.ts"
import { type Child, startChild } from "./given/Child.ts"
import { nodeBuild } from "./given/nodeBuild.ts"
import { command, tessera } from "./given/tessera.ts"
import { head, open, sendTo, untilClosed } from "./given/wire.ts"

interface Started {
  readonly child: Child
  readonly url: string
}

/** A server of the test's own, once it says that it listens. */
const started = (cwd: string, env: Readonly<Record<string, string>> = {}) =>
  Effect.gen(function* () {
    const port = env.PORT ?? String(yield* freePort)
    const child = yield* tessera(["serve"], { cwd, env: { PORT: port, ...env } })
    yield* Effect.promise(() => child.says(/listening on\s+http/))
    return { child, url: `http://127.0.0.1:${port}` } satisfies Started
  })

const killed = ({ child }: Started, signal: NodeJS.Signals) =>
  Effect.promise(() => {
    child.process.kill(signal)
    return child.ended
  })

const isRefused = (url: string) =>
  Effect.promise(() =>
    fetch(url).then(
      () => false,
      () => true
    )
  )

interface Machine {
  readonly client_id: string
  readonly client_secret: string
}

const post = (url: string, path: string, body: string | URLSearchParams, type?: string) =>
  Effect.promise(() =>
    fetch(url + path, { method: "POST", body, ...(type === undefined ? {} : { headers: { "content-type": type } }) })
  )

const register = Effect.fnUntraced(function* (url: string) {
  const body = JSON.stringify({ grant_types: ["client_credentials"], token_endpoint_auth_method: "client_secret_post" })
  const response = yield* post(url, "/oauth/register", body, "application/json")
  expect(response.status).toBe(201)
  // What a registration answers; a wrong shape fails what follows.
  return (yield* Effect.promise(() => response.json())) as Machine
})

const tokenOf = Effect.fnUntraced(function* (url: string, { client_id, client_secret }: Machine) {
  const fields = new URLSearchParams({ grant_type: "client_credentials", client_id, client_secret })
  const response = yield* post(url, "/oauth/token", fields)
  expect(response.status).toBe(200)
  // What the token endpoint answers; a wrong shape fails what follows.
  return ((yield* Effect.promise(() => response.json())) as { readonly access_token: string }).access_token
})

const textOf = (url: string) => Effect.promise(async () => (await fetch(url)).text())

const companiesStatus = (url: string, token: string) =>
  Effect.promise(async () => {
    const response = await fetch(`${url}/rest/companies`, { headers: { authorization: `Bearer ${token}` } })
    await response.text()
    return response.status
  })

/** A body that is too large by its length, one that turns out so, and one that is cut off. */
const notesWhatItTurnsAway = Effect.fnUntraced(function* (url: string, child: Child, metricsPort: number) {
  const port = Number(new URL(url).port)
  const large = "a".repeat(70_000)
  const announced = yield* post(url, "/oauth/token?secret=in-the-query", large)
  const pieces = open(port)
  const answered = untilClosed(pieces)
  pieces.write(head({ method: "POST", target: "/oauth/revoke", headers: [["transfer-encoding", "chunked"]] }))
  pieces.write(`${large.length.toString(16)}\r\n${large}\r\n`)
  const raw = (yield* Effect.promise(() => answered)).toString()
  const cut = open(port)
  cut.write(`${head({ method: "POST", target: "/oauth/introspect", headers: [["content-length", "10"]] })}abc`)
  cut.end()
  expect([announced.status, raw.slice(9, 12)]).toEqual([413, "413"])

  const noted = (path: string) =>
    Effect.map(
      Effect.promise(() => child.says(new RegExp(`.*"path":"${path}".*`))),
      ([line]) => JSON.parse(line)
    )
  expect(yield* noted("/oauth/token")).toMatchObject({
    message: "request",
    method: "POST",
    status: 413,
    peer: "127.0.0.1",
    requestId: announced.headers.get("x-request-id")
  })
  expect(yield* noted("/oauth/revoke")).toMatchObject({ status: 413 })
  expect(yield* noted("/oauth/introspect")).toMatchObject({ status: 400 })
  expect(child.stderr()).not.toContain("in-the-query")
  const text = yield* textOf(`http://127.0.0.1:${metricsPort}/metrics`)
  for (const path of ["/oauth/token", "/oauth/revoke", "/oauth/introspect"]) {
    expect(text).toContain(`tessera_requests_total{endpoint="${path}",method="POST",status="4xx"} 1`)
  }
})

/** A log without a reader until it is told to read. */
const unreadLog = (cwd: string) => {
  const path = join(cwd, "log")
  execFileSync("mkfifo", [path])
  const reader = openSync(path, constants.O_RDWR | constants.O_NONBLOCK)
  const some = Buffer.alloc(1024 * 1024)
  const lines: Array<string> = []
  let rest = ""
  /** All lines so far: whatever is in it is read, a pipe's worth at a time. */
  const reads = (): ReadonlyArray<string> => {
    try {
      for (;;) {
        const [first = "", ...more] = some.toString("utf8", 0, readSync(reader, some)).split("\n")
        const whole = [rest + first, ...more]
        rest = whole.pop() ?? ""
        lines.push(...whole)
      }
    } catch (thrown) {
      // There is nothing in it at the moment.
      expect(thrown).toMatchObject({ code: "EAGAIN" })
    }
    return lines
  }
  return { path, reads }
}

/** What a pipe holds, many times. */
const someLines = 60

/** More than is kept for a reader. */
const tooManyLines = 1200

type Environment = Readonly<Record<string, string>>

const answersWhoeverReads = (cwd: string, program: string, args: ReadonlyArray<string>, env: Environment) =>
  Effect.gen(function* () {
    const log = unreadLog(cwd)
    const port = yield* freePort
    const child = yield* startChild("/bin/sh", ["-c", 'exec "$@" 2> "$LOG"', "sh", program, ...args], {
      cwd,
      env: { ...env, ACCESS_LOG: "on", DATABASE_URL: "memory:", LOG: log.path, PORT: String(port) }
    })
    yield* Effect.promise(() => child.says(/listening on\s+http/))
    const path = `/${"a".repeat(4000)}`
    const ask = (times: number) =>
      Effect.forEach(Array(times), () => Effect.promise(() => sendTo(port)({ method: "GET", target: path })), {
        concurrency: 20
      })
    const noted = () => log.reads().filter((line) => line.includes(path)).length
    const eventually = (holds: () => boolean) => pollUntil(Effect.sync(holds), 20_000)

    expect((yield* ask(someLines)).every(({ status }) => status === 404)).toBe(true)
    expect(yield* eventually(() => noted() === someLines)).toBe(true)

    expect((yield* ask(tooManyLines)).every(({ status }) => status === 404)).toBe(true)
    const lost = () => {
      const [count = "0"] = log.reads().flatMap((line) => /"linesLost":(\d+)/.exec(line)?.[1] ?? [])
      return Number(count)
    }
    expect(yield* eventually(() => noted() > someLines + 100)).toBe(true)
    yield* ask(1)
    expect(yield* eventually(() => lost() > 0 && noted() + lost() === someLines + tooManyLines + 1)).toBe(true)
    // A line that is no JSON fails right here.
    for (const line of log.reads()) JSON.parse(line)

    yield* ask(someLines)
    child.process.kill("SIGTERM")
    expect(yield* Effect.promise(() => child.ended)).toEqual({ status: 0, signal: null })
  })

describe("tessera serve", () => {
  test("needs nothing, says where everything is, and prints a first command that works", () =>
    inFolder(function* (cwd) {
      const { child, url } = yield* started(cwd)
      const said = child.stdout()
      expect(said).toContain(`listening on  ${url}`)
      expect(said).toContain(`issuer        ${url}`)
      expect(said).toContain("SQLite in ./data/tessera.db")
      expect(said).toContain("./data/tessera.db.keys (just made; back it up)")
      const link = /http:\S+\/set-up\?token=\S+/.exec(said)?.[0] ?? ""
      expect((yield* Effect.promise(() => fetch(link))).status).toBe(200)

      const curl = said.slice(said.indexOf("curl"))
      const ran = yield* runProgram("sh", ["-c", curl], { cwd, env: plainEnvironment })
      expect(JSON.parse(ran.stdout)).toMatchObject({ client_name: "My app" })

      const modes = readdirSync(join(cwd, "data")).map((name) => [
        name,
        (statSync(join(cwd, "data", name)).mode & 0o777).toString(8)
      ])
      expect(Object.fromEntries(modes)).toMatchObject({ "tessera.db": "600", "tessera.db.keys": "600" })
      expect(child.stderr()).not.toContain(link.split("=")[1] ?? "no token")
    }))

  test("has after kill -9 what it acknowledged before", () =>
    inFolder(function* (cwd) {
      const before = yield* started(cwd)
      const client = yield* register(before.url)
      const token = yield* tokenOf(before.url, client)
      expect((yield* killed(before, "SIGKILL")).signal).toBe("SIGKILL")

      const after = yield* started(cwd, { BASE_URL: before.url })
      expect(yield* companiesStatus(after.url, token)).toBe(200)
      expect(yield* companiesStatus(after.url, yield* tokenOf(after.url, client))).toBe(200)
      expect(after.child.stdout()).not.toContain("just made")
    }))

  test("makes no other seal keys where those of its database are gone, and is itself again once they are back", () =>
    inFolder(function* (cwd) {
      const before = yield* started(cwd)
      const client = yield* register(before.url)
      const token = yield* tokenOf(before.url, client)
      yield* killed(before, "SIGTERM")
      const [keys, away] = ["tessera.db.keys", "away.keys"].map((name) => join(cwd, "data", name)) as [string, string]
      renameSync(keys, away)

      const env = { PORT: new URL(before.url).port, BASE_URL: before.url }
      for (const args of [["serve"], ["client", "list"]]) {
        const refused = yield* command(args, { cwd, env })
        expect(refused.status).toBe(1)
        expect(refused.stderr).toContain("./data/tessera.db.keys is missing")
        expect(existsSync(keys)).toBe(false)
      }
      expect((yield* command(["client", "list"], { cwd, env: { ...env, SEAL_KEYS: "A".repeat(43) } })).status).toBe(0)

      renameSync(away, keys)
      const after = yield* started(cwd, env)
      expect(yield* companiesStatus(after.url, token)).toBe(200)
    }))

  test("says at a start that others can read the seal keys", () =>
    inFolder((cwd) =>
      Effect.gen(function* () {
        const keys = join(cwd, "data/tessera.db.keys")
        for (const [mode, lines] of [
          [undefined, 0],
          [0o644, 1],
          [0o600, 0]
        ] as const) {
          if (mode !== undefined) chmodSync(keys, mode)
          const server = yield* started(cwd)
          yield* killed(server, "SIGTERM")
          expect([
            mode,
            server.child
              .stderr()
              .split("\n")
              .filter((line) => line.includes("chmod 600")).length
          ]).toEqual([mode, lines])
        }
      })
    ))

  test("has noted by its end what was used just before", () =>
    inFolder(function* (cwd) {
      const server = yield* started(cwd)
      const env = { PORT: new URL(server.url).port }
      const made = yield* command(["key", "create", "--name", "Script", "--json"], { cwd, env })
      // What the command prints; a wrong shape fails what follows.
      const { key } = JSON.parse(made.stdout) as { readonly key: string }
      expect(yield* companiesStatus(server.url, key)).toBe(200)
      yield* killed(server, "SIGTERM")
      const { stdout } = yield* command(["key", "list", "--json"], { cwd, env })
      expect(JSON.parse(stdout)).toMatchObject([{ name: "Script", last_used_at: expect.any(String) }])
    }))

  test("prints the set-up link only while no person has an account", () =>
    inFolder(function* (cwd) {
      const password = "correct horse battery staple"
      const first = yield* started(cwd, { OWNER_EMAIL: "ada@example.com", OWNER_PASSWORD: password })
      expect(first.child.stdout()).not.toContain("set-up")
      expect(first.child.stdout() + first.child.stderr()).not.toContain(password)
      expect((yield* killed(first, "SIGTERM")).status).toBe(0)
      const second = yield* started(cwd)
      expect(second.child.stdout()).not.toContain("set-up")
      expect((yield* command(["user", "list"], { cwd })).stdout).toContain("ada@example.com")
    }))

  test("refuses an owner's password that is none, by the variable's name", () =>
    inFolder(function* (cwd) {
      const wanted = { short: "of at least 10", "1234567890": "that is not among the first" }
      for (const [password, words] of Object.entries(wanted)) {
        const env = { OWNER_EMAIL: "ada@example.com", OWNER_PASSWORD: password, PORT: String(yield* freePort) }
        const { status, stderr } = yield* command(["serve"], { cwd, env })
        expect(stderr).toContain(`OWNER_PASSWORD: expected a password ${words}`)
        expect(status).toBe(2)
      }
    }))

  test.each(["SIGTERM", "SIGINT"] as const)("ends with 0 on %s", (signal) =>
    inFolder(function* (cwd) {
      const server = yield* started(cwd)
      yield* register(server.url)
      expect(yield* killed(server, signal)).toEqual({ status: 0, signal: null })
      // The last one out has folded the write-ahead log back into the file.
      expect(existsSync(join(cwd, "data/tessera.db-wal"))).toBe(false)
    })
  )

  test("ends at once when it is told twice", () =>
    inFolder(function* (cwd) {
      const server = yield* started(cwd, { SHUTDOWN_TIMEOUT: "1 hour", REQUEST_TIMEOUT: "200 seconds" })
      const half = open(Number(new URL(server.url).port))
      const beginning = head({ method: "POST", target: "/oauth/token", headers: [["content-length", "10"]] })
      yield* Effect.callback<void>((resume) => void half.write(beginning, () => resume(Effect.void)))
      // It is with the system now. The server has read it once it has answered a later request.
      yield* register(server.url)
      server.child.process.kill("SIGTERM")
      expect(yield* pollUntil(isRefused(server.url), 10_000)).toBe(true)
      expect((yield* killed(server, "SIGTERM")).status).toBe(1)
      half.destroy()
    }))

  test("takes a workspace from no other address of this machine, where it cannot listen", () =>
    inFolder(function* (cwd) {
      const [former, taken, free] = yield* Effect.all([freePort, freePort, freePort])
      const other = createServer()
      yield* Effect.addFinalizer(() => Effect.sync(() => other.close()))
      yield* Effect.callback<void>((resume) => void other.listen(taken, "127.0.0.1", () => resume(Effect.void)))
      yield* Effect.scoped(Effect.andThen(started(cwd, { PORT: String(former) }), Effect.void))
      for (const ports of [{ PORT: taken }, { PORT: free, METRICS: taken }]) {
        const env = Object.fromEntries(Object.entries(ports).map(([name, port]) => [name, String(port)]))
        const { status, stderr } = yield* command(["serve"], { cwd, env: { ...env, AUDIT: "./audit.jsonl" } })
        expect([status, stderr]).toEqual([1, expect.stringContaining(`port ${taken}`)])
        expect(existsSync(join(cwd, "audit.jsonl")) ? readFileSync(join(cwd, "audit.jsonl"), "utf8") : "").toBe("")
      }
    }))

  test("says so when the port is taken", () =>
    inFolder(function* (cwd) {
      const port = yield* freePort
      const other = createServer()
      yield* Effect.addFinalizer(() => Effect.sync(() => other.close()))
      yield* Effect.callback<void>((resume) => void other.listen(port, "127.0.0.1", () => resume(Effect.void)))
      const { status, stderr } = yield* command(["serve"], { cwd, env: { PORT: String(port) } })
      expect(stderr).toContain(`can't listen on 127.0.0.1 port ${port}`)
      expect(stderr).toContain("set PORT")
      expect(status).toBe(1)
    }))

  test("says so when another of its kind has the port, and leaves it to that one", () =>
    inFolder(function* (cwd) {
      const first = yield* started(cwd)
      const env = { PORT: new URL(first.url).port, DATABASE_URL: "memory:" }
      const { status, stderr } = yield* command(["serve"], { cwd, env })
      expect(stderr).toContain(env.PORT)
      expect(status).toBe(1)
      yield* register(first.url)
    }))

  test("logs one line of JSON for each event, with the request's id and without a secret", () =>
    inFolder(function* (cwd) {
      const server = yield* started(cwd, { ACCESS_LOG: "on" })
      const response = yield* post(server.url, "/oauth/register?secret=in-the-query", "{}", "application/json")
      const requestId = response.headers.get("x-request-id") ?? "none"
      const client = yield* register(server.url)
      const token = yield* tokenOf(server.url, client)
      const jwt = `${btoa('{"alg":"ES256"}')}.${btoa('{"sub":"ada"}').replaceAll("=", "")}.AAAA`
      // Where they do not belong.
      for (const text of [client.client_secret, token, jwt]) {
        yield* Effect.promise(() => fetch(`${server.url}/oauth/register/${text}`))
      }
      yield* killed(server, "SIGTERM")
      const lines = server.child.stderr().trim().split("\n")
      // A line that is no JSON fails right here.
      const entries = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
      expect(entries.filter((entry) => entry.requestId === requestId).map((entry) => entry.message)).toEqual([
        "refused",
        "request"
      ])
      expect(entries.find((entry) => entry.message === "request")).toMatchObject({
        method: "POST",
        path: "/oauth/register",
        status: 400,
        peer: "127.0.0.1",
        level: "Info"
      })
      expect(entries.flatMap(({ path = [] }) => path)).toContain("/oauth/register/tsr_at_...")
      for (const secret of [client.client_secret, token, jwt, "in-the-query"]) {
        expect(server.child.stderr()).not.toContain(secret)
      }
    }))

  test("notes requests whose body it refused, in the access log and in the metrics", () =>
    inFolder(function* (cwd) {
      const metricsPort = yield* freePort
      const server = yield* started(cwd, { ACCESS_LOG: "on", METRICS: String(metricsPort) })
      yield* notesWhatItTurnsAway(server.url, server.child, metricsPort)
    }))

  test("answers, and ends when it is told to, also where its log has lost its reader", () =>
    inFolder((cwd) => {
      const { args, env, file } = serverProgram()
      return answersWhoeverReads(cwd, file, [...args, "serve"], env)
    }))

  test("says at its start that strangers may act for the workspace, where they can reach it and may", () =>
    inFolder(function* (folder) {
      let runs = 0
      const saidBy = Effect.fnUntraced(function* (env: Readonly<Record<string, string>>) {
        // A folder holds one issuer's workspace.
        const cwd = join(folder, String(++runs))
        mkdirSync(cwd)
        const server = yield* started(cwd, env)
        yield* killed(server, "SIGTERM")
        return server.child.stderr().includes("WORKSPACE_ACCESS=approved")
      })
      const reachable = { BASE_URL: "https://auth.example.org", WORKSPACE_ACCESS: "registered" }
      expect(yield* saidBy(reachable)).toBe(true)
      expect(yield* saidBy({})).toBe(false)
      expect(yield* saidBy({ BASE_URL: reachable.BASE_URL })).toBe(false)
      expect(yield* saidBy({ ...reachable, WORKSPACE_ACCESS: "owner" })).toBe(false)
      expect(yield* saidBy({ ...reachable, REGISTRATION: "closed" })).toBe(false)
    }))

  test("says at its start which applications act for the workspace, and why", () =>
    inFolder(function* (cwd) {
      const saidBy = Effect.fnUntraced(function* (env: Readonly<Record<string, string>>) {
        const server = yield* started(cwd, env)
        yield* killed(server, "SIGTERM")
        return /^ {2}access +(\w+): .+ \((.+)\)$/m.exec(server.child.stdout())?.slice(1)
      })
      expect(yield* saidBy({})).toEqual(["registered", expect.stringContaining("HOST")])
      expect(yield* saidBy({ HOST: "0.0.0.0" })).toEqual(["approved", expect.stringContaining("HOST")])
      expect(yield* saidBy({ WORKSPACE_ACCESS: "owner" })).toEqual([
        "owner",
        expect.stringContaining("WORKSPACE_ACCESS")
      ])
    }))

  test("lets an application act for the workspace that was approved on the command line, and no other", () =>
    inFolder(function* (cwd) {
      const env = { WORKSPACE_ACCESS: "approved" }
      const server = yield* started(cwd, env)
      const job = yield* register(server.url)
      const other = yield* register(server.url)
      const run = (...args: ReadonlyArray<string>) => command(["client", ...args], { cwd, env })
      // What a command printed; a wrong shape fails what follows.
      const shown = (text: string) => JSON.parse(text) as Readonly<Record<string, string>>
      expect(shown((yield* run("show", job.client_id, "--json")).stdout)).toMatchObject({
        workspace_access: "waiting",
        workspace_access_asked_from: "127.0.0.1",
        workspace_access_answered_by: null
      })
      expect((yield* run("list")).stdout).toContain("waiting")
      const approved = yield* run("approve", job.client_id, "--json")
      expect([approved.status, shown(approved.stdout)]).toEqual([
        0,
        { client_id: job.client_id, workspace_access: "allowed" }
      ])
      expect((yield* run("refuse", other.client_id)).status).toBe(0)
      expect(shown((yield* run("show", other.client_id, "--json")).stdout)).toMatchObject({
        workspace_access: "refused",
        workspace_access_answered_by: "command line"
      })
      expect(yield* companiesStatus(server.url, yield* tokenOf(server.url, job))).toBe(200)
      const { client_id, client_secret } = other
      const fields = new URLSearchParams({ grant_type: "client_credentials", client_id, client_secret })
      expect((yield* post(server.url, "/oauth/token", fields)).status).toBe(400)
      const made = yield* run("create", "--name", "Own", "--grant-type", "client_credentials", "--json")
      expect((yield* run("approve", shown(made.stdout).client_id ?? "")).status).toBe(4)
    }))

  test("lets an application be approved on the command line whose registration wrote nothing", () =>
    inFolder(function* (cwd) {
      const env = { WORKSPACE_ACCESS: "approved", REGISTRATION_ROWS: "at_consent" }
      const server = yield* started(cwd, env)
      const job = yield* register(server.url)
      const other = yield* register(server.url)
      expect(job.client_id).toStartWith("tsr_c_")
      const run = (...args: ReadonlyArray<string>) =>
        command(["client", ...args], { cwd, env: { ...env, BASE_URL: server.url } })
      // What a command printed; a wrong shape fails what follows.
      const shown = (text: string): unknown => JSON.parse(text)
      expect(shown((yield* run("list", "--json")).stdout)).toEqual([])
      expect(shown((yield* run("show", job.client_id, "--json")).stdout)).toMatchObject({
        client_id: job.client_id,
        workspace_access: "waiting",
        workspace_access_answered_by: null
      })
      expect((yield* run("approve", job.client_id.slice(0, -4))).status).toBe(3)
      expect(shown((yield* run("list", "--json")).stdout)).toEqual([])
      expect((yield* run("approve", job.client_id)).status).toBe(0)
      expect((yield* run("refuse", other.client_id)).status).toBe(0)
      expect(yield* companiesStatus(server.url, yield* tokenOf(server.url, job))).toBe(200)
      const { client_id, client_secret } = other
      const fields = new URLSearchParams({ grant_type: "client_credentials", client_id, client_secret })
      expect((yield* post(server.url, "/oauth/token", fields)).status).toBe(400)
      expect(shown((yield* run("list", "--json")).stdout)).toHaveLength(2)
    }))

  test("believes a proxy about the caller only where it is trusted", () =>
    inFolder(function* (cwd) {
      const peers: Array<unknown> = []
      for (const trusted of ["", "127.0.0.1"]) {
        const server = yield* started(cwd, { ACCESS_LOG: "on", TRUSTED_PROXIES: trusted })
        const headers = { "x-forwarded-for": "6.6.6.6, 203.0.113.9" }
        yield* Effect.promise(() => fetch(`${server.url}/healthz`, { headers }))
        yield* killed(server, "SIGTERM")
        // The one line of the access log.
        const entries = server.child
          .stderr()
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line) as { peer?: unknown })
        peers.push(...entries.flatMap(({ peer }) => (peer === undefined ? [] : [peer])))
      }
      expect(peers).toEqual(["127.0.0.1", "203.0.113.9"])
    }))

  test("says once that a proxy in front is not named, and the doctor that its requests came, and nothing of theirs", () =>
    inFolder(function* (cwd) {
      const env = { PORT: String(yield* freePort) }
      const findings = Effect.map(command(["doctor", "--json"], { cwd, env }), ({ stdout }) =>
        (JSON.parse(stdout) as ReadonlyArray<{ what: string; state: string; says: string }>).filter(
          ({ what }) => what === "X-Forwarded-For"
        )
      )
      const server = yield* started(cwd, {})
      const login = () =>
        fetch(`${server.url}/oauth/register`, { method: "POST", headers: { "x-forwarded-for": "203.0.113.9" } })
      yield* Effect.promise(() => fetch(`${server.url}/healthz`))
      expect(yield* findings).toEqual([])
      for (let time = 0; time < 3; time++) yield* Effect.promise(login)
      yield* killed(server, "SIGTERM")
      expect(server.child.stderr().split("TRUSTED_PROXIES").length - 1).toBe(1)
      const said = yield* findings
      expect(said).toMatchObject([{ state: "doubtful" }])
      expect(said[0]?.says).not.toContain("203.0.113.9")
    }))

  test("lets no client register without the initial access token where it asks for one", () =>
    inFolder(function* (cwd) {
      const token = "an-initial-access-token"
      const { child, url } = yield* started(cwd, { REGISTRATION: "token", REGISTRATION_TOKEN: token })
      const body = JSON.stringify({ redirect_uris: ["https://a.example/cb"] })
      expect((yield* post(url, "/oauth/register", body, "application/json")).status).toBe(401)
      const said = child.stdout()
      expect(said).not.toContain(token)
      const curl = said.slice(said.indexOf("curl"))
      const ran = yield* runProgram("sh", ["-c", curl], {
        cwd,
        env: { ...plainEnvironment, REGISTRATION_TOKEN: token }
      })
      expect(JSON.parse(ran.stdout)).toMatchObject({ client_name: "My app" })
    }))

  test("runs on what several processes share: PostgreSQL, Redis", () =>
    inFolder(function* (cwd) {
      const SEAL_KEYS = (yield* command(["seal-keys", "new"], { cwd })).stdout.trim()
      for (const DATABASE_URL of [postgresUrl(), redisUrl()]) {
        const env = {
          DATABASE_URL,
          SEAL_KEYS,
          BASE_URL: "https://auth.example.com",
          WORKSPACE_ACCESS: "registered"
        }
        const [one, two] = yield* Effect.all([started(cwd, env), started(cwd, env)])
        const client = yield* register(one.url)
        const token = yield* tokenOf(two.url, client)
        expect(yield* companiesStatus(one.url, token)).toBe(200)
        const doctor = yield* command(["doctor"], { cwd, env })
        expect(doctor.stdout).toContain("ok    storage")
        expect((yield* command(["migrate"], { cwd, env })).status).toBe(0)
      }
      expect(existsSync(join(cwd, "data"))).toBe(false)
    }))

  test("logs lines of JSON alone, also what the driver of Redis says by itself of a password that is not needed", () =>
    inFolder((cwd) =>
      Effect.gen(function* () {
        const SEAL_KEYS = (yield* command(["seal-keys", "new"], { cwd })).stdout.trim()
        const DATABASE_URL = `${redisUrl().replace("redis://", "redis://:needless@")}?prefix=needless`
        const server = yield* started(cwd, { DATABASE_URL, SEAL_KEYS })
        yield* killed(server, "SIGTERM")
        const lines = server.child.stderr().trim().split("\n")
        const told = lines.map((line) => JSON.parse(line) as { readonly level: string; readonly message: string })
        const ofPassword = told.filter(({ message }) => message.includes("does not require a password"))
        expect(new Set(ofPassword.map(({ level }) => level))).toEqual(new Set(["Warn"]))
      })
    ))

  test("says what it waits for, and gives up, where the storage is away", () =>
    inFolder(function* (cwd) {
      const SEAL_KEYS = (yield* command(["seal-keys", "new"], { cwd })).stdout.trim()
      const port = yield* freePort
      for (const DATABASE_URL of [
        `postgres://tessera:hunter2@127.0.0.1:${port}/tessera`,
        `redis://:hunter2@127.0.0.1:${port}`
      ]) {
        const env = { DATABASE_URL, SEAL_KEYS, STORAGE_TIMEOUT: "100 millis" }
        const { status, stderr } = yield* command(["serve"], { cwd, env })
        expect(stderr).toContain(String(port))
        expect(stderr).not.toContain("hunter2")
        expect(status).toBe(1)
      }
    }))
})

describe("on Node", () => {
  test("answers, and ends when it is told to, also where its log has lost its reader", () =>
    inFolder((cwd) =>
      Effect.flatMap(nodeBuild, (build) =>
        answersWhoeverReads(cwd, node(), [join(build, "runtimes/node/main.js"), "serve"], plainEnvironment)
      )
    ))

  test("ends when it is told to, though no process reads the pipe that is its audit file", () =>
    inFolder(function* (cwd) {
      const main = join(yield* nodeBuild, "runtimes/node/main.js")
      const AUDIT = join(cwd, "audit")
      execFileSync("mkfifo", [AUDIT])
      const reader = openSync(AUDIT, constants.O_RDWR | constants.O_NONBLOCK)
      expect(() => {
        for (;;) writeSync(reader, "-".repeat(4096))
      }).toThrow("EAGAIN")
      const port = yield* freePort
      const env = { ...plainEnvironment, AUDIT, DATABASE_URL: "memory:", PORT: String(port) }
      const child = yield* startChild(node(), [main, "serve"], { cwd, env })
      const url = `http://127.0.0.1:${port}`
      yield* Effect.promise(() => child.says(/listening on\s+http/))
      yield* register(url)
      expect(yield* killed({ child, url }, "SIGTERM")).toEqual({ status: 0, signal: null })
      expect(child.stderr()).toMatch(/"eventsLost":1,.*could not be finished/)
    }))

  test("notes requests whose body or target it refused, in the access log and in the metrics", () =>
    inFolder(function* (cwd) {
      const main = join(yield* nodeBuild, "runtimes/node/main.js")
      const [port, metricsPort] = [yield* freePort, yield* freePort]
      const env = {
        ...plainEnvironment,
        ACCESS_LOG: "on",
        DATABASE_URL: "memory:",
        METRICS: String(metricsPort),
        PORT: String(port),
        SHUTDOWN_TIMEOUT: "100 millis"
      }
      const child = yield* startChild(node(), [main, "serve"], { cwd, env })
      yield* Effect.promise(() => child.says(/listening on\s+http/))
      const refused = yield* Effect.promise(() => sendTo(port)({ method: "GET", target: "http://[none?secret=in-it" }))
      expect(refused.status).toBe(400)
      const noted = yield* Effect.promise(() => child.says(/.*"path":"http:[^"]*none".*/))
      expect(JSON.parse(noted[0])).toMatchObject({
        message: "request",
        method: "GET",
        status: 400,
        peer: "127.0.0.1"
      })
      expect(child.stderr()).not.toContain("in-it")
      yield* notesWhatItTurnsAway(`http://127.0.0.1:${port}`, child, metricsPort)
      const text = yield* textOf(`http://127.0.0.1:${metricsPort}/metrics`)
      expect(text).toContain('tessera_requests_total{endpoint="none",method="GET",status="4xx"} 1')

      const held = open(port)
      const welcome = new Promise((resolve) => held.once("data", resolve))
      const headers = [
        ["content-length", "10"],
        ["expect", "100-continue"]
      ] as const
      held.write(head({ method: "POST", target: "/oauth/register", headers }))
      expect(String(yield* Effect.promise(() => welcome))).toStartWith("HTTP/1.1 100")
      yield* killed({ child, url: "" }, "SIGTERM")
      expect(child.stderr()).toContain('"path":"/oauth/register","status":400')
    }))

  test("serves from SQLite where Node has it, and says what is needed where it has not", () =>
    inFolder(function* (cwd) {
      const main = join(yield* nodeBuild, "runtimes/node/main.js")
      const port = yield* freePort
      const env = { ...plainEnvironment, PORT: String(port) }
      const child = yield* startChild(node22(), [main, "serve"], { cwd, env })
      yield* Effect.promise(() => child.says(/listening on\s+http/))
      const url = `http://127.0.0.1:${port}`
      expect(yield* companiesStatus(url, yield* tokenOf(url, yield* register(url)))).toBe(200)
      child.process.kill("SIGTERM")
      expect((yield* Effect.promise(() => child.ended)).status).toBe(0)

      const version = yield* runProgram(node(), ["--version"])
      const [, major = "", minor = ""] = /v(\d+)\.(\d+)/.exec(version.stdout) ?? []
      if (Number(major) * 100 + Number(minor) >= 2213) return
      const old = yield* runProgram(node(), [main, "serve"], { cwd, env })
      expect(old.stderr).toContain("Node 22.13 or later")
      expect(old.status).toBe(1)
    }))
})
