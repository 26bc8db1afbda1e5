import { describe, expect, test } from "bun:test"
import { renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { ConfigProvider, Context, Effect, Exit, Layer, Logger, Result } from "effect"
import { TestClock } from "effect/testing"
import * as Memory from "../../adapters/memory/Memory.ts"
import { memory } from "../../adapters/memory/store.ts"
import { makeHosting } from "../../core/engine/Hosting.ts"
import type { HttpRequest } from "../../core/http/Http.ts"
import { Entropy } from "../../core/ports/Entropy.ts"
import { Storage, StorageUnavailable } from "../../core/ports/Storage.ts"
import { Workspaces } from "../../core/ports/Workspaces.ts"
import { Tessera } from "../../core/Tessera.ts"
import { parseKeyRing } from "../../core/token/KeyRing.ts"
import { Issuer, type Workspace, WorkspaceId } from "../../core/workspace/Workspace.ts"
import { application } from "../../runtimes/server/application.ts"
import { Hosted, hostedBy, hostingProblem, ownSegments, workspacesOfFile } from "../../runtimes/server/hosting.ts"
import { housekeeping, inEach } from "../../runtimes/server/housekeeping.ts"
import { newSealKey } from "../../runtimes/server/SealKeyFile.ts"
import { readSettings, type Settings } from "../../runtimes/server/Settings.ts"
import { pollUntil } from "../harness/pollUntil.ts"
import { inFolder } from "../harness/scoped.ts"

const settingsOf = (env: Record<string, string>): Settings =>
  Result.getOrThrow(
    Effect.runSync(
      Effect.result(readSettings).pipe(
        Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnvRecord(env))
      )
    )
  )

const home = settingsOf({ BASE_URL: "https://id.example" }).workspace
const workspace = (id: string, issuer: string): Workspace => ({
  id: WorkspaceId.make(id),
  issuer: Issuer.make(issuer),
  name: id
})
const acme = workspace("acme", "https://acme.example")
const path = workspace("path", "https://id.example/t/path")

const request = (host: string, path = "/oauth/token"): HttpRequest => ({
  method: "GET",
  path,
  query: "",
  headers: { get: (name) => (name === "host" ? host : undefined) },
  body: ""
})

describe("WORKSPACES", () => {
  test("is one workspace, a file or the store", () => {
    expect(settingsOf({}).hosting).toEqual({ _tag: "One" })
    expect(settingsOf({ WORKSPACES: "store" }).hosting).toEqual({ _tag: "Store" })
    expect(settingsOf({ WORKSPACES: "./workspaces.json" }).hosting).toEqual({ _tag: "File", path: "./workspaces.json" })
  })

  test("makes a server public, wherever it listens: others than this machine's are hosted", () => {
    expect(settingsOf({}).policy.workspaceAccess).toBe("registered")
    expect(settingsOf({ WORKSPACES: "store" }).policy.workspaceAccess).toBe("approved")
  })
})

describe("the server's own paths", () => {
  test("are those that its routes begin with", async () => {
    const settings = settingsOf({})
    const database = Result.getOrThrow(memory.at("memory:"))
    const ring = Result.getOrThrow(parseKeyRing(newSealKey()))
    const segments = await Effect.runPromise(
      Tessera.pipe(
        Effect.map(({ routes }) => new Set(routes.map((route) => route.path.split("/")[1] ?? ""))),
        Effect.provide(application({ ...settings, database }, ring))
      )
    )
    segments.delete("")
    expect([...ownSegments].sort()).toEqual([...segments].sort())
  })

  test("are no workspace's", () => {
    for (const segment of ownSegments) {
      expect(hostingProblem(home, workspace("x", `https://other.example/${segment}`))).toBeDefined()
      expect(hostingProblem(home, workspace("x", `https://other.example/t/${segment}`))).toBeUndefined()
      expect(hostingProblem(home, workspace("x", `https://other.example/${segment}x`))).toBeUndefined()
    }
    expect(hostingProblem(home, { ...acme, id: home.id })).toBeDefined()
    expect(hostingProblem(home, { ...acme, issuer: home.issuer })).toBeDefined()
    expect(hostingProblem(home, acme)).toBeUndefined()
  })
})

describe("a file of workspaces", () => {
  const complaintsOf = (folder: string, text: string) => {
    const file = join(folder, "workspaces.json")
    writeFileSync(file, text)
    const read = workspacesOfFile(home, file)
    return Result.isFailure(read) ? read.failure.map((complaint) => complaint.replace(folder, "…")) : []
  }

  test("is read whole, that of BASE_URL first", () =>
    inFolder((folder) =>
      Effect.sync(() => {
        const all = [{ ...acme, theme: { accent: "#b4451f" }, disabled: true }, path]
        expect(complaintsOf(folder, JSON.stringify(all))).toEqual([])
        const read = workspacesOfFile(home, join(folder, "workspaces.json"))
        expect<unknown>(read).toEqual(Result.succeed([home, ...all]))
      })
    ))

  test("is refused with the line of each fault", () =>
    inFolder((folder) =>
      Effect.sync(() => {
        const text = [
          "[",
          '  { "id": "acme", "issuer": "https://acme.example", "name": "Acme" },',
          '  { "id": "acme", "issuer": "https://other.example", "name": "Other" },',
          '  { "id": "same", "issuer": "https://acme.example", "name": "Same" },',
          '  { "id": "default", "issuer": "https://x.example", "name": "Mine" },',
          '  { "id": "mine", "issuer": "https://id.example", "name": "Mine" },',
          '  { "id": "path", "issuer": "https://id.example/oauth", "name": "Path" }',
          "]"
        ].join("\n")
        const lines = complaintsOf(folder, text).map((complaint) => /line (\d+)/.exec(complaint)?.[1])
        expect(lines).toEqual(["3", "4", "5", "6", "7"])
        const typed = complaintsOf(folder, '[{ "id": "a",\n "issuer": "http://a.example",\n "nam": "x" }]')
        expect(typed.map((complaint) => /line (\d+)/.exec(complaint)?.[1]).toSorted()).toEqual(["1", "2", "3"])
        expect(complaintsOf(folder, `[${Array.from({ length: 50 }, () => "1").join(",")}]`)).toHaveLength(21)
      })
    ))

  test("refuses a start where it cannot be used", () =>
    inFolder(function* (folder) {
      const settings = settingsOf({ WORKSPACES: join(folder, "none.json") })
      const exit = yield* Effect.exit(
        Layer.build(hostedBy(settings).pipe(Layer.provide([Memory.layer, Entropy.layer])))
      )
      expect(Exit.isFailure(exit)).toBe(true)
    }))

  test("is read again when it changes, and stays as it was where it cannot be", () =>
    inFolder(function* (folder) {
      const file = join(folder, "workspaces.json")
      const put = (text: string) => {
        // As containers do it: another file takes the name.
        writeFileSync(`${file}.new`, text)
        renameSync(`${file}.new`, file)
      }
      put(JSON.stringify([acme]))
      const log: Array<string> = []
      const logger = Logger.make(({ message }) => void log.push(JSON.stringify(message)))
      const settings = settingsOf({ BASE_URL: "https://id.example", WORKSPACES: file })
      yield* Effect.gen(function* () {
        const context = yield* Layer.build(hostedBy(settings).pipe(Layer.provide([Memory.layer, Entropy.layer])))
        const { resolve } = Context.get(context, Workspaces)
        const { each, find, follow } = Context.get(context, Hosted)
        yield* Effect.forkChild(follow, { startImmediately: true })
        const idAt = (host: string, at?: string): string | undefined => resolve(request(host, at))?.id
        const settle = (until: () => boolean) =>
          pollUntil(Effect.andThen(TestClock.adjust("5 seconds"), Effect.sync(until)), 10_000)
        const first = resolve(request("acme.example"))
        expect<unknown>([first?.id, idAt("id.example")]).toEqual([acme.id, home.id])
        expect(idAt("id.example", "/t/path/oauth/token")).toBe(home.id)

        put(JSON.stringify([acme, path]))
        expect(yield* settle(() => idAt("id.example", "/t/path/oauth/token") === path.id)).toBe(true)
        expect(resolve(request("acme.example")) === first).toBe(true)
        expect(yield* find(path.id)).toEqual(path)
        const seen: Array<string> = []
        yield* each(({ id }) => Effect.sync(() => void seen.push(id)))
        expect(seen.sort()).toEqual([acme.id, home.id, path.id].sort())

        put("[{]")
        expect(yield* settle(() => log.some((line) => line.includes("stay as they were")))).toBe(true)
        expect(idAt("acme.example")).toBe(acme.id)

        put(JSON.stringify([path]))
        expect(yield* settle(() => idAt("acme.example") === undefined)).toBe(true)
        expect([idAt("id.example"), idAt("id.example", "/t/path")]).toEqual([home.id, path.id])

        rmSync(file)
        log.length = 0
        expect(yield* settle(() => log.some((line) => line.includes("ENOENT")))).toBe(true)
        expect(idAt("id.example", "/t/path")).toBe(path.id)
      }).pipe(Effect.scoped, Effect.provide([TestClock.layer(), Logger.layer([logger])]))
    }))
})

describe("workspaces of the store", () => {
  const overStore = <A, E>(body: (given: Given) => Effect.Effect<A, E>, env: Record<string, string> = {}) =>
    Effect.gen(function* () {
      yield* TestClock.setTime(1_900_000_000_000)
      const settings = settingsOf({ BASE_URL: "https://id.example", WORKSPACES: "store", ...env })
      const context = yield* Layer.build(hostedBy(settings))
      const workspaces = Context.get(context, Workspaces)
      const hosted = Context.get(context, Hosted)
      const hosting = makeHosting(yield* Storage, yield* Entropy)
      const idAt = (host: string, at?: string): Effect.Effect<string | undefined, unknown> => {
        const known = workspaces.resolve(request(host, at))
        if (known !== undefined) return Effect.succeed(known.id)
        return Effect.map(workspaces.find?.(request(host, at)) ?? Effect.succeed(undefined), (found) => found?.id)
      }
      return yield* body({ idAt, hosted, hosting })
    }).pipe(
      Effect.scoped,
      Effect.provide(Layer.mergeAll(TestClock.layer(), Memory.layer, Entropy.layer)),
      Effect.runPromise
    )
  interface Given {
    readonly idAt: (host: string, path?: string) => Effect.Effect<string | undefined, unknown>
    readonly hosted: Hosted["Service"]
    readonly hosting: ReturnType<typeof makeHosting>
  }

  test("are there without a restart, beside that of BASE_URL and below it", () =>
    overStore(({ hosting, idAt }) =>
      Effect.gen(function* () {
        expect(yield* idAt("id.example")).toBe(home.id)
        expect(yield* idAt("acme.example")).toBeUndefined()
        yield* hosting.add(acme)
        yield* hosting.add(path)
        yield* TestClock.adjust("5 seconds")
        expect(yield* idAt("acme.example")).toBe(acme.id)
        expect(yield* idAt("id.example", "/t/path/oauth/token")).toBe(path.id)
        expect(yield* idAt("id.example", "/oauth/token")).toBe(home.id)
        yield* hosting.move(acme.id, Issuer.make("https://id.example/acme"))
        yield* TestClock.adjust("5 seconds")
        expect(yield* idAt("acme.example")).toBeUndefined()
        expect(yield* idAt("id.example", "/acme/x")).toBe(acme.id)
      })
    ))

  test("one below a host of which only a path is BASE_URL's", () =>
    overStore(
      ({ hosting, idAt }) =>
        Effect.gen(function* () {
          expect(yield* idAt("id.example", "/auth/oauth/token")).toBe(home.id)
          expect(yield* idAt("id.example", "/oauth/token")).toBeUndefined()
          yield* hosting.add(path)
          yield* TestClock.adjust("5 seconds")
          expect(yield* idAt("id.example", "/t/path/oauth/token")).toBe(path.id)
          expect(yield* idAt("id.example", "/auth/oauth/token")).toBe(home.id)
        }),
      { BASE_URL: "https://id.example/auth" }
    ))

  test("none takes the place of BASE_URL's, whatever the store says", () =>
    overStore(({ hosted, hosting, idAt }) =>
      Effect.gen(function* () {
        yield* hosting.add({ ...acme, issuer: home.issuer })
        yield* hosting.add({ ...path, id: home.id })
        expect(yield* idAt("id.example")).toBe(home.id)
        const seen: Array<string> = []
        yield* hosted.each(({ id, issuer }) => Effect.sync(() => void seen.push(`${id} ${issuer}`)))
        expect(seen).toEqual([`${home.id} ${home.issuer}`])
        expect(yield* hosted.find(home.id)).toEqual(home)
      })
    ))

  test("probes are answered at any host, and nothing else is", () =>
    overStore(({ idAt }) =>
      Effect.gen(function* () {
        expect(yield* idAt("10.1.2.3:3000", "/healthz")).toBe(home.id)
        expect(yield* idAt("10.1.2.3:3000", "/readyz")).toBe(home.id)
        expect(yield* idAt("10.1.2.3:3000", "/healthz/x")).toBeUndefined()
        expect(yield* idAt("10.1.2.3:3000", "/oauth/token")).toBeUndefined()
      })
    ))

  test("are warmed all at once", () =>
    overStore(({ hosted, hosting, idAt }) =>
      Effect.gen(function* () {
        for (let number = 0; number < 250; number++) {
          yield* hosting.add(workspace(`w${number}`, `https://w${number}.example`))
        }
        yield* hosted.warm
        yield* TestClock.adjust("5 seconds")
        // Known before, so none of them counts as a stranger's.
        for (let number = 0; number < 250; number++) expect(yield* idAt(`w${number}.example`)).toBe(`w${number}`)
      })
    ))
})

describe("what is done in each workspace", () => {
  const all = Array.from({ length: 30 }, (_, number) => workspace(`w${number}`, `https://w${number}.example`))
  const hosted = {
    each: <G>(act: (one: Workspace) => Effect.Effect<void, G>) => Effect.forEach(all, act, { discard: true })
  }

  test("is done in all others where one is in trouble, and that is told", async () => {
    const done: Array<string> = []
    const exit = await Effect.runPromiseExit(
      inEach(hosted, ({ id }) => (id === "w3" ? Effect.fail("no") : Effect.sync(() => done.push(id))))
    )
    expect([Exit.isFailure(exit), done.length]).toEqual([true, 29])
  })

  test("ends where all are in trouble", async () => {
    let asked = 0
    const failing = Effect.suspend(() => {
      asked++
      return Effect.fail("no")
    })
    expect(Exit.isFailure(await Effect.runPromiseExit(inEach(hosted, () => failing)))).toBe(true)
    expect(asked).toBe(10)
  })
})

describe("what a server does without a request", () => {
  test("is done again and again, each at its own pace, though it fails every time", () => {
    const done = new Map<string, number>()
    const failing = (chore: string) =>
      Effect.suspend(() => {
        done.set(chore, (done.get(chore) ?? 0) + 1)
        return Effect.fail(new StorageUnavailable({ outcome: "not_done", message: "away" }))
      })
    return Effect.gen(function* () {
      const house = housekeeping({
        storage: { ...(yield* Storage), sweep: () => failing("sweep") },
        usage: { saw: () => undefined, lastUse: () => Effect.succeed(undefined), flush: failing("usage") },
        limits: { share: failing("limits") },
        shareFailures: failing("failures"),
        clearRoom: failing("room"),
        keepSigningKeys: failing("signing keys"),
        deliverKnown: failing("known logouts"),
        deliverLogouts: failing("logouts"),
        finishRemovals: failing("removals")
      })
      yield* Effect.forkChild(house)
      yield* TestClock.adjust("20 minutes")
      // A pause is up to a fifth shorter or longer, and the first time is at once.
      const pausesOf = (chore: string) => Math.round((20 * 60) / ((done.get(chore) ?? 0) - 1))
      const paces = [...done.keys()].sort().map((chore) => {
        const pause = [1, 60, 300].find((seconds) => Math.abs(pausesOf(chore) - seconds) <= 0.34 * seconds)
        return [chore, pause]
      })
      expect(paces).toEqual([
        ["failures", 1],
        ["known logouts", 1],
        ["limits", 1],
        ["logouts", 60],
        ["removals", 300],
        ["room", 60],
        ["signing keys", 300],
        ["sweep", 60],
        ["usage", 60]
      ])
    }).pipe(Effect.provide([Memory.layer, TestClock.layer(), Logger.layer([])]), Effect.scoped, Effect.runPromise)
  })
})
