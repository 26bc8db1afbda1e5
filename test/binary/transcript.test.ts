import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { join } from "node:path"
import { Effect, Exit, Scope } from "effect"
import { compile } from "../../runtimes/binary/compile.mjs"
import { listen } from "../../runtimes/bun/listen.ts"
import { noProxies } from "../../runtimes/peer/TrustedProxies.ts"
import { serveWith } from "../../runtimes/Serve.ts"
import { Visitor } from "../given/serverVisitor.ts"
import { freePort } from "../harness/freePort.ts"
import { letThrough, throwawayFolder } from "../harness/throwawayFolder.ts"
import { unprivilegedUser } from "../harness/unprivilegedUser.ts"
import { app } from "../runtimes/given/app.ts"
import { type Send, sendTo } from "../runtimes/given/wire.ts"
import { playEverywhere } from "../runtimes/playEverywhere.ts"
import { scripts } from "../runtimes/transcript.ts"
import { type Binary, builtBinary, emptyFolder, run, start } from "./given/binary.ts"

const scope = Scope.makeUnsafe()
const inFile = <A>(effect: Effect.Effect<A, unknown, Scope.Scope>) => Effect.runPromise(Scope.provide(effect, scope))
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const issuerAt = (prefix: string) => `http://localhost:3000${prefix}`

const fromSource = (prefix: string) =>
  listen({
    host: "127.0.0.1",
    port: 0,
    serve: serveWith(app(issuerAt(prefix))),
    trustedProxies: noProxies,
    requestTimeout: 10_000,
    shutdownTimeout: 1000
  }).pipe(Effect.map(({ port }) => sendTo(port)))

const compiledStage = Effect.gen(function* () {
  const folder = yield* throwawayFolder("stage")
  letThrough(folder)
  const file = join(folder, "stage")
  const failure = compile({ entry: join(import.meta.dir, "given/stage.ts"), outfile: file })
  if (failure !== undefined) throw new Error(failure)
  return { file, user: unprivilegedUser() }
})

const onStage = (stage: Binary, prefix: string) =>
  Effect.gen(function* () {
    const child = yield* start(stage, [issuerAt(prefix)], { cwd: yield* emptyFolder(stage) })
    const [, port] = yield* Effect.promise(() => child.says(/^(\d+)$/m))
    return sendTo(Number(port))
  })

/** The scripts that asked for routes which only the stage has. Each begins with its title. */
const needStage = new Set<string>()

const watching = (send: Send): Send => {
  let title = ""
  return (sent) => {
    const [, begun] = /\/test\/reseed\?(.+)$/.exec(sent.target) ?? []
    if (begun !== undefined) title = decodeURIComponent(begun)
    else if (sent.target.includes("/test/")) needStage.add(title)
    return send(sent)
  }
}

let stage: Binary | undefined

const compiled = (prefix: string) =>
  Effect.gen(function* () {
    stage ??= yield* Scope.provide(compiledStage, scope)
    const send = yield* onStage(stage, prefix)
    return watching(send)
  })

const has = ["own", "wire", "stray"] as const

playEverywhere(
  ["", "/auth"].flatMap((prefix) => {
    const place = prefix && `, below ${prefix}`
    return [
      { name: `Bun.serve${place}`, prefix, has, start: () => fromSource(prefix) },
      { name: `the core and its listener, compiled${place}`, prefix, has, start: () => compiled(prefix) }
    ]
  })
)

const person = { email: "zoe@northwind.example", password: "correct horse battery staple" }

/** The server itself has no routes for tests, and its people have sessions. */
const asPerson =
  (send: Send, session: string): Send =>
  async (sent) => {
    if (sent.target.includes("/test/reseed")) return { status: 204, headers: [], body: "" }
    const headers = (sent.headers ?? []).map(([name, value]): readonly [string, string] => [
      name,
      name === "cookie" ? value.replace("person=alice", session) : value
    ])
    return send({ ...sent, headers })
  }

const onServer = (binary: Binary, prefix: string) =>
  Effect.gen(function* () {
    const cwd = yield* emptyFolder(binary)
    const port = yield* freePort
    const env = { BASE_URL: issuerAt(prefix), PORT: String(port) }
    const added = yield* run(binary, ["user", "add", person.email, "--name", "Zoë"], {
      cwd,
      env,
      input: person.password
    })
    expect(added).toMatchObject({ status: 0, stderr: "" })
    const child = yield* start(binary, ["serve"], { cwd, env })
    yield* Effect.promise(() => child.says(/issuer .+\n/))
    const visitor = new Visitor(`http://127.0.0.1:${port}`)
    yield* Effect.promise(() => visitor.signIn(person, `${prefix}/login`))
    return asPerson(sendTo(port), [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join("; "))
  })

describe("the transcript over the executable that is shipped, from an empty folder, with an empty environment", () => {
  const protocol = [
    "discovery",
    "a client, from its registration to its end",
    "the whole code flow",
    "client credentials, by Basic",
    "addresses that nobody has"
  ]
  let binary: Binary
  beforeAll(async () => {
    binary = await inFile(builtBinary)
  }, 60_000)

  test("is of every script that asks for nothing but the protocol", () => {
    const any = scripts.map(({ title }) => title).filter((title) => !needStage.has(title))
    expect(any).toEqual(protocol)
  })

  for (const prefix of ["", "/auth"]) {
    describe(prefix === "" ? "at the root" : `below ${prefix}`, () => {
      let send: Send
      beforeAll(async () => {
        send = await inFile(onServer(binary, prefix))
      }, 60_000)

      for (const { run: play, title } of scripts.filter((script) => protocol.includes(script.title))) {
        test(title, async () => {
          expect((await play({ send, prefix })).length).toBeGreaterThan(0)
        })
      }
    })
  }
})
