import { Clock, Duration, Effect, Schedule, Schema } from "effect"
import { type Cell, type Connection, connect, type Row } from "./Connection.ts"
import {
  createSchema,
  groundwork,
  type Migration,
  migrations as ours,
  readLedger,
  stepsOf,
  takeLock
} from "./migrations.ts"
import {
  type BadPostgresUrl,
  connectTimeoutOf,
  migrationSettings,
  type PostgresOptions,
  readPostgresUrl,
  schemaOf,
  startWithinOf,
  withUrlOptions
} from "./Options.ts"
import type { Failure } from "./outcome.ts"

/** The server does not answer, or refuses the connection. */
export class PostgresUnreachable extends Schema.TaggedError<PostgresUnreachable>()("PostgresUnreachable", {
  message: Schema.String
}) {}

/** A newer release has changed the database in a way that this one cannot read. */
export class DatabaseTooNew extends Schema.TaggedError<DatabaseTooNew>()("DatabaseTooNew", {
  /** The newest migration of this release. */
  knows: Schema.Int,
  /** The migration that the database requires. */
  needs: Schema.Int,
  message: Schema.String
}) {}

/** `migrations: "check"`, and migrations are pending. */
export class MigrationsPending extends Schema.TaggedError<MigrationsPending>()("MigrationsPending", {
  names: Schema.Array(Schema.String),
  message: Schema.String
}) {}

export class MigrationFailed extends Schema.TaggedError<MigrationFailed>()("MigrationFailed", {
  message: Schema.String
}) {}

export type PostgresRefusal =
  | BadPostgresUrl
  | PostgresUnreachable
  | DatabaseTooNew
  | MigrationsPending
  | MigrationFailed

export interface Plan {
  /** Migrations that the database lacks, in order. */
  readonly pending: ReadonlyArray<string>
  /** The SQL that `migrate` would run. */
  readonly sql: string
}

/** A connection for migrations. */
interface Asked {
  readonly connection: Connection
  /** Milliseconds: the rest of the start's time, and at least the time of one try. */
  readonly left: Effect.Effect<number>
}

/** For statements that may take long. TCP keep-alive detects a lost server. */
const perform = ({ connection }: Asked, text: string, parameters: ReadonlyArray<Cell> = []) =>
  Effect.callback<ReadonlyArray<Row>, Failure>((resume) => {
    connection.query(text, parameters, (rows, failure) =>
      resume(failure === undefined ? Effect.succeed(rows ?? []) : Effect.fail(failure))
    )
    return Effect.sync(() => connection.destroy())
  })

/** For statements that a live server answers at once. */
const ask = (asked: Asked, text: string, parameters: ReadonlyArray<Cell> = []) =>
  Effect.flatMap(asked.left, (duration) =>
    Effect.timeoutOrElse(perform(asked, text, parameters), { duration, orElse: () => Effect.fail(silence) })
  )

const silence: Failure = { code: "TIMEOUT", rolledBack: false, message: "it does not answer in time" }

/**
 * The server may answer later: it starts, stops or is full. Wrong credentials, databases and certificates stay wrong.
 */
const mayPass = (failure: Failure) => !/^(?:28|3D|42)|CERT|SIGNATURE|_TLS_|_SSL_/.test(failure.code)

/** Connects, and logs why it waits. */
const patientConnection = (options: PostgresOptions) =>
  Effect.gen(function* () {
    const address = yield* readPostgresUrl(options.url)
    const giveUpAt = (yield* Clock.currentTimeMillis) + Duration.toMillis(startWithinOf(options))
    const aTry = Duration.toMillis(connectTimeoutOf(options))
    const isWorthAnother = (failure: Failure) =>
      Effect.map(Clock.currentTimeMillis, (now) => mayPass(failure) && now < giveUpAt)
    const connection = yield* connect(migrationSettings(address)).pipe(
      Effect.timeoutOrElse({ duration: aTry, orElse: () => Effect.fail(silence) }),
      Effect.tapError((failure) =>
        Effect.when(Effect.logWarning(`Waiting for PostgreSQL: ${failure.message}`), isWorthAnother(failure))
      ),
      Effect.retry({
        schedule: Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced("2 seconds")]),
        while: isWorthAnother
      }),
      Effect.mapError((failure) => new PostgresUnreachable({ message: failure.message }))
    )
    yield* Effect.addFinalizer(() => Effect.sync(connection.close))
    const left = Effect.map(Clock.currentTimeMillis, (now) => Math.max(giveUpAt - now, aTry))
    return { connection, left } satisfies Asked
  })

const failed = (failure: Failure) =>
  failure === silence
    ? new PostgresUnreachable({ message: failure.message })
    : new MigrationFailed({ message: failure.message })
const noLedger = (failure: Failure) => failure.code === "42P01" || failure.code === "3F000"

/** The migrations of `known` that the database lacks; fails where a newer release requires more. */
const pendingIn = Effect.fnUntraced(function* (asked: Asked, schema: string, known: ReadonlyArray<Migration>) {
  const applied = yield* ask(asked, readLedger(schema)).pipe(
    Effect.catchIf(noLedger, () => Effect.succeed<ReadonlyArray<Row>>([])),
    Effect.mapError(failed)
  )
  const knows = Math.max(0, ...known.map(({ number }) => number))
  const needs = Math.max(0, ...applied.map((row) => Number(row[1])))
  if (needs > knows) {
    return yield* new DatabaseTooNew({
      knows,
      needs,
      message: `the database needs a release that knows migration ${needs}; this one knows ${knows}`
    })
  }
  const numbers = new Set(applied.map((row) => Number(row[0])))
  return known.filter(({ number }) => !numbers.has(number))
})

const requireUtf8 = Effect.fnUntraced(function* (asked: Asked) {
  const rows = yield* ask(asked, "SHOW server_encoding").pipe(Effect.mapError(failed))
  const encoding = rows[0]?.[0]
  if (encoding !== "UTF8") {
    return yield* new MigrationFailed({ message: `the database's encoding is ${encoding}; it has to be UTF8` })
  }
})

/** Errors of two processes that create the schema at once. The retry finds it done. */
const collided = (failure: Failure) => /^(?:23505|42710|42P06|42P07|XX000|40001|40P01|55P03)$/.test(failure.code)
const again = { times: 20, schedule: Schedule.spaced("100 millis").pipe(Schedule.jittered), while: collided }

const layGroundwork = Effect.fnUntraced(function* (asked: Asked, schema: string) {
  const found = yield* ask(asked, "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1", [schema])
  if (found.length === 0) yield* perform(asked, createSchema(schema))
  for (const statement of groundwork(schema)) yield* perform(asked, statement)
})

/**
 * Runs in one transaction under the migration lock. Waits at most 2 s for other locks, so that no request queues
 * behind it.
 */
const apply = Effect.fnUntraced(function* (asked: Asked, schema: string, known: ReadonlyArray<Migration>) {
  yield* ask(asked, "BEGIN")
  yield* ask(asked, "SET LOCAL lock_timeout = '2s'")
  // The role may have one, as behind a pooler, and a step may take longer than a request.
  yield* ask(asked, "SET LOCAL statement_timeout = 0")
  yield* perform(asked, takeLock(schema))
  const pending = yield* pendingIn(asked, schema, known)
  for (const migration of pending) {
    for (const statement of stepsOf(schema, migration)) yield* perform(asked, statement)
  }
  yield* perform(asked, "COMMIT")
  return pending.map(({ name }) => name)
})

const isFailure = (error: unknown): error is Failure =>
  typeof error === "object" && error !== null && "rolledBack" in error

/** A connection to the database, and what it lacks. */
const look = Effect.fnUntraced(function* (given: PostgresOptions, known: ReadonlyArray<Migration>) {
  const options = yield* withUrlOptions(given)
  const asked = yield* patientConnection(options)
  const schema = schemaOf(options)
  yield* requireUtf8(asked)
  return { asked, schema, pending: yield* pendingIn(asked, schema, known) }
})

/** Migrates the database and answers the names of the steps. Processes may call it at the same time. */
export const migrate = (
  given: PostgresOptions,
  known: ReadonlyArray<Migration> = ours
): Effect.Effect<ReadonlyArray<string>, PostgresRefusal> =>
  Effect.gen(function* () {
    const { asked, pending, schema } = yield* look(given, known)
    if (pending.length === 0) return []
    yield* layGroundwork(asked, schema).pipe(Effect.retry(again), Effect.mapError(failed))
    return yield* apply(asked, schema, known).pipe(
      Effect.tapCause(() => Effect.ignore(ask(asked, "ROLLBACK"))),
      Effect.retry({ ...again, while: (error) => isFailure(error) && collided(error) }),
      Effect.mapError((error) => (isFailure(error) ? failed(error) : error))
    )
  }).pipe(Effect.scoped)

/** What `migrate` would do. Changes nothing. */
export const plan = (
  given: PostgresOptions,
  known: ReadonlyArray<Migration> = ours
): Effect.Effect<Plan, PostgresRefusal> =>
  Effect.gen(function* () {
    const { pending, schema } = yield* look(given, known)
    if (pending.length === 0) return { pending: [], sql: "" }
    const first = [createSchema(schema), ...groundwork(schema)]
    const steps = pending.flatMap((migration) => stepsOf(schema, migration))
    const sql = [...first, "BEGIN", takeLock(schema), ...steps, "COMMIT"]
      .map((statement) => `${statement};\n`)
      .join("\n")
    return { pending: pending.map(({ name }) => name), sql }
  }).pipe(Effect.scoped)

/** Fails if migrations are pending. */
export const requireUpToDate = (options: PostgresOptions): Effect.Effect<void, PostgresRefusal> =>
  Effect.flatMap(plan(options), ({ pending }) =>
    pending.length === 0
      ? Effect.void
      : Effect.fail(
          new MigrationsPending({ names: pending, message: `migrations have to be run first: ${pending.join(", ")}` })
        )
  )
