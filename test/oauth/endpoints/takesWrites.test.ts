import { describe, expect, test } from "bun:test"
import { Effect, Layer, Redacted, type Scope } from "effect"
import { layer as memory } from "../../../adapters/memory/Memory.ts"
import { layer as postgres } from "../../../adapters/postgres/Postgres.ts"
import { layer as redis } from "../../../adapters/redis/Redis.ts"
import { takesWrites } from "../../../core/oauth/endpoints/health.ts"
import { Conflict, Storage } from "../../../core/ports/Storage.ts"
import { WorkspaceId } from "../../../core/workspace/Workspace.ts"
import { freshDatabase, tell } from "../../adapters/postgres/freshDatabase.ts"
import { postgresUrl, redisCli } from "../../harness/given.ts"
import { runProgram } from "../../harness/runProgram.ts"
import { startRedis } from "../../harness/startRedis.ts"

const run = <E>(body: Effect.Effect<void, E, Scope.Scope>) => Effect.runPromise(Effect.scoped(body))

/** Of a workspace that no test has asked about yet, so that no earlier answer counts. */
const asked = (workspace: string) =>
  Effect.flatMap(Storage, (storage) => Effect.exit(takesWrites(storage, WorkspaceId.make(workspace)))).pipe(
    Effect.map(({ _tag }) => _tag)
  )

const reads = Effect.flatMap(Storage, (storage) => storage.get({ workspace: "w", kind: "client", id: "any" }))

describe("a store is ready", () => {
  test("where another process's write was taken first", () =>
    run(
      Effect.gen(function* () {
        const rivals = Layer.effect(
          Storage,
          Effect.map(Storage, (below) => ({
            ...below,
            insert: (record) => Effect.andThen(below.insert(record), Effect.fail(new Conflict()))
          }))
        )
        expect(yield* asked("a").pipe(Effect.provide(Layer.provide(rivals, memory)))).toBe("Success")
      })
    ))

  test("in PostgreSQL while it may be written to, and not while it only answers", () =>
    run(
      Effect.gen(function* () {
        const database = yield* Effect.acquireRelease(
          Effect.suspend(() => freshDatabase(postgresUrl())),
          ({ drop }) => drop
        )
        const name = new URL(database.url).pathname.slice(1)
        const set = (readOnly: "on" | "off") =>
          tell(
            postgresUrl(),
            `ALTER DATABASE ${name} SET default_transaction_read_only = ${readOnly}`,
            `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '${name}'`
          )
        const open = () => Layer.fresh(postgres({ url: Redacted.make(database.url), migrations: "check" }))
        const migrated = Layer.fresh(postgres({ url: Redacted.make(database.url) }))
        expect(yield* Effect.provide(asked("a"), migrated)).toBe("Success")
        yield* set("on")
        yield* Effect.gen(function* () {
          expect(yield* asked("b")).toBe("Failure")
          expect((yield* reads)._tag).toBe("None")
        }).pipe(Effect.provide(open()))
        yield* set("off")
        expect(yield* Effect.provide(asked("b"), open())).toBe("Success")
      })
    ))

  test("in Redis while it may be written to, and not while it only answers", () =>
    run(
      Effect.gen(function* () {
        const server = yield* startRedis()
        const set = (replicas: number) =>
          runProgram(redisCli(), ["-u", server.url, "config", "set", "min-replicas-to-write", String(replicas)])
        yield* Effect.gen(function* () {
          expect(yield* asked("a")).toBe("Success")
          expect((yield* set(1)).stdout).toBe("OK\n")
          expect(yield* asked("b")).toBe("Failure")
          expect((yield* reads)._tag).toBe("None")
          expect((yield* set(0)).stdout).toBe("OK\n")
          expect(yield* asked("b")).toBe("Success")
        }).pipe(Effect.provide(redis({ url: Redacted.make(server.url) })))
      })
    ))
})
