import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { join } from "node:path"
import { Effect, Exit, Scope } from "effect"
import { serveWith } from "../../core/serve.ts"
import { compile } from "../../runtimes/binary/compile.mjs"
import { listen } from "../../runtimes/bun/listen.ts"
import { noProxies } from "../../runtimes/serve/peer.ts"
import { Visitor } from "../given/serverVisitor.ts"
import { freePort } from "../harness/freePort.ts"
import { letThrough, throwawayFolder } from "../harness/throwawayFolder.ts"
import { unprivilegedUser } from "../harness/unprivilegedUser.ts"
import { app } from "../runtimes/given/app.ts"
import { type Send, sendTo } from "../runtimes/given/wire.ts"
import { playEverywhere } from "../runtimes/playEverywhere.ts"
import { scripts } from "../runtimes/transcript.ts"
import { type Binary, emptyFolder, start, theExecutable } from "./given/binary.ts"
import { asTranscript, signInCookies } from "./given/shipped.ts"

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

let stage: Binary | undefined

const compiled = (prefix: string) =>
  Effect.gen(function* () {
    stage ??= yield* Scope.provide(compiledStage, scope)
    return yield* onStage(stage, prefix)
  })

const has = ["own", "wire", "stray"] as const

// The executable that is shipped has a clock and draws of its own. That compiling changes no byte of an answer is seen
// where both are given: at the transcript's own app, compiled in the same way.

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

/** The server's people have sessions at paths of their own, where those of the transcript's own app have a name in a cookie. */
const asPerson =
  (send: Send, visitor: Visitor): Send =>
  (sent) => {
    if (!sent.headers?.some(([name, value]) => name === "cookie" && value.includes("person=alice"))) return send(sent)
    const session = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join("; ")
    const headers = sent.headers.map(([name, value]): readonly [string, string] => [
      name,
      name === "cookie" ? value.replace("person=alice", session) : value
    ])
    const { pathname, search } = visitor.at(sent.target)
    return send({ ...sent, headers, target: pathname + search })
  }

/** Its first owner comes by the link that it prints, and signs in like all others after that. */
const onServer = (binary: Binary, prefix: string) =>
  Effect.gen(function* () {
    const port = yield* freePort
    const env = {
      BASE_URL: issuerAt(prefix),
      PORT: String(port),
      WORKSPACE_NAME: "Zoë €\u{1f511}",
      ACCESS_LOG: "on"
    }
    const child = yield* start(binary, ["serve"], { cwd: yield* emptyFolder(binary), env })
    const [, link = ""] = yield* Effect.promise(() => child.says(/http:\/\/localhost:3000(\S*\/set-up\?token=\S+)/))
    const url = `http://127.0.0.1:${port}`
    const visitor = new Visitor(url)
    yield* Effect.promise(async () => {
      expect((await new Visitor(url).submit(link, { ...person, name: "Zoë" })).status).toBe(303)
      await visitor.signIn(person, `${prefix}/login`)
    })
    const send = asPerson(sendTo(port), visitor)
    return asTranscript({ child, port, prefix, send, person })
  })

describe("the transcript over the executable that is shipped, from an empty folder", () => {
  for (const prefix of ["", "/auth"]) {
    describe(prefix === "" ? "at the root" : `below ${prefix}`, () => {
      let send: Send
      beforeAll(async () => {
        send = await inFile(onServer(theExecutable(), prefix))
      }, 60_000)

      // It serves one workspace here: its people sign up by the link that one prints.
      for (const { run, title } of scripts.filter(({ needs }) => !needs.includes("second"))) {
        test(title, async () => {
          const answers = await run({ send, prefix, cookies: signInCookies(prefix), now: Date.now })
          expect(answers.length).toBeGreaterThan(0)
        })
      }
    })
  }
})
