import { afterAll, describe, expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { connect as connectPlainly } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { connect, type TLSSocket } from "node:tls"
import { ConfigProvider, Effect, Exit, Logger, Option, Result, Scope } from "effect"
import { TestClock } from "effect/testing"
import { secretJson } from "../../core/http/answer.ts"
import { parseKeyRing } from "../../core/token/KeyRing.ts"
import { listen as onBun } from "../../runtimes/bun/listen.ts"
import { noProxies } from "../../runtimes/serve/peer.ts"
import { banner } from "../../runtimes/server/banner.ts"
import type { CannotListen } from "../../runtimes/server/Listen.ts"
import { newSealKey } from "../../runtimes/server/SealKeyFile.ts"
import { readSettings } from "../../runtimes/server/Settings.ts"
import { followTls, type TlsFiles, type TlsIdentity, tlsFilesOf } from "../../runtimes/server/Tls.ts"
import { node } from "../harness/given.ts"
import { pollUntil } from "../harness/pollUntil.ts"
import { startChild } from "./given/Child.ts"
import { nodeBuild } from "./given/nodeBuild.ts"

const folder = mkdtempSync(join(tmpdir(), "tls-"))
afterAll(() => rmSync(folder, { recursive: true }))

const file = (name: string) => join(folder, name)

/** A certificate for this machine, made by itself. */
const make = (name: string, ...kind: ReadonlyArray<string>) => {
  const made = spawnSync("openssl", [
    ...["req", "-x509", "-nodes", "-days", "2", "-newkey"],
    ...(kind.length === 0 ? ["ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"] : kind),
    ...["-subj", `/CN=${name}`, "-keyout", file(`${name}.key`), "-out", file(`${name}.pem`)]
  ])
  if (made.status !== 0) throw new Error(String(made.stderr))
}

make("first")
make("second")
make("rsa", "rsa:2048")
make("short", "rsa:1024")

const use = (name: string) => {
  copyFileSync(file(`${name}.pem`), file("cert"))
  copyFileSync(file(`${name}.key`), file("key"))
}

const filesOf = (cert?: string, key?: string, issuer = "https://auth.example.com") =>
  tlsFilesOf(Option.fromUndefinedOr(cert), Option.fromUndefinedOr(key), issuer)

const files = (): TlsFiles => {
  const read = filesOf(file("cert"), file("key"))
  if (Result.isFailure(read) || read.success === undefined) throw new Error("no pair")
  return read.success
}

/** A server that shows the files, and holds a request to `/held` from when it began until it may finish. */
interface Shown {
  readonly port: number
  readonly begun: Effect.Effect<unknown>
  readonly finish: () => void
  /** Begins the shutdown; resolves once it is over. */
  readonly close: () => Promise<unknown>
}

const bunWith = Effect.fnUntraced(function* (shutdownTimeout: number) {
  const scope = Scope.makeUnsafe()
  const held = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  const listening = onBun({
    host: "127.0.0.1",
    port: 0,
    tls: { ...files(), every: "5 millis" },
    serve: async ({ path }) => {
      if (path === "/held") {
        begun.resolve()
        await held.promise
      }
      return secretJson(200, {})
    },
    trustedProxies: noProxies,
    requestTimeout: 5000,
    shutdownTimeout
  })
  const { port } = yield* Scope.provide(listening, scope)
  const close = () => Effect.runPromise(Scope.close(scope, Exit.void))
  yield* Effect.addFinalizer(() => Effect.promise(close))
  return { port, begun: Effect.promise(() => begun.promise), finish: held.resolve, close } satisfies Shown
})

const bun = bunWith(0)

const onNode = Effect.gen(function* () {
  const child = yield* startChild(node(), [
    join(yield* nodeBuild, "test/runtimes/onNode/tls.js"),
    file("cert"),
    file("key")
  ])
  const [, port] = yield* Effect.promise(() => child.says(/^(\d+)$/m))
  const begun = Effect.promise(() => child.says(/^began$/m))
  const close = () => {
    child.process.kill("SIGTERM")
    return child.says(/^closed$/m)
  }
  return { port: Number(port), begun, finish: () => void child.process.stdin?.write("\n"), close } satisfies Shown
})

/** On Bun a new certificate takes a new listener, and a connection of the old one ends between two requests. */
const platforms: ReadonlyArray<
  readonly [name: string, start: Effect.Effect<Shown, CannotListen, Scope.Scope>, keeps: boolean]
> = [
  ["Bun", bun, false],
  ["Node", onNode, true]
]

/** One connection, on which requests follow each other. */
const callerOf = (port: number) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const socket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false })
      const ask = (path: string) =>
        new Promise<string>((resolve, reject) => {
          socket.once("data", (chunk: Buffer) => resolve(String(chunk).split("\r\n\r\n", 1)[0] ?? ""))
          socket.once("close", () => reject(new Error(`the connection was dropped at ${path}`)))
          socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
        })
      return { socket, ask }
    }),
    ({ socket }) => Effect.sync(() => socket.destroy())
  )

/** How a handshake with the server ends: its protocol, suite and certificate. */
const shaken = (port: number, over: object): Promise<string> =>
  new Promise((resolve) => {
    const socket: TLSSocket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false, ...over }, () => {
      const { CN } = socket.getPeerCertificate().subject
      resolve(`${socket.getProtocol()} ${CN}`)
      socket.destroy()
    })
    socket.on("error", () => resolve("none"))
  })

describe("TLS of the server's own", () => {
  test("is read from two files that belong together, with an https issuer, or said in one line to be wrong", () => {
    use("first")
    expect(Result.isSuccess(filesOf())).toBe(true)
    expect(Result.isSuccess(filesOf(file("cert"), file("key")))).toBe(true)
    writeFileSync(file("words"), "no certificate")
    const [own, next] = [readFileSync(file("cert"), "utf8"), readFileSync(file("second.pem"), "utf8")]
    writeFileSync(file("chain"), `${own}an intermediate:\n${next}`)
    expect(Result.isSuccess(filesOf(file("chain"), file("key")))).toBe(true)
    expect(Result.isSuccess(filesOf(file("rsa.pem"), file("rsa.key")))).toBe(true)
    // A chain that is written just now, and one with a certificate that is none.
    writeFileSync(file("cut"), own + next.slice(0, next.length / 2))
    writeFileSync(file("odd"), `${own}-----BEGIN CERTIFICATE-----\nMIIBAA==\n-----END CERTIFICATE-----\n`)
    for (const [variable, result] of [
      ["TLS_CERT", filesOf(file("cut"), file("key"))],
      ["TLS_CERT", filesOf(file("odd"), file("key"))],
      ["TLS_CERT", filesOf(file("short.pem"), file("short.key"))],
      ["TLS_KEY", filesOf(file("cert"))],
      ["TLS_CERT", filesOf(undefined, file("key"))],
      ["TLS_CERT", filesOf(file("nowhere"), file("key"))],
      ["TLS_CERT", filesOf(file("words"), file("key"))],
      ["TLS_KEY", filesOf(file("cert"), file("nowhere"))],
      ["TLS_KEY", filesOf(file("cert"), file("words"))],
      ["TLS_KEY", filesOf(file("cert"), file("second.key"))],
      ["BASE_URL", filesOf(file("cert"), file("key"), "http://127.0.0.1:3000")]
    ] as const) {
      expect(Result.isFailure(result) && result.failure).toMatch(new RegExp(`^${variable}: expected [^\\n]+$`))
    }
  })

  test("is said to the operator who starts the server, with where it listens", () => {
    use("first")
    const said = (env: Record<string, string>) =>
      Effect.gen(function* () {
        const settings = yield* readSettings
        const ring = Result.getOrThrow(parseKeyRing(newSealKey()))
        return banner(settings, 8443, { ring, place: "here", made: false }, undefined)
      }).pipe(Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnvRecord(env)), Effect.runSync)
    const tls = { TLS_CERT: file("cert"), TLS_KEY: file("key"), BASE_URL: "https://auth.example.com" }
    expect(said(tls)).toContain("https://127.0.0.1:8443\n")
    expect(said({})).toContain("http://127.0.0.1:8443\n")
  })

  test("that a platform would not take is tried again, and the log says why", () => {
    use("first")
    const shown: Array<string> = []
    const said: Array<string> = []
    let failing = true
    const show = ({ cert }: TlsIdentity) => {
      if (failing) throw new Error("no room")
      shown.push(cert)
    }
    const logger = Logger.make(({ logLevel }) => void said.push(logLevel))
    return Effect.gen(function* () {
      yield* followTls(files(), show)
      use("second")
      yield* TestClock.adjust("20 seconds")
      expect([shown, said]).toEqual([[], ["Warn", "Warn"]])
      failing = false
      yield* TestClock.adjust("20 seconds")
      expect([shown, said]).toEqual([[readFileSync(file("second.pem"), "utf8")], ["Warn", "Warn", "Info"]])
    }).pipe(Effect.scoped, Effect.provide([TestClock.layer(), Logger.layer([logger])]), Effect.runPromise)
  })

  describe.each(platforms)("on %s", (_, start, keeps) => {
    test.each([
      ["ECDSA", "first"],
      ["RSA", "rsa"]
    ])("has TLS 1.3 and 1.2 with the suites of RFC 9325 for %s, and nothing older or weaker", (by, name) =>
      Effect.gen(function* () {
        use(name)
        const { port } = yield* start
        const under12 = (ciphers: string) => ({ maxVersion: "TLSv1.2", ciphers })
        const rows: ReadonlyArray<readonly [over: object, expected: string]> = [
          [{}, `TLSv1.3 ${name}`],
          [under12(`ECDHE-${by}-AES128-GCM-SHA256`), `TLSv1.2 ${name}`],
          [under12(`ECDHE-${by}-AES256-GCM-SHA384`), `TLSv1.2 ${name}`],
          [under12(`ECDHE-${by}-CHACHA20-POLY1305`), "none"],
          [under12(`ECDHE-${by}-AES128-SHA`), "none"],
          // RSA without forward secrecy.
          [under12("AES128-GCM-SHA256"), "none"],
          [{ minVersion: "TLSv1.1", maxVersion: "TLSv1.1" }, "none"]
        ]
        for (const [over, expected] of rows) {
          expect([over, yield* Effect.promise(() => shaken(port, over))]).toEqual([over, expected])
        }
      }).pipe(Effect.scoped, Effect.runPromise)
    )

    test("holds up no shutdown for a handshake that never ends", () =>
      Effect.gen(function* () {
        use("first")
        const { close, port } = yield* start
        const stranger = connectPlainly(port, "127.0.0.1")
        stranger.on("error", () => undefined)
        // The head of a record that is to hold a greeting (RFC 8446 §5.1).
        stranger.write(Uint8Array.of(22, 3, 1, 2, 0))
        // What came before this is read.
        expect(yield* Effect.promise(() => shaken(port, {}))).toBe("TLSv1.3 first")
        let isOver = false
        void close().then(() => {
          isOver = true
        })
        expect(
          yield* pollUntil(
            Effect.sync(() => isOver),
            10_000
          )
        ).toBe(true)
        stranger.destroy()
      }).pipe(Effect.scoped, Effect.runPromise))

    test("shows a new certificate once its files are whole, and drops nothing that is under way", () =>
      Effect.gen(function* () {
        use("first")
        const { read } = files()
        const { begun, finish, port } = yield* start
        const caller = yield* callerOf(port)
        const answer = caller.ask("/held")
        yield* begun
        copyFileSync(file("second.pem"), file("cert"))
        expect(Result.isFailure(read())).toBe(true)
        expect(yield* Effect.promise(() => shaken(port, {}))).toBe("TLSv1.3 first")
        copyFileSync(file("second.key"), file("key"))
        const isShown = Effect.promise(async () => (await shaken(port, {})) === "TLSv1.3 second")
        expect(yield* pollUntil(isShown, 5000)).toBe(true)
        finish()
        const next = keeps ? caller : yield* callerOf(port)
        for (const told of [answer, next.ask("/")]) {
          const head = yield* Effect.promise(() => told)
          expect(head).toStartWith("HTTP/1.1 200 OK\r\n")
          // FAPI's clients ask for it of a resource.
          const [, date = ""] = /^date: (.+)$/im.exec(head) ?? []
          expect(new Date(date).toUTCString()).toBe(date.trim())
        }
      }).pipe(Effect.scoped, Effect.runPromise))
  })
})

test("what is under way at a certificate of before is answered before a Bun that ends has ended", () =>
  Effect.gen(function* () {
    use("first")
    const { begun, close, finish, port } = yield* bunWith(3_600_000)
    const caller = yield* callerOf(port)
    const answer = caller.ask("/held")
    yield* begun
    use("second")
    const isShown = Effect.promise(async () => (await shaken(port, {})) === "TLSv1.3 second")
    expect(yield* pollUntil(isShown, 5000)).toBe(true)
    const said: Array<string> = []
    const closed = close().then(() => said.push("closed"))
    const isGone = Effect.promise(async () => (await shaken(port, {})) === "none")
    expect(yield* pollUntil(isGone, 5000)).toBe(true)
    // A round more: for who does not wait it is over by now.
    yield* isGone
    said.push("finished")
    finish()
    expect(yield* Effect.promise(() => answer)).toStartWith("HTTP/1.1 200 OK\r\n")
    yield* Effect.promise(() => closed)
    expect(said).toEqual(["finished", "closed"])
  }).pipe(Effect.scoped, Effect.runPromise))
