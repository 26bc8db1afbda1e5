import { expect, test } from "bun:test"
import { Effect, Layer, Logger, Redacted, type Scope } from "effect"
import * as postgres from "../../adapters/postgres/Postgres.ts"
import * as redis from "../../adapters/redis/Redis.ts"
import type { Storage } from "../../core/ports/Storage.ts"
import { stoppedAt } from "../../core/testing/stoppedClock.ts"
import { postgresUrl, redisClusterUrl, redisUrl } from "../harness/given.ts"
import { freshDatabase } from "./postgres/freshDatabase.ts"

/** What the start of a store says of clocks. */
const said = <E>(layer: Layer.Layer<Storage, E>): Effect.Effect<ReadonlyArray<string>, E, Scope.Scope> => {
  const lines: Array<string> = []
  const hears = Logger.make(({ message }) => void lines.push(String(message)))
  return Layer.build(layer).pipe(
    Effect.provide(Logger.layer([hears])),
    Effect.map(() => lines.filter((line) => line.includes("clock")))
  )
}

type Opened = Effect.Effect<() => Layer.Layer<Storage, unknown>, unknown, Scope.Scope>

const stores: Readonly<Record<string, Opened>> = {
  PostgreSQL: Effect.map(
    Effect.acquireRelease(
      Effect.suspend(() => freshDatabase(postgresUrl())),
      ({ drop }) => drop
    ),
    ({ url }) =>
      () =>
        postgres.layer({ url: Redacted.make(url) })
  ),
  Redis: Effect.succeed(() => redis.layer({ url: `${redisUrl()}?prefix=clock` })),
  "Redis Cluster": Effect.succeed(() => redis.layer({ url: `${redisClusterUrl()}?prefix=clock` }))
}

test.each(Object.entries(stores))("a start says that this machine's clock is not that of %s", (name, opened) =>
  Effect.gen(function* () {
    const layer = yield* opened
    expect(yield* said(layer())).toEqual([])
    for (const [apart, words] of [
      [90_000, "90 seconds ahead of"],
      [-3_600_000, "3600 seconds behind"]
    ] as const) {
      const lines = yield* stoppedAt(Date.now() + apart)(said(layer()))
      expect(lines).toHaveLength(name === "Redis Cluster" ? 3 : 1)
      for (const line of lines) expect(line).toContain(words)
    }
  }).pipe(Effect.scoped, Effect.runPromise)
)
