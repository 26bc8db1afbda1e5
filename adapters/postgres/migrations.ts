import type { Kind } from "../../core/ports/Storage.ts"
import { identifier, tableOf } from "./statements.ts"

/**
 * A step of the schema. Old and new releases share the database, so a step only adds: a table, a nullable column, an
 * index. Rows that an old release writes must stay valid. Every statement has `IF NOT EXISTS`, for databases that do
 * not roll back DDL.
 */
export interface Migration {
  readonly number: number
  readonly name: string
  /** The oldest release that can work with the result, by the number of its newest migration. */
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

/** Extra columns of each kind's table. A step names its kinds; a later kind needs another step. */
type Columns = { readonly [kind in Kind]?: ReadonlyArray<string> }

const state = generated("state", "text", "body ->> '_tag'")
const client = generated("client", "text", "body ->> 'client'")

/** Columns for queries by operators. PostgreSQL generates them from the body, so no release can forget them. */
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

const workspaceKind = {
  workspace: [generated("issuer", "text", "body ->> 'issuer'")]
} satisfies Columns

/**
 * Ids sort by code unit whatever the database's collation. A fill factor leaves room for an update on the same page.
 */
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
        // Only the day is indexed, so that a refresh does not touch the index.
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
  },
  { number: 3, name: "a table for workspaces", readableFrom: 1, statements: createTables(workspaceKind) },
  { number: 4, name: "a table for signing keys", readableFrom: 1, statements: createTables({ signing: [] }) },
  { number: 5, name: "a table for logout calls", readableFrom: 1, statements: createTables({ logout: [] }) }
]

const ledger = (schema: string) => `${identifier(schema)}.migrations`
const lock = (schema: string) => `${identifier(schema)}.migration_lock`

/** Must exist before the lock can be taken. */
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
