import { describe, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { connect as dial } from "node:net"
import { type ConnectionOptions, createServer } from "node:tls"
import { Effect, Option, type Scope } from "effect"
import { Storage } from "../../core/ports/Storage.ts"
import { redisUrl } from "../harness/given.ts"
import { over, recordOf, scoped } from "./redisGiven.ts"
import { selfSigned } from "./selfSigned.ts"
import { startSentinel } from "./startSentinel.ts"

interface Files {
  readonly cert: string
  readonly key: string
}

/** A port that takes nothing but TLS and hands on to another: not every Redis was built to do so itself. */
const behindTls = ({ cert, key }: Files, port: number): Effect.Effect<number, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.callback<ReturnType<typeof createServer>>((resume) => {
        const server = createServer({ cert: readFileSync(cert), key: readFileSync(key) }, (socket) => {
          const inner = dial(port, "127.0.0.1")
          socket.on("error", () => inner.destroy()).on("close", () => inner.destroy())
          inner.on("error", () => socket.destroy()).on("close", () => socket.destroy())
          socket.pipe(inner).pipe(socket)
        })
        server.on("tlsClientError", () => undefined)
        server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
      }),
      (server) => Effect.sync(() => server.close())
    ),
    (server) => {
      const address = server.address()
      return typeof address === "object" && address !== null ? address.port : 0
    }
  )

/** What comes of a record that is written and read over this URL. */
const through = (url: string, tls?: ConnectionOptions) =>
  Effect.gen(function* () {
    const store = yield* Storage
    const record = recordOf("over TLS")
    yield* store.remove(record)
    yield* store.insert(record)
    return Option.isSome(yield* store.get(record)) ? "kept" : "lost"
  }).pipe(
    over(url, { prefix: "tls", startWithin: 0, ...(tls === undefined ? {} : { tls }) }),
    Effect.catch(({ _tag }) => Effect.succeed(_tag))
  )

const masterPort = () => Number(new URL(redisUrl()).port)

describe("rediss", () => {
  test("speaks TLS to a server that the certificate names, and to no other", () =>
    scoped(
      Effect.gen(function* () {
        const files = yield* selfSigned()
        const port = yield* behindTls(files, masterPort())
        const ca = readFileSync(files.cert)
        expect(yield* through(`rediss://localhost:${port}`, { ca })).toBe("kept")
        expect(yield* through(`rediss://127.0.0.1:${port}`, { ca })).toBe("StorageUnavailable")
        expect(yield* through(`rediss://localhost:${port}`)).toBe("StorageUnavailable")
        expect(yield* through(`redis://localhost:${port}`, { ca })).toBe("StorageUnavailable")
      })
    ))

  test("speaks it to the sentinels, and to the master that they name", () =>
    scoped(
      Effect.gen(function* () {
        const files = yield* selfSigned(["IP:127.0.0.1"])
        const ca = readFileSync(files.cert)
        const master = yield* behindTls(files, masterPort())
        // It takes the master for one that is down, since it does not speak TLS itself, and names it all the same.
        const sentinel = yield* startSentinel(master)
        const port = yield* behindTls(files, sentinel.port)
        expect(yield* through(`rediss+sentinel://127.0.0.1:${port}/main`, { ca })).toBe("kept")
        expect(yield* through(`rediss+sentinel://127.0.0.1:${port}/main`)).toBe("StorageUnavailable")
        expect(yield* through(`redis+sentinel://127.0.0.1:${sentinel.port}/main`, { ca })).toBe("StorageUnavailable")
      })
    ))
})
