import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { Effect, Exit, Scope } from "effect"
import { freshDatabase } from "../adapters/postgres/freshDatabase.ts"
import { freePort } from "../harness/freePort.ts"
import { node, postgresUrl } from "../harness/given.ts"
import { runProgram } from "../harness/runProgram.ts"
import { scoped } from "../harness/scoped.ts"
import { letThrough, throwawayFolder } from "../harness/throwawayFolder.ts"
import { unprivilegedUser } from "../harness/unprivilegedUser.ts"
import { serverPage, textOf, under } from "../readme/blocks.ts"
import type { Child } from "../runtimes/given/Child.ts"
import { checkout, environment, every, only, ours, signalNamed, stagesOf, words } from "./given/Containerfile.ts"
import {
  address,
  type Container,
  confinement,
  inWords,
  startContainer,
  statusOf,
  writableMounts
} from "./given/confined.ts"

const stages = ours()
const [build, final] = stages
if (build === undefined || final === undefined) throw new Error("the Containerfile has no two stages")

const copiedFrom = (text: string) => {
  const parts = text.split(" ")
  const stage = /^--from=(\S+)$/.exec(parts[0] ?? "")?.[1]
  const [target = "", ...sources] = (stage === undefined ? parts : parts.slice(1)).toReversed()
  return { stage, sources, target }
}

const machine = join(import.meta.dir, "given/machine.ts")

const imageUser = only(final, "USER")
const entry = [...words(only(final, "ENTRYPOINT")), ...words(only(final, "CMD"))]
const signal = signalNamed(only(final, "STOPSIGNAL"))
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

  test("runs it as a user who is not root, without a shell, with one folder to write to", () => {
    expect(imageUser).toMatch(/^[1-9]\d*:[1-9]\d*$/)
    expect(entry).toEqual(["/tessera", "serve"])
    expect(words(probe[0] ?? "")).toEqual(["/tessera", "health"])
    expect(every(final, "RUN")).toEqual([])
    expect([only(final, "VOLUME"), only(final, "WORKDIR")]).toEqual(["/data", "/data"])
    expect(environment(final)).toEqual({ HOST: "0.0.0.0", DATABASE_URL: "sqlite:/data/tessera.db" })
    expect([only(final, "EXPOSE"), only(final, "STOPSIGNAL")]).toEqual(["3000", "SIGTERM"])
  })

  test("is what the README builds and runs", () => {
    const [block] = under(serverPage, "In a container")
    const [building = "", running = ""] = (block?.text ?? "").split("\n").map((line) => line.replace("podman ", ""))
    expect(building).toBe("build --format docker -f runtimes/container/Containerfile -t tessera .")
    expect(running).toStartWith("run --read-only ")
    expect(running).toContain(`:${only(final, "EXPOSE")} `)
    expect(running).toContain(`:${only(final, "VOLUME")} `)
    expect(textOf(serverPage)).toContain(`user ${imageUser.split(":")[0]}`)
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
  // Only root may give a folder to another user.
  for (const command of by === "bare" ? commands.slice(0, 1) : commands) {
    const [program, ...args] = command.replaceAll("/made/", `${output}/`).split(" ")
    expect(program).toBe("node")
    const ran = yield* runProgram(node(), args, { cwd: source })
    expect({ command, status: ran.status, said: ran.stdout + ran.stderr }).toMatchObject({ command, status: 0 })
  }
  return output
})

const everythingIn = (folder: string) => readdirSync(folder, { recursive: true, encoding: "utf8" }).toSorted()

/** The image's files as they lie in its root, and its volume as a runtime makes one that it did not know. */
const laidOut = Effect.gen(function* () {
  const output = yield* made
  const [copied] = every(final, "COPY").map(copiedFrom)
  const said = { volume: only(final, "VOLUME"), folder: only(final, "WORKDIR"), env: environment(final) }
  if (by === "bare") {
    const user = unprivilegedUser()
    // What is read only can't be removed either, but by root.
    yield* Effect.acquireRelease(
      Effect.sync(() => chmodSync(output, 0o555)),
      () => Effect.sync(() => chmodSync(output, 0o755))
    )
    return { image: { ...said, root: output, user }, data: yield* throwawayFolder("data", user) }
  }
  const root = join(output, (copied?.sources[0] ?? "").replace("/made/", ""))
  const [uid = 0, gid = 0] = imageUser.split(":").map(Number)
  // A container's runtime writes this one.
  writeFileSync(join(root, "etc/hosts"), "127.0.0.1 localhost db.internal\n")
  // What is new belongs to whom its place in the image belongs to.
  const place = statSync(join(root, said.volume))
  const data = yield* throwawayFolder("data", place)
  chmodSync(data, place.mode & 0o7777)
  return { image: { ...said, root, user: { uid, gid } }, data }
})

describe(`the image's program runs ${inWords[by]}`, () => {
  let place: Pick<Container, "image" | "data">
  beforeAll(async () => {
    place = await Effect.runPromise(Scope.provide(laidOut, scope))
  }, 60_000)

  const endOf = (child: Child) =>
    Effect.map(
      Effect.promise(() => child.ended),
      ({ status }) => ({ status, stdout: child.stdout(), stderr: child.stderr() })
    )

  /** Where nothing is hidden, its port is not its own either. */
  const options = (network: Container["network"]) =>
    Effect.gen(function* () {
      if (by === "confined" && network === "own") return { url: `http://${address}:${only(final, "EXPOSE")}`, env: {} }
      const port = String(yield* freePort)
      return { url: `http://127.0.0.1:${port}`, env: { PORT: port } }
    })

  const serving = (
    network: Container["network"],
    more: Readonly<Record<string, string>> = {},
    look: (pid: number) => void = () => undefined
  ) =>
    Effect.gen(function* () {
      const { env, url } = yield* options(network)
      // It listens on all addresses, where an owner has to approve what this program asks for at once.
      const open = { WORKSPACE_ACCESS: "registered" }
      const container = yield* startContainer({ by, ...place, network, env: { ...env, ...open, ...more } }, entry)
      yield* Effect.promise(() => container.child.says(/issuer .+\n/))
      look(container.pid())
      const client = yield* container.beside([process.execPath, "--no-env-file", machine, url])
      const answered = yield* endOf(client)
      const healthy = yield* endOf(yield* container.exec(words(probe[0] ?? "")))
      process.kill(container.pid(), signal)
      return { answered, healthy, ended: yield* Effect.promise(() => container.child.ended) }
    })

  const asItShould = {
    answered: { status: 0, stdout: "200\n", stderr: "" },
    healthy: { status: 0, stdout: "alive\n", stderr: "" },
    ended: { status: 0, signal: null }
  }

  /** What the kernel knows of it, and no configuration can gloss over. */
  const confinedProperly = (pid: number) => {
    if (by === "bare") return
    const [uid, gid] = imageUser.split(":")
    const { CapEff, CapPrm, Gid, Groups, NoNewPrivs, NSpid, Uid } = statusOf(pid)
    expect({ CapEff, CapPrm, Gid, Groups, NoNewPrivs, NSpid, Uid }).toEqual({
      CapEff: "0".repeat(16),
      CapPrm: "0".repeat(16),
      Gid: Array(4).fill(gid).join(" "),
      Groups: "",
      NoNewPrivs: "1",
      NSpid: `${pid} 1`,
      Uid: Array(4).fill(uid).join(" ")
    })
    const outsideOfProcAndDev = writableMounts(pid).filter((point) => !/^\/(?:proc|dev)(?:\/|$)/.test(point))
    expect(outsideOfProcAndDev).toEqual([place.image.volume])
  }

  test("with its data where the volume is, and not a file elsewhere", () =>
    scoped(function* () {
      const { data, image } = place
      const before = everythingIn(image.root)
      const files = before.filter((path) => !/^lib/.test(path) && statSync(join(image.root, path)).isFile())
      expect(files).toEqual(
        by === "bare" ? ["tessera"] : ["etc/group", "etc/hosts", "etc/nsswitch.conf", "etc/passwd", "tessera"]
      )
      expect(yield* serving("own", {}, confinedProperly)).toEqual(asItShould)
      expect(everythingIn(data)).toEqual(["tessera.db", "tessera.db.keys"])
      expect(everythingIn(image.root)).toEqual(before)
      const { mode, uid } = statSync(join(data, "tessera.db.keys"))
      expect(mode & 0o777).toBe(0o600)
      expect(uid).toBe(image.user?.uid ?? process.getuid?.() ?? -1)
    }))

  test("and says in a line that it can't write anywhere else", () =>
    scoped(function* () {
      // All users may write to /tmp, as far as its mode goes.
      const elsewhere = by === "confined" ? "/tmp/t.db" : join(place.image.root, "t.db")
      const env = { ...(yield* options("own")).env, DATABASE_URL: `sqlite:${elsewhere}` }
      const refused = yield* endOf((yield* startContainer({ by, ...place, network: "own", env }, entry)).child)
      expect(refused.status).toBe(1)
      expect(refused.stdout).toBe("")
      expect(refused.stderr.trimEnd().split("\n")).toEqual([expect.stringContaining(elsewhere)])
    }))

  test("and over PostgreSQL, found by its name", () =>
    scoped(function* () {
      const { url } = yield* Effect.acquireRelease(
        Effect.suspend(() => freshDatabase(postgresUrl())),
        ({ drop }) => drop
      )
      const named = new URL(url)
      // The hosts that the image's own lookup is told of, where it has files of its own.
      if (by !== "bare") named.hostname = "db.internal"
      const env = { DATABASE_URL: named.href, SEAL_KEYS: Buffer.alloc(32, 7).toString("base64url") }
      expect(yield* serving("ours", env)).toEqual(asItShould)
    }))
})
