import { afterAll, describe, expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { connect, type TLSSocket } from "node:tls"
import { Effect, Option, Result } from "effect"
import { secretJson } from "../../core/http/answer.ts"
import { listen as onBun } from "../../runtimes/bun/listen.ts"
import { noProxies } from "../../runtimes/serve/peer.ts"
import { type TlsFiles, tlsFilesOf } from "../../runtimes/server/Tls.ts"
import { pollUntil } from "../harness/pollUntil.ts"

const folder = mkdtempSync(join(tmpdir(), "tls-"))
afterAll(() => rmSync(folder, { recursive: true }))

const file = (name: string) => join(folder, name)

/** A certificate for this machine, made by itself. */
const make = (name: string) => {
  const made = spawnSync("openssl", [
    ...["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"],
    ...["-subj", `/CN=${name}`, "-keyout", file(`${name}.key`), "-out", file(`${name}.pem`)]
  ])
  if (made.status !== 0) throw new Error(String(made.stderr))
}

make("first")
make("second")

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
    for (const [variable, result] of [
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

  test("has TLS 1.3 and 1.2 with the four suites of RFC 9325, and nothing older or weaker", () =>
    Effect.runPromise(
      Effect.scoped(
        Effect.gen(function* () {
          use("first")
          const { port } = yield* onBun({
            host: "127.0.0.1",
            port: 0,
            tls: files(),
            serve: () => Promise.resolve(secretJson(200, {})),
            trustedProxies: noProxies,
            requestTimeout: 5000,
            shutdownTimeout: 0
          })
          const rows: ReadonlyArray<readonly [over: object, expected: string]> = [
            [{}, "TLSv1.3 first"],
            [{ maxVersion: "TLSv1.2", ciphers: "ECDHE-ECDSA-AES128-GCM-SHA256" }, "TLSv1.2 first"],
            [{ maxVersion: "TLSv1.2", ciphers: "ECDHE-ECDSA-AES256-GCM-SHA384" }, "TLSv1.2 first"],
            [{ maxVersion: "TLSv1.2", ciphers: "ECDHE-ECDSA-CHACHA20-POLY1305" }, "none"],
            [{ maxVersion: "TLSv1.2", ciphers: "ECDHE-ECDSA-AES128-SHA" }, "none"],
            [{ minVersion: "TLSv1.1", maxVersion: "TLSv1.1" }, "none"]
          ]
          for (const [over, expected] of rows) {
            expect([over, yield* Effect.promise(() => shaken(port, over))]).toEqual([over, expected])
          }
        })
      )
    ))

  test("shows a new certificate once its files are whole, and drops nothing that is under way", () =>
    Effect.runPromise(
      Effect.scoped(
        Effect.gen(function* () {
          use("first")
          const tls = { ...files(), every: "5 millis" as const }
          let finish = (): void => undefined
          const held = new Promise<void>((resolve) => {
            finish = resolve
          })
          let begun = (): void => undefined
          const asked = new Promise<void>((resolve) => {
            begun = resolve
          })
          const { port } = yield* onBun({
            host: "127.0.0.1",
            port: 0,
            tls,
            serve: async () => {
              begun()
              await held
              return secretJson(200, {})
            },
            trustedProxies: noProxies,
            requestTimeout: 5000,
            shutdownTimeout: 0
          })
          const answer = fetch(`https://127.0.0.1:${port}/`, { tls: { rejectUnauthorized: false } })
          yield* Effect.promise(() => asked)
          copyFileSync(file("second.pem"), file("cert"))
          expect(Result.isFailure(tls.read())).toBe(true)
          expect(yield* Effect.promise(() => shaken(port, {}))).toBe("TLSv1.3 first")
          copyFileSync(file("second.key"), file("key"))
          const isShown = Effect.promise(async () => (await shaken(port, {})) === "TLSv1.3 second")
          expect(yield* pollUntil(isShown, 5000)).toBe(true)
          finish()
          expect((yield* Effect.promise(() => answer)).status).toBe(200)
        })
      )
    ))
})
