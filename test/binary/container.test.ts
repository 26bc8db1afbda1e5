import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { Effect, Exit, Scope } from "effect"
import { freshDatabase } from "../adapters/postgres/freshDatabase.ts"
import { companiesStatus, postToken, register } from "../given/serverVisitor.ts"
import { freePort } from "../harness/freePort.ts"
import { node, postgresUrl } from "../harness/given.ts"
import { runProgram } from "../harness/runProgram.ts"
import { letThrough, throwawayFolder } from "../harness/throwawayFolder.ts"
import { unprivilegedUser } from "../harness/unprivilegedUser.ts"
import { readme, readmeBlocks } from "../readme/blocks.ts"
import { checkout, environment, every, only, ours, stagesOf, words } from "./given/Containerfile.ts"
import { type Confined, confinement, inWords, startConfined } from "./given/confined.ts"

const stages = ours()
const [build, final] = stages
if (build === undefined || final === undefined) throw new Error("the Containerfile has no two stages")

const copiedFrom = (text: string) => {
  const parts = text.split(" ")
  const stage = /^--from=(\S+)$/.exec(parts[0] ?? "")?.[1]
  const [target = "", ...sources] = (stage === undefined ? parts : parts.slice(1)).toReversed()
  return { stage, sources, target }
}

const imageUser = only(final, "USER")
const entry = [...words(only(final, "ENTRYPOINT")), ...words(only(final, "CMD"))]
const [, ...probe] = /^(?:--\S+ )*CMD (.+)$/.exec(only(final, "HEALTHCHECK")) ?? []

describe("the Containerfile", () => {
  test("names versions, no secrets, and files that are there", () => {
    expect(stages.map(({ base }) => base)).toEqual([
      expect.stringMatching(/^node:\d+\.\d+\.\d+-[a-z]+-slim$/),
      "scratch"
    ])
    const copies = stages.flatMap((stage) => every(stage, "COPY")).map(copiedFrom)
    const fromCheckout = copies.filter(({ stage }) => stage === undefined).flatMap(({ sources }) => sources)
    expect(fromCheckout.length).toBeGreaterThan(5)
    expect(fromCheckout.filter((path) => path === "." || !existsSync(join(checkout, path)))).toEqual([])
    expect(copies.flatMap(({ stage }) => stage ?? [])).toEqual([build.name ?? "no name"])
    expect(stages.flatMap((stage) => [...every(stage, "ADD"), ...every(stage, "ARG")])).toEqual([])
  })

  test("runs it as somebody who is not root, without a shell, with one folder to write to", () => {
    expect(imageUser).toMatch(/^[1-9]\d*:[1-9]\d*$/)
    expect(entry).toEqual(["/tessera", "serve"])
    expect(words(probe[0] ?? "")).toEqual(["/tessera", "health"])
    expect(every(final, "RUN")).toEqual([])
    expect([only(final, "VOLUME"), only(final, "WORKDIR")]).toEqual(["/data", "/data"])
    expect(environment(final)).toEqual({ HOST: "0.0.0.0", DATABASE_URL: "sqlite:/data/tessera.db" })
    expect([only(final, "EXPOSE"), only(final, "STOPSIGNAL")]).toEqual(["3000", "SIGTERM"])
  })

  test("is what the README builds and runs", () => {
    const [block] = readmeBlocks().filter(({ under }) => under.at(-1) === "In a container")
    const [building = "", running = ""] = (block?.text ?? "").split("\n").map((line) => line.replace("podman ", ""))
    expect(building).toBe("build --format docker -f runtimes/container/Containerfile -t tessera .")
    expect(running).toStartWith("run --read-only ")
    expect(running).toContain(`:${only(final, "EXPOSE")} `)
    expect(running).toContain(`:${only(final, "VOLUME")} `)
    expect(readme()).toContain(`user ${imageUser.split(":")[0]}`)
  })

  test("is read as it is written", () => {
    expect(stagesOf("# a\nFROM a:1 AS b\nRUN x y\n\nFROM scratch\nCOPY --from=b /c /\n")).toEqual([
      { base: "a:1", name: "b", instructions: [{ name: "RUN", text: "x y" }] },
      { base: "scratch", name: undefined, instructions: [{ name: "COPY", text: "--from=b /c /" }] }
    ])
    for (const wrong of ["RUN a \\\n  b", "FROM a\nRUN a \\", "COPY a b", "FROM a\nrun b"]) {
      expect(() => stagesOf(wrong)).toThrow()
    }
    expect(() => words("/tessera serve")).toThrow()
    expect(() => words("[1]")).toThrow()
  })
})

const scope = Scope.makeUnsafe()
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const by = confinement()

/** What the stage that builds has made in `/made`, from the files that it copied and no others. */
const made = Effect.gen(function* () {
  const folder = yield* throwawayFolder("image")
  letThrough(folder)
  const source = join(folder, "source")
  const output = join(folder, "made")
  mkdirSync(output)
  for (const { sources, target } of every(build, "COPY").map(copiedFrom)) {
    for (const path of sources) {
      const to = target.endsWith("/") ? join(source, target, path) : join(source, target)
      mkdirSync(dirname(to), { recursive: true })
      cpSync(join(checkout, path), to, { recursive: true })
    }
  }
  symlinkSync(join(checkout, "node_modules"), join(source, "node_modules"))
  const [install, ...commands] = every(build, "RUN")
  expect(install).toStartWith("npm ci ")
  expect(commands.length).toBe(2)
  // Only root may give a folder to somebody else.
  for (const command of by === "bare" ? commands.slice(0, 1) : commands) {
    const [program, ...args] = command.replaceAll("/made/", `${output}/`).split(" ")
    expect(program).toBe("node")
    const ran = yield* runProgram(node(), args, { cwd: source })
    expect({ command, status: ran.status, said: ran.stdout + ran.stderr }).toMatchObject({ command, status: 0 })
  }
  return output
})

const everythingIn = (folder: string) => readdirSync(folder, { recursive: true, encoding: "utf8" }).toSorted()

const container = Effect.gen(function* () {
  const output = yield* made
  const [copied] = every(final, "COPY").map(copiedFrom)
  const image = join(output, (copied?.sources[0] ?? "").replace("/made/", ""))
  if (by === "bare") {
    const user = unprivilegedUser()
    // What is read only can't be removed either, but by root.
    yield* Effect.acquireRelease(
      Effect.sync(() => chmodSync(output, 0o555)),
      () => Effect.sync(() => chmodSync(output, 0o755))
    )
    return { root: output, data: yield* throwawayFolder("data", user), user }
  }
  const [uid = 0, gid = 0] = imageUser.split(":").map(Number)
  // A container's runtime writes this one.
  writeFileSync(join(image, "etc/hosts"), "127.0.0.1 localhost db.internal\n")
  return { root: image, data: yield* throwawayFolder("data", { uid, gid }), user: { uid, gid } }
})

describe(`the image's program runs ${inWords[by]}`, () => {
  let place: Pick<Confined, "root" | "data" | "user">
  beforeAll(async () => {
    place = await Effect.runPromise(Scope.provide(container, scope))
  }, 60_000)

  const started = (command: ReadonlyArray<string>, env: Readonly<Record<string, string>>) =>
    startConfined({ by, ...place, env: { ...environment(final), ...env } }, command)

  const ran = (command: ReadonlyArray<string>, env: Readonly<Record<string, string>>) =>
    Effect.scoped(
      Effect.gen(function* () {
        const child = yield* started(command, env)
        const { status } = yield* Effect.promise(() => child.ended)
        return { status, stdout: child.stdout(), stderr: child.stderr() }
      })
    )

  const works = async (url: string) => {
    const { client_id, client_secret } = await register(url, {
      grant_types: ["client_credentials"],
      redirect_uris: [],
      token_endpoint_auth_method: "client_secret_post"
    })
    const fields = { grant_type: "client_credentials", client_id, client_secret: String(client_secret) }
    const { access_token }: { access_token?: string } = await (await postToken(url, fields)).json()
    return companiesStatus(url, access_token ?? "")
  }

  const serving = (env: Readonly<Record<string, string>>) =>
    Effect.gen(function* () {
      const port = yield* freePort
      const all = { PORT: String(port), ...env }
      const server = yield* started(entry, all)
      yield* Effect.promise(() => server.says(/issuer .+\n/))
      const status = yield* Effect.promise(() => works(`http://127.0.0.1:${port}`))
      const healthy = yield* ran(words(probe[0] ?? ""), all)
      // The one signal that it is told to stop by is this one.
      server.process.kill(only(final, "STOPSIGNAL") === "SIGTERM" ? "SIGTERM" : "SIGKILL")
      return { status, healthy, ended: yield* Effect.promise(() => server.ended) }
    })

  const asItShould = {
    status: 200,
    healthy: { status: 0, stdout: "alive\n", stderr: "" },
    ended: { status: 0, signal: null }
  }

  test("with its data where the volume is, and not a file elsewhere", () =>
    Effect.runPromise(
      Effect.scoped(
        Effect.gen(function* () {
          const before = everythingIn(place.root)
          const files = before.filter((path) => !/^lib/.test(path) && statSync(join(place.root, path)).isFile())
          expect(files).toEqual(
            by === "bare" ? ["tessera"] : ["etc/group", "etc/hosts", "etc/nsswitch.conf", "etc/passwd", "tessera"]
          )
          expect(yield* serving({})).toEqual(asItShould)
          expect(everythingIn(place.data)).toEqual(["tessera.db", "tessera.db.keys"])
          expect(everythingIn(place.root).filter((path) => !path.startsWith("data/"))).toEqual(before)
          const { mode, uid } = statSync(join(place.data, "tessera.db.keys"))
          expect(mode & 0o777).toBe(0o600)
          expect(uid).toBe(place.user?.uid ?? process.getuid?.() ?? -1)
        })
      )
    ))

  test("and says in a line that it can't write anywhere else", () =>
    Effect.runPromise(
      Effect.scoped(
        Effect.gen(function* () {
          const port = yield* freePort
          // Everybody may write to /tmp, as far as its mode goes.
          const elsewhere = by === "mounted" ? "/tmp/t.db" : join(place.root, "t.db")
          const refused = yield* ran(entry, { PORT: String(port), DATABASE_URL: `sqlite:${elsewhere}` })
          expect(refused.status).toBe(1)
          expect(refused.stdout).toBe("")
          expect(refused.stderr.trimEnd().split("\n")).toEqual([expect.stringContaining(elsewhere)])
        })
      )
    ))

  test("and over PostgreSQL, found by its name", () =>
    Effect.runPromise(
      Effect.scoped(
        Effect.gen(function* () {
          const { url } = yield* Effect.acquireRelease(
            Effect.suspend(() => freshDatabase(postgresUrl())),
            ({ drop }) => drop
          )
          const named = new URL(url)
          // The hosts that the image's own lookup is told of, where it has files of its own.
          if (by !== "bare") named.hostname = "db.internal"
          const env = { DATABASE_URL: named.href, SEAL_KEYS: Buffer.alloc(32, 7).toString("base64url") }
          expect(yield* serving(env)).toEqual(asItShould)
        })
      )
    ))
})
