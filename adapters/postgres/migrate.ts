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

/** It did not answer, or would not let us in. */
export class PostgresUnreachable extends Schema.TaggedError<PostgresUnreachable>()("PostgresUnreachable", {
  message: Schema.String
}) {}

/** A newer release has changed it so that this one would not understand it. */
export class DatabaseTooNew extends Schema.TaggedError<DatabaseTooNew>()("DatabaseTooNew", {
  /** The newest migration that this release knows. */
  knows: Schema.Int,
  /** The one that it would have to know. */
  needs: Schema.Int,
  message: Schema.String
}) {}

/** The start was told only to look, and found something to do. */
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
  /** What is not in the database yet, in order. */
  readonly pending: ReadonlyArray<string>
  /** What `migrate` would run, for `psql` to run instead. */
  readonly sql: string
}

/** A connection to bring a database up to date over. */
interface Asked {
  readonly connection: Connection
  /** In milliseconds: what is left of the start's time, and at least what a try may take. */
  readonly left: Effect.Effect<number>
}

/** For what may take its time. Whether the server is still there is then the keep-alive's to find out. */
const perform = ({ connection }: Asked, text: string, parameters: ReadonlyArray<Cell> = []) =>
  Effect.callback<ReadonlyArray<Row>, Failure>((resume) => {
    connection.query(text, parameters, (rows, failure) =>
      resume(failure === undefined ? Effect.succeed(rows ?? []) : Effect.fail(failure))
    )
    return Effect.sync(() => connection.destroy())
  })

/** For what a server that is there answers at once. */
const ask = (asked: Asked, text: string, parameters: ReadonlyArray<Cell> = []) =>
  Effect.flatMap(asked.left, (duration) =>
    Effect.timeoutOrElse(perform(asked, text, parameters), { duration, orElse: () => Effect.fail(silence) })
  )

const silence: Failure = { code: "TIMEOUT", rolledBack: false, message: "it does not answer in time" }

/** Not there yet, starting, stopping, full: a server that may answer in a moment. Anything else will not change. */
const mayPass = (failure: Failure) => !/^(?:28|3D|42)|CERT|SIGNATURE|_TLS_|_SSL_/.test(failure.code)

/** Waits for a server that is not up yet, and says why it waits. */
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

/** What the database has of `known`; refused where a newer release has left this one behind. */
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

/** Two processes that lay the groundwork at once get in each other's way inside PostgreSQL; the second try finds it done. */
const collided = (failure: Failure) => /^(?:23505|42710|42P06|42P07|XX000|40001|40P01|55P03)$/.test(failure.code)
const again = { times: 20, schedule: Schedule.spaced("100 millis").pipe(Schedule.jittered), while: collided }

const layGroundwork = Effect.fnUntraced(function* (asked: Asked, schema: string) {
  const found = yield* ask(asked, "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1", [schema])
  if (found.length === 0) yield* perform(asked, createSchema(schema))
  for (const statement of groundwork(schema)) yield* perform(asked, statement)
})

/** Behind a lock that lasts as long as its transaction, and waiting for nobody's locks longer than a moment. */
const apply = Effect.fnUntraced(function* (asked: Asked, schema: string, known: ReadonlyArray<Migration>) {
  yield* ask(asked, "BEGIN")
  yield* ask(asked, "SET LOCAL lock_timeout = '2s'")
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

/** Brings the database up to date, and answers with what there was to do. Any number of processes may do so at once. */
export const migrate = (
  given: PostgresOptions,
  known: ReadonlyArray<Migration> = ours
): Effect.Effect<ReadonlyArray<string>, PostgresRefusal> =>
  Effect.gen(function* () {
    const options = yield* withUrlOptions(given)
    const asked = yield* patientConnection(options)
    const schema = schemaOf(options)
    yield* requireUtf8(asked)
    if ((yield* pendingIn(asked, schema, known)).length === 0) return []
    yield* layGroundwork(asked, schema).pipe(Effect.retry(again), Effect.mapError(failed))
    return yield* apply(asked, schema, known).pipe(
      Effect.tapCause(() => Effect.ignore(ask(asked, "ROLLBACK"))),
      Effect.retry({ ...again, while: (error) => isFailure(error) && collided(error) }),
      Effect.mapError((error) => (isFailure(error) ? failed(error) : error))
    )
  }).pipe(Effect.scoped)

/** What `migrate` would do now. It changes nothing. */
export const plan = (
  given: PostgresOptions,
  known: ReadonlyArray<Migration> = ours
): Effect.Effect<Plan, PostgresRefusal> =>
  Effect.gen(function* () {
    const options = yield* withUrlOptions(given)
    const asked = yield* patientConnection(options)
    const schema = schemaOf(options)
    yield* requireUtf8(asked)
    const pending = yield* pendingIn(asked, schema, known)
    if (pending.length === 0) return { pending: [], sql: "" }
    const first = [createSchema(schema), ...groundwork(schema)]
    const steps = pending.flatMap((migration) => stepsOf(schema, migration))
    const sql = [...first, "BEGIN", takeLock(schema), ...steps, "COMMIT"]
      .map((statement) => `${statement};\n`)
      .join("\n")
    return { pending: pending.map(({ name }) => name), sql }
  }).pipe(Effect.scoped)

/** Refuses where `migrate` would have something to do. */
export const requireUpToDate = (options: PostgresOptions): Effect.Effect<void, PostgresRefusal> =>
  Effect.flatMap(plan(options), ({ pending }) =>
    pending.length === 0
      ? Effect.void
      : Effect.fail(
          new MigrationsPending({ names: pending, message: `migrations have to be run first: ${pending.join(", ")}` })
        )
  )
