import type { Kind } from "../../core/ports/Storage.ts"
import { identifier, tableOf } from "./statements.ts"

/**
 * A step from one form of the database to the next. Old and new releases run side by side while it happens and after,
 * so a step only adds: a table, a nullable column, an index. What an old release writes without knowing of an addition
 * must stay valid. Every statement is `IF NOT EXISTS`, for databases that do not roll definitions back.
 */
export interface Migration {
  readonly number: number
  readonly name: string
  /** The oldest release, by the number of its newest migration, that can still work with the result. */
  readonly readableFrom: number
  readonly statements: (schema: string) => ReadonlyArray<string>
}

const generated = (name: string, type: string, expression: string) =>
  `  ${name} ${type} GENERATED ALWAYS AS (${expression}) STORED`

const created = generated(
  "created",
  "numeric",
  "CASE WHEN jsonb_typeof(body -> 'createdAt') = 'number' THEN (body ->> 'createdAt')::numeric END"
)

/** The columns that a kind's table has of its own. A step names its kinds: one that comes later needs another step. */
type Columns = { readonly [kind in Kind]?: ReadonlyArray<string> }

const state = generated("state", "text", "body ->> '_tag'")
const client = generated("client", "text", "body ->> 'client'")

/** What people who run it look for. Read out of the body by the database, so no release can forget to fill them. */
const firstKinds = {
  client: [generated("name", "text", "body -> 'about' ->> 'client_name'"), created],
  grant: [
    state,
    client,
    generated("subject_kind", "text", "body -> 'subject' ->> '_tag'"),
    generated("subject", "text", "body -> 'subject' ->> 'id'"),
    created
  ],
  usage: [],
  account: [created],
  login: [created],
  session: [created],
  link: [created],
  limit: []
} satisfies Columns

const requestKinds = {
  request: [state, client, generated("subject", "text", "body ->> 'user'")],
  once: [generated("purpose", "text", "body ->> 'purpose'")]
} satisfies Columns

/** Ids sort by code unit whatever the database's language is. Room in each page lets an update stay on its page. */
const createTables =
  (kinds: Columns) =>
  (schema: string): ReadonlyArray<string> =>
    Object.entries(kinds).flatMap(([kind, own]) => {
      // `Columns` has no other keys.
      const table = tableOf(schema, kind as Kind)
      const columns = [
        `  workspace text COLLATE "C" NOT NULL`,
        `  id text COLLATE "C" NOT NULL`,
        `  owner text COLLATE "C" NOT NULL`,
        `  version bigint NOT NULL`,
        `  expires bigint`,
        `  body jsonb NOT NULL`,
        // Only the day is indexed, so that moving an expiry by less leaves the indexes alone.
        generated("sweep_day", "int", "(expires / 86400000)::int"),
        ...own,
        "  PRIMARY KEY (workspace, id)"
      ]
      const name = table.slice(table.lastIndexOf(".") + 1)
      return [
        `CREATE TABLE IF NOT EXISTS ${table} (\n${columns.join(",\n")}\n) WITH (fillfactor = 80)`,
        `CREATE INDEX IF NOT EXISTS ${name}_of_owner ON ${table} (workspace, owner, id)`,
        `CREATE INDEX IF NOT EXISTS ${name}_to_sweep ON ${table} (sweep_day) WHERE sweep_day IS NOT NULL`
      ]
    })

export const migrations: ReadonlyArray<Migration> = [
  { number: 1, name: "a table for each kind of record", readableFrom: 1, statements: createTables(firstKinds) },
  {
    number: 2,
    name: "tables for requests, and for what is good once",
    readableFrom: 1,
    statements: createTables(requestKinds)
  }
]

const ledger = (schema: string) => `${identifier(schema)}.migrations`
const lock = (schema: string) => `${identifier(schema)}.migration_lock`

/** What must be there before the lock can be taken. */
export const groundwork = (schema: string): ReadonlyArray<string> => [
  `CREATE TABLE IF NOT EXISTS ${ledger(schema)} (
  number int PRIMARY KEY,
  name text NOT NULL,
  readable_from int NOT NULL,
  applied timestamptz NOT NULL DEFAULT now()
)`,
  `CREATE TABLE IF NOT EXISTS ${lock(schema)} (id int PRIMARY KEY)`,
  `INSERT INTO ${lock(schema)} (id) VALUES (1) ON CONFLICT (id) DO NOTHING`
]

export const createSchema = (schema: string): string => `CREATE SCHEMA IF NOT EXISTS ${identifier(schema)}`
export const takeLock = (schema: string): string => `SELECT id FROM ${lock(schema)} WHERE id = 1 FOR UPDATE`
export const readLedger = (schema: string): string =>
  `SELECT number, readable_from FROM ${ledger(schema)} ORDER BY number`

const literal = (text: string) => `'${text.replaceAll("'", "''")}'`

export const stepsOf = (schema: string, migration: Migration): ReadonlyArray<string> => [
  ...migration.statements(schema),
  `INSERT INTO ${ledger(schema)} (number, name, readable_from)
VALUES (${migration.number}, ${literal(migration.name)}, ${migration.readableFrom})`
]
