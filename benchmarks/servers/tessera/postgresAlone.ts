import { Duration, Effect, Layer, Redacted } from "effect"
import { connectionSettings, readPostgresUrl } from "../../../adapters/postgres/Options.ts"
import { makePool } from "../../../adapters/postgres/Pool.ts"
import { migrate } from "../../../adapters/postgres/Postgres.ts"
import { makeSession } from "../../../adapters/postgres/Session.ts"
import { makeSingle } from "../../../adapters/postgres/single.ts"
import { statementsOf } from "../../../adapters/postgres/statements.ts"
import { forEachKind, Storage } from "../../../core/ports/Storage.ts"

const deadline = 5000
const lasting = Duration.minutes(30)

/** The PostgreSQL adapter's own statements, one for each call: what it is without batches. */
const storage = (text: string) =>
  Effect.gen(function* () {
    const url = Redacted.make(text)
    yield* migrate({ url })
    const pool = yield* makePool({
      ...connectionSettings({ url }, yield* readPostgresUrl(url)),
      size: 10,
      connectTimeout: Duration.seconds(3),
      idleTimeout: lasting,
      lifetime: lasting
    })
    const statements = forEachKind((kind) => statementsOf("tessera", kind, false))
    const session = yield* makeSession(pool, statements, deadline)
    const { get, insert, list, remove, replace, sweep } = makeSingle(session)
    return Storage.of({
      get: (key) => Effect.suspend(() => get(key, session.deadline())),
      insert: (record) => Effect.suspend(() => insert(record, session.deadline())),
      replace: (expected, record) => Effect.suspend(() => replace({ expected, record }, session.deadline())),
      remove,
      list,
      sweep
    })
  })

export const layer = (url: string) => Layer.effect(Storage, storage(url))
