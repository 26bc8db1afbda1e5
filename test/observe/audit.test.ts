import { describe, expect, test } from "bun:test"
import { execFileSync } from "node:child_process"
import {
  constants,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  statSync,
  writeFileSync,
  writeSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Schema } from "effect"
import { Audit, type AuditEvent } from "../../core/ports/Audit.ts"
import { UserId } from "../../core/rules/Id.ts"
import { WorkspaceId } from "../../core/workspace/Workspace.ts"
import { AuditLine, auditStream } from "../../runtimes/observe/audit.ts"
import {
  type LineWriter,
  type LineWriterOptions,
  makeLineWriter,
  openAppending,
  serverBounds
} from "../../runtimes/server/LineWriter.ts"
import { owner } from "../given/server.ts"
import { postToken, register, Visitor } from "../given/serverVisitor.ts"
import { pollUntil } from "../harness/pollUntil.ts"
import { inFolder } from "../harness/scoped.ts"
import { command } from "../runtimes/given/tessera.ts"
import { ended, started } from "./given/serving.ts"

const decode = Schema.decodeUnknownSync(AuditLine, { onExcessProperty: "error" })

/** The events of a stream; a line that is not as it is documented fails right here. */
const eventsIn = (text: string): ReadonlyArray<AuditLine> =>
  text === ""
    ? []
    : text
        .replace(/\n$/, "")
        .split("\n")
        .map((line) => decode(JSON.parse(line)))

const redirectUri = "http://127.0.0.1:8080/callback"

type Json = Readonly<Record<string, string>>

// What the endpoints answer; a wrong shape fails what follows.
const jsonOf = async (answer: Response) => (await answer.json()) as Json

/** Everything that a person, an application and an owner may do, and every secret that was handed out meanwhile. */
const wholeLife = async (url: string) => {
  const secrets = new Set<string>([owner.password, "not the password", owner.email])
  const kept = (...texts: ReadonlyArray<string | undefined>) => {
    for (const text of texts) if (text !== undefined) secrets.add(text)
  }
  const client = await register(url, { client_name: "App", redirect_uris: [redirectUri] })
  kept(String(client.client_secret), String(client.registration_access_token))
  const by = { client_id: client.client_id, client_secret: String(client.client_secret) }
  const visitor = new Visitor(url)
  await visitor.submit("/login", { email: owner.email, password: "not the password" })
  const authorize = `${url}/oauth/authorize?${new URLSearchParams({
    response_type: "code",
    client_id: client.client_id,
    redirect_uri: redirectUri,
    state: "st"
  })}`
  const back = await visitor.decide(authorize)
  const code = back.searchParams.get("code") ?? "no code"
  kept(code, ...visitor.cookies.values())
  const redeem = { ...by, grant_type: "authorization_code", code, redirect_uri: redirectUri }
  const first = await jsonOf(await postToken(url, redeem))
  const second = await jsonOf(
    await postToken(url, { ...by, grant_type: "refresh_token", refresh_token: first.refresh_token ?? "" })
  )
  await postToken(url, { ...by, grant_type: "refresh_token", refresh_token: first.refresh_token ?? "" })
  kept(first.access_token, first.refresh_token, second.access_token, second.refresh_token)
  await postToken(url, redeem)
  await postToken(url, { ...by, client_secret: "x".repeat(43), grant_type: "client_credentials" })
  await fetch(`${url}/oauth/register/${client.client_id}`, {
    method: "DELETE",
    headers: { authorization: `Bearer ${client.registration_access_token}` }
  })
  await visitor.submit("/settings/profile", { action: "password", current_password: "not the password" })
  await visitor.submit("/settings/keys", {
    action: "create",
    name: "A key",
    expires: "never",
    confirm_password: owner.password
  })
  await visitor.submit("/logout", {})
  return { client: client.client_id, code, secrets }
}

const ownerGiven = { OWNER_EMAIL: owner.email, OWNER_PASSWORD: owner.password }

describe("the audit file", () => {
  test("tells everything that happened, a line each, and no secret; moves where it is told to", () =>
    inFolder(function* (cwd) {
      const env = { ...ownerGiven, AUDIT: "./audit.jsonl", ACCESS_LOG: "on" }
      const server = yield* started(cwd, env)
      const file = join(cwd, "audit.jsonl")
      const { client, secrets } = yield* Effect.promise(() => wholeLife(server.url))
      const made = yield* command(["key", "create", "--name", "By hand", "--json"], { cwd, env })
      // What the command prints; a wrong shape fails what follows.
      const key = JSON.parse(made.stdout) as { readonly id: string; readonly key: string }
      secrets.add(key.key)
      const added = yield* command(["user", "add", "bob@example.com"], { cwd, env, input: "a good long password\n" })
      expect(added.status).toBe(0)

      expect(
        yield* pollUntil(
          Effect.sync(() => readFileSync(file, "utf8").includes("SignedOut")),
          5000
        )
      ).toBe(true)
      const events = eventsIn(readFileSync(file, "utf8"))
      const of = <E extends AuditLine["event"]>(event: E) => events.filter((line) => line.event === event)
      expect(events.map(({ event }) => event)).toEqual([
        "AccountChanged",
        "ClientRegistered",
        "SignInFailed",
        "SignedIn",
        "ConsentGiven",
        "TokensIssued",
        "TokensIssued",
        "RefreshRetried",
        "TokensIssued",
        "GrantRevoked",
        "Refused",
        "Refused",
        "ClientDeleted",
        "AccountRefused",
        "KeyCreated",
        "SignedOut",
        "KeyCreated",
        "AccountChanged"
      ])
      expect(of("AccountChanged")).toMatchObject([
        { change: "opened", role: "owner", actor: "OWNER_EMAIL", requestId: "server" },
        { change: "opened", role: "member", actor: "command line", requestId: "command line" }
      ])
      const [consent] = of("ConsentGiven")
      const [account] = of("SignedIn").map((line) => (line.event === "SignedIn" ? line.account : ""))
      expect(consent).toMatchObject({ client, actor: account, workspace: "default", scope: "api" })
      const grant = consent?.event === "ConsentGiven" ? consent.grant : "none"
      expect(of("SignInFailed")).toMatchObject([{ reason: "wrong_password", account }])
      expect(of("TokensIssued")).toMatchObject([
        { client, grant, grantType: "authorization_code" },
        { client, grant, grantType: "refresh_token" },
        { client, grant, grantType: "refresh_token" }
      ])
      expect(of("RefreshRetried")).toMatchObject([{ client, grant, network: "same", userAgent: "same" }])
      expect(of("GrantRevoked")).toMatchObject([{ grant, reason: "code_replayed" }])
      expect(of("Refused")).toMatchObject([
        { endpoint: "/oauth/token", refusal: "InvalidGrant", reason: "code_replayed" },
        { endpoint: "/oauth/token", refusal: "InvalidClient", reason: "bad_secret" }
      ])
      expect(of("AccountRefused")).toMatchObject([{ account, change: "password", reason: "wrong_password" }])
      expect(of("KeyCreated")).toMatchObject([{ actor: account }, { actor: "command line", grant: key.id }])
      expect((statSync(file).mode & 0o777).toString(8)).toBe("600")

      renameSync(file, `${file}.1`)
      server.child.process.kill("SIGHUP")
      expect(
        yield* pollUntil(
          Effect.sync(() => statSync(file, { throwIfNoEntry: false }) !== undefined),
          5000
        )
      ).toBe(true)
      yield* Effect.promise(() => register(server.url, { client_name: "Late", redirect_uris: [redirectUri] }))
      expect(yield* ended(server, "SIGTERM")).toEqual({ status: 0, signal: null })
      expect(eventsIn(readFileSync(file, "utf8")).map(({ event }) => event)).toEqual(["ClientRegistered"])
      expect(eventsIn(readFileSync(`${file}.1`, "utf8"))).toEqual(events)
      expect((statSync(file).mode & 0o777).toString(8)).toBe("600")

      const said = [readFileSync(`${file}.1`, "utf8"), readFileSync(file, "utf8"), server.child.stderr()].join("\n")
      expect(secrets.size).toBeGreaterThan(10)
      for (const secret of secrets) {
        expect(said).not.toContain(secret)
        expect(said).not.toContain(encodeURIComponent(secret))
      }
      expect(server.child.stderr()).toContain('"message":"refused"')
      expect(server.child.stderr()).not.toContain("TokensIssued")
    }))

  const linesOf = (events: ReadonlyArray<AuditEvent>) =>
    inFolder(function* (cwd) {
      const path = join(cwd, "audit.jsonl")
      const write = Effect.gen(function* () {
        const { record } = yield* Audit
        for (const event of events) {
          yield* record({ at: 0, workspace: WorkspaceId.make("default"), requestId: "1", event })
        }
      })
      yield* Effect.provide(write, auditStream({ _tag: "File", path }))
      return eventsIn(readFileSync(path, "utf8"))
    })

  const by = UserId.make("ada")
  const of = { client: "A".repeat(22), grant: "3hGTh17j" }
  const { client, grant } = of
  /** Of each event one that says all that it can, and one that says no more than it must. */
  const samples: ReadonlyArray<AuditEvent> = [
    { _tag: "ClientRegistered", client, identifier: "https://app.example/c.json", by },
    { _tag: "ClientRegistered", client },
    { _tag: "ClientChanged", client, change: "approved", by },
    { _tag: "ClientChanged", client, change: "updated" },
    { _tag: "ClientDeleted", client, by },
    { _tag: "ClientDeleted", client },
    { _tag: "ConsentGiven", ...of, user: by, scope: "api", place: "acme", device: true, remembered: true },
    { _tag: "ConsentGiven", ...of, user: by, scope: "api" },
    { _tag: "ConsentDenied", client, user: by },
    { _tag: "TokensIssued", ...of, grantType: "refresh_token", scope: "api", secret: "0123abcd" },
    { _tag: "TokensIssued", ...of, grantType: "refresh_token", scope: "api" },
    { _tag: "OlderSecretUsed", client, endpoint: "/oauth/introspect", secret: "0123abcd" },
    { _tag: "RefreshRetried", ...of, network: "other", userAgent: "same" },
    { _tag: "GrantRevoked", grant, why: "by_owner", by },
    { _tag: "GrantRevoked", grant, why: "code_replayed" },
    { _tag: "TokenRevoked", ...of, secret: "0123abcd" },
    { _tag: "TokenRevoked", ...of },
    { _tag: "WorkspaceMoved", from: "https://a.example", to: "https://b.example", by },
    { _tag: "WorkspaceChanged", change: "disabled", by },
    { _tag: "SigningKeysChanged", change: "withdrawn", key: "k", by },
    { _tag: "LogoutCallGivenUp", client, why: "refused" },
    { _tag: "KeyCreated", grant, by },
    { _tag: "KeyRevoked", grant, by },
    { _tag: "ClientHostBlocked", host: "app.example", by },
    { _tag: "ClientHostUnblocked", host: "app.example", by },
    { _tag: "ClientDocumentsChanged", hosts: ["app.example"], by },
    { _tag: "ClientDocumentsChanged", hosts: "any", by },
    { _tag: "IssuerTrusted", issuer: "https://idp.example", by },
    { _tag: "IssuerChanged", issuer: "https://idp.example", by },
    { _tag: "IssuerRemoved", issuer: "https://idp.example", by },
    { _tag: "ResourceAdded", resource: "https://api.example", by },
    { _tag: "ResourceRemoved", resource: "https://api.example", by },
    { _tag: "AccountChanged", account: "bob", change: "opened", by, role: "member", place: "acme" },
    { _tag: "AccountChanged", account: "bob", change: "renamed", by },
    { _tag: "AccountRefused", change: "password", reason: "wrong_password", account: "bob", by },
    { _tag: "AccountRefused", change: "password", reason: "wrong_password" },
    { _tag: "SignedIn", account: "bob" },
    { _tag: "SignedOut", account: "bob" },
    { _tag: "SignInFailed", reason: "wrong_password", account: "bob" },
    { _tag: "SignInFailed", reason: "unknown" },
    { _tag: "Refused", endpoint: "/oauth/token", refusal: "InvalidGrant", reason: "forged", count: 3 },
    { _tag: "Refused", endpoint: "/oauth/token", refusal: "InvalidGrant", reason: null }
  ]

  /** What is called otherwise in a line. */
  const renamed: Readonly<Record<string, string>> = { _tag: "event", by: "actor", user: "actor", why: "reason" }

  test("tells all that an event says, and nothing that it does not", async () => {
    const told = new Set(samples.map(({ _tag }) => _tag as string))
    const events = AuditLine.members.map(({ fields }) => fields.event.literal as string)
    // That one is of no event: it stands for some that could not be written.
    expect([...told, "EventsLost"].toSorted()).toEqual(events.toSorted())
    const time = "1970-01-01T00:00:00.000Z"
    expect<ReadonlyArray<unknown>>(await linesOf(samples)).toEqual(
      samples.map((event) => ({
        time,
        workspace: "default",
        requestId: "1",
        ...Object.fromEntries(Object.entries(event).map(([name, value]) => [renamed[name] ?? name, value]))
      }))
    )
  })

  test("begins with a line of its own where the last one was cut off", () =>
    inFolder(function* (cwd) {
      const file = join(cwd, "audit.jsonl")
      const cutOff = '{"time":"2026-'
      writeFileSync(file, cutOff)
      const server = yield* started(cwd, { AUDIT: "./audit.jsonl" })
      yield* Effect.promise(() => register(server.url, { client_name: "App", redirect_uris: [redirectUri] }))
      // It is written in the background, and a kill does not wait for that.
      const noted = Effect.sync(() => readFileSync(file, "utf8").endsWith("}\n"))
      expect(yield* pollUntil(noted, 5000)).toBe(true)
      yield* ended(server, "SIGKILL")
      yield* ended(yield* started(cwd, { ...ownerGiven, AUDIT: "./audit.jsonl" }), "SIGTERM")
      const [first, ...lines] = readFileSync(file, "utf8").split("\n")
      expect(first).toBe(cutOff)
      expect(eventsIn(lines.join("\n")).map(({ event }) => event)).toEqual([
        "ClientRegistered",
        // It listens at another port, and so by another name.
        "WorkspaceMoved",
        "AccountChanged"
      ])
    }))

  test("that can't be written stops no request, and is said once", () =>
    inFolder(function* (cwd) {
      const server = yield* started(cwd, { AUDIT: "/dev/full" })
      for (let turn = 0; turn < 3; turn++) {
        yield* Effect.promise(() => register(server.url, { client_name: "App", redirect_uris: [redirectUri] }))
      }
      yield* Effect.promise(() => server.child.says(/the audit file \/dev\/full can't be written: ENOSPC/))
      expect(yield* ended(server, "SIGTERM")).toEqual({ status: 0, signal: null })
      expect(server.child.stderr().match(/can't be written/g)?.length).toBe(1)
      expect(server.child.stderr()).toMatch(/"eventsLost":3,.*could not be finished/)
    }))

  test.each([
    [
      "./nowhere/audit.jsonl",
      "AUDIT: expected a file that can be appended to, and ./nowhere/audit.jsonl has no folder"
    ],
    ["stdot", "AUDIT: expected log, off, stdout, or the path of a file with a slash in it, such as ./audit.jsonl"]
  ])("can't be %s, and the start says so", (AUDIT, complaint) =>
    inFolder(function* (cwd) {
      const { status, stderr } = yield* command(["serve"], { cwd, env: { AUDIT } })
      expect([stderr.trim(), status]).toEqual([complaint, 2])
    })
  )
  test("may be a pipe, and the start says so where no process reads it", () =>
    inFolder(function* (cwd) {
      execFileSync("mkfifo", [join(cwd, "pipe")])
      const { status, stderr } = yield* command(["serve"], { cwd, env: { AUDIT: "./pipe" } })
      expect(stderr).toContain(
        "AUDIT: expected a file that can be appended to, and ./pipe has no reader, or is a socket"
      )
      expect(status).toBe(2)
    }))
})

describe("the audit stream on standard output", () => {
  test("has it to itself, and leaves it to the answers of commands", () =>
    inFolder(function* (cwd) {
      const env = { AUDIT: "stdout" }
      const server = yield* started(cwd, env)
      yield* Effect.promise(() => register(server.url, { client_name: "App", redirect_uris: [redirectUri] }))
      const made = yield* command(["key", "create", "--name", "K", "--json"], { cwd, env })
      expect(Object.keys(JSON.parse(made.stdout))).toContain("key")
      expect(eventsIn(made.stderr)).toMatchObject([{ event: "KeyCreated", actor: "command line" }])
      expect(yield* ended(server, "SIGTERM")).toEqual({ status: 0, signal: null })
      expect(eventsIn(server.child.stdout()).map(({ event }) => event)).toEqual(["ClientRegistered"])
      expect(server.child.stderr()).toContain("listening on")
    }))
})

const writerIn = (own: Partial<LineWriterOptions> = {}) => {
  const path = join(mkdtempSync(join(tmpdir(), "lines-")), "lines")
  const said: Array<string> = []
  const options: LineWriterOptions = {
    open: () => openAppending(path),
    close: () => undefined,
    say: (trouble) => said.push(trouble._tag === "Failed" ? trouble.code : trouble._tag),
    lostLine: (count) => `lost ${count}`,
    room: 1000,
    retryMillis: 1,
    patienceMillis: 60_000,
    ...own
  }
  const lines = () => readFileSync(path, "utf8").split("\n").slice(0, -1)
  return { path, said, options, lines }
}

describe("a writer of lines", () => {
  test("goes on where it was after a failure, loses only what finds no room, and says how much", async () => {
    let broken = true
    const { path, said, options, lines } = writerIn({
      room: 10,
      open: () => (broken ? Promise.reject(Object.assign(new Error(), { code: "EIO" })) : openAppending(path))
    })
    writeFileSync(path, "")
    // Open for reading alone, so that every write fails as on a broken disk.
    const writer = makeLineWriter(openSync(path, "r"), options)
    writer.write("one")
    expect(
      await Effect.runPromise(
        pollUntil(
          Effect.sync(() => said.length > 0),
          5000
        )
      )
    ).toBe(true)
    for (const line of ["two", "three", "four", "five"]) writer.write(line)
    expect(lines()).toEqual([])
    broken = false
    expect(
      await Effect.runPromise(
        pollUntil(
          Effect.sync(() => lines().length > 2),
          5000
        )
      )
    ).toBe(true)
    writer.write("six")
    expect(await writer.flush()).toBe(0)
    expect(lines()).toEqual(["one", "two", "three", "lost 2", "six"])
    expect(said).toEqual(["EBADF", "Over"])
  })

  test("says at the end what found no room, where nothing came after it", async () => {
    const { path, options, lines } = writerIn({ room: 10 })
    const writer = makeLineWriter(await openAppending(path), options)
    writer.write("one")
    writer.write("longer than all the room")
    expect(await writer.flush()).toBe(0)
    expect(lines()).toEqual(["one", "lost 1"])
  })

  test("keeps the order of what comes at once", async () => {
    const { path, options, lines } = writerIn({ room: 1_000_000 })
    const writer = makeLineWriter(await openAppending(path), options)
    const all = Array.from({ length: 2000 }, (_, at) => `line ${at}`)
    for (const [at, line] of all.entries()) {
      writer.write(line)
      if (at % 500 === 0) await Promise.resolve()
    }
    expect(await writer.flush()).toBe(0)
    expect(lines()).toEqual(all)
  })

  /** A file that takes a part of a long line and no more until it is read, as a disk does that is nearly full. */
  const pipe = () => {
    const path = join(mkdtempSync(join(tmpdir(), "lines-")), "pipe")
    execFileSync("mkfifo", [path])
    const opened = () => openSync(path, constants.O_RDWR | constants.O_NONBLOCK)
    const reader = opened()
    let read = Buffer.alloc(0)
    const take = (size: number) => {
      const some = Buffer.alloc(size)
      read = Buffer.concat([read, some.subarray(0, readSync(reader, some))])
    }
    const tryTake = (size: number) => {
      try {
        take(size)
      } catch (thrown) {
        // There is nothing in it at the moment.
        expect(thrown).toMatchObject({ code: "EAGAIN" })
      }
    }
    /** What was written, once it holds this; so many bytes are read at a time. */
    const reads = async (text: string, size: number) => {
      const holds = Effect.sync(() => {
        tryTake(size)
        return read.includes(text)
      })
      expect(await Effect.runPromise(pollUntil(holds, 5000))).toBe(true)
      return read.toString()
    }
    return { opened, reads, take, tryTake, taken: () => read.length }
  }
  const long = "long".repeat(50_000)

  test("begins a line anew in another file, and repeats none that was whole", async () => {
    const { opened, reads } = pipe()
    const { options, lines } = writerIn({ room: 1_000_000 })
    const writer = makeLineWriter(opened(), options)
    for (const line of ["first", "second", long]) writer.write(line)
    // No more than that, so that there is no room for the rest.
    await reads("first\nsecond\n", 13)
    writer.reopen()
    writer.write("last")
    expect(await writer.flush()).toBe(0)
    expect(lines()).toEqual([long, "last"])
  })

  test("goes on within a line where the file that it opens is the same", async () => {
    const { opened, reads } = pipe()
    const { options } = writerIn({ room: 1_000_000, open: async () => opened() })
    const writer = makeLineWriter(opened(), options)
    writer.write(long)
    writer.reopen()
    writer.write("last")
    expect(await reads("\nlast\n", 100_000)).toBe(`${long}\nlast\n`)
    expect(await writer.flush()).toBe(0)
  })

  test("tears no line, where a slow reader is written to by another process, too", async () => {
    const { opened, reads, take } = pipe()
    const { options } = writerIn({ room: 1_000_000 })
    const writer = makeLineWriter(opened(), options)
    const all = Array.from({ length: 2000 }, (_, at) => `line ${at} ${"é".repeat(50)}`)
    for (const line of all) writer.write(line)
    // By then the pipe is full, and the rest waits.
    await reads("line 1 ", 1000)
    take(10_000)
    writeSync(opened(), "another's\n")
    const written = (await reads(`${all.at(-1)}\n`, 100_000)).split("\n").slice(0, -1)
    expect(await writer.flush()).toBe(0)
    expect(written).toContain("another's")
    expect(written.filter((line) => line !== "another's")).toEqual(all)
  })

  /** What every turn of a busy server's event loop has to say, and how long it is. */
  const busyTurns = async (writer: LineWriter, read: (written: number) => Promise<void>) => {
    const line = "line".repeat(50)
    for (let turn = 0; turn < 250; turn++) {
      for (let i = 0; i < 270; i++) writer.write(line)
      await read((turn + 1) * 270 * (line.length + 1))
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1)
      await new Promise((resolve) => setImmediate(resolve))
    }
    return 250 * 270
  }

  test("loses nothing for want of room, however busy the server is, in a file", async () => {
    const { path, options, lines } = writerIn({ room: serverBounds.room })
    const writer = makeLineWriter(await openAppending(path), options)
    const count = await busyTurns(writer, async () => undefined)
    expect(await writer.flush()).toBe(0)
    expect(lines()).toHaveLength(count)
  })

  test("nor at a pipe whose reader keeps up", async () => {
    const { opened, reads, taken, tryTake } = pipe()
    const { options } = writerIn({ room: serverBounds.room })
    const writer = makeLineWriter(opened(), options)
    // It keeps up as long as less is on its way than there is room for, however late a thread gets its turn.
    const count = await busyTurns(writer, async (written) => {
      do {
        tryTake(200_000)
        await new Promise((resolve) => setImmediate(resolve))
      } while (written - taken() > serverBounds.room / 2)
    })
    writer.write("last")
    const flushed = writer.flush()
    expect((await reads("\nlast\n", 200_000)).split("\n")).toHaveLength(count + 2)
    expect(await flushed).toBe(0)
  })

  const anHour = 60 * 60 * 1000

  test("waits for no failure's pause where a reader is only slow", async () => {
    const { opened, reads } = pipe()
    const { options, said } = writerIn({ room: 1_000_000, retryMillis: anHour })
    const writer = makeLineWriter(opened(), options)
    writer.write(long)
    writer.write("last")
    expect(await reads("\nlast\n", 100_000)).toBe(`${long}\nlast\n`)
    expect(await writer.flush()).toBe(0)
    expect(said).toEqual([])
  })

  test("goes on at the end as long as a reader reads", async () => {
    const { opened, reads } = pipe()
    const { options } = writerIn({ room: 1_000_000, retryMillis: anHour })
    const writer = makeLineWriter(opened(), options)
    writer.write(long)
    writer.write("last")
    const flushed = writer.flush()
    expect(await reads("\nlast\n", 100_000)).toBe(`${long}\nlast\n`)
    expect(await flushed).toBe(0)
  })

  test("waits no longer than it is told to for a reader that does not read", async () => {
    const { opened } = pipe()
    const { options } = writerIn({ room: 1_000_000, patienceMillis: 50 })
    const writer = makeLineWriter(opened(), options)
    writer.write(long)
    writer.write("last")
    expect(await writer.flush()).toBe(2)
  })

  test("says once that lines are lost to a reader that is too slow, and once that it has caught up", async () => {
    const { opened, reads } = pipe()
    const { options, said } = writerIn({ room: long.length })
    const writer = makeLineWriter(opened(), options)
    writer.write(long)
    // The writer has taken it, so that there is room behind it.
    await reads("long", 4)
    for (const line of ["first", long, long]) writer.write(line)
    expect(said).toEqual(["Full"])
    await reads("\nfirst\n", 10_000)
    writer.write("last")
    await reads("\nlost 2\nlast\n", 10_000)
    expect(await writer.flush()).toBe(0)
    expect(said).toEqual(["Full", "Over"])
  })

  test("gives back each file that it leaves, and the last one at its end", async () => {
    const { path, options, lines } = writerIn()
    const opened: Array<number> = []
    const closed: Array<number> = []
    const open = async () => {
      const file = await openAppending(path)
      opened.push(file)
      return file
    }
    const writer = makeLineWriter(await open(), { ...options, open, close: (file) => void closed.push(file) })
    writer.write("one")
    writer.reopen()
    writer.write("two")
    const holds = Effect.sync(() => opened.length === 2 && lines().length === 2)
    expect(await Effect.runPromise(pollUntil(holds, 5000))).toBe(true)
    expect(closed).toEqual(opened.slice(0, 1))
    expect(await writer.flush()).toBe(0)
    expect(closed).toEqual(opened)
  })

  test("writes nothing twice where two ask it to end, as a signal does while a crash is told", async () => {
    const { path, said, options, lines } = writerIn({ retryMillis: anHour })
    writeFileSync(path, "")
    const writer = makeLineWriter(openSync(path, "r"), options)
    writer.write("one")
    const failed = Effect.sync(() => said.length > 0)
    expect(await Effect.runPromise(pollUntil(failed, 5000))).toBe(true)
    writer.write("two")
    expect(await Promise.all([writer.flush(), writer.flush()])).toEqual([0, 0])
    expect(lines()).toEqual(["one", "two"])
  })

  test("counts at the end each that found no room, and not the line alone that was to tell of them", async () => {
    const { path, options } = writerIn({ room: 20, open: () => Promise.reject(new Error("gone")) })
    writeFileSync(path, "")
    const writer = makeLineWriter(openSync(path, "r"), options)
    for (const line of ["one", "two", "longer than all the room", "longer than all the room", "three"])
      writer.write(line)
    expect(await writer.flush()).toBe(5)
  })

  test("counts at the end what it could not write", async () => {
    const { path, options } = writerIn({ open: () => Promise.reject(new Error("gone")) })
    writeFileSync(path, "")
    const writer = makeLineWriter(openSync(path, "r"), options)
    writer.write("one")
    writer.write("two")
    expect(await writer.flush()).toBe(2)
  })
})
