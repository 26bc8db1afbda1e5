import { type Kind, recordKinds } from "../../core/ports/Storage.ts"

/** Quoted, so that any schema name works. */
export const identifier = (name: string): string => `"${name.replaceAll('"', '""')}"`

/** Always with its schema: a pooler does not keep a `search_path`. */
export const tableOf = (schema: string, kind: Kind): string => `${identifier(schema)}.${recordKinds[kind].table}`

/**
 * All statements on a table. Columns are named, because a newer release may add some and prepared statements must not
 * break. Several rows come as an array for each column; `n` is a row's position, from 1. Bodies come as one JSON
 * array, which is cheaper than a quoted text array. `getMany` gets the cached version and expiry of each record, and
 * leaves out the body of a row that still has both: that is most of a row's cost.
 */
export interface Statements {
  readonly get: string
  readonly getMany: string
  readonly insert: string
  readonly insertMany: string
  readonly replace: string
  readonly replaceMany: string
  readonly remove: string
  readonly list: string
  readonly expired: string
  readonly removeExpired: string
  readonly scan: string
}

/**
 * Inserts rows of one kind and replaces rows of another, each where all that it goes with was inserted: `$12` has their
 * ids, as an array for each. Answers what was inserted, by id, and what was replaced, by position. The replacement reads
 * what was inserted, so it waits for all of it.
 */
export const insertAndReplaceOf = (schema: string, added: Kind, kind: Kind): string => `WITH added AS (
  INSERT INTO ${tableOf(schema, added)} (workspace, id, owner, version, expires, body)
  SELECT a.workspace, a.id, a.owner, 1, a.expires, a.body
  FROM (SELECT unnest($1::text[]) AS workspace, unnest($2::text[]) AS id, unnest($3::text[]) AS owner,
    unnest($4::bigint[]) AS expires, jsonb_array_elements($5::jsonb) AS body) a
  ON CONFLICT (workspace, id) DO NOTHING RETURNING id
), replaced AS (
  UPDATE ${tableOf(schema, kind)} t SET version = t.version + 1, expires = u.expires, body = u.body
  FROM (SELECT unnest($6::text[]) AS workspace, unnest($7::text[]) AS id, unnest($8::bigint[]) AS version,
    unnest($9::bigint[]) AS expires, jsonb_array_elements($10::jsonb) AS body, generate_series(1, $11::int) AS n,
    jsonb_array_elements($12::jsonb) AS needs) u
  WHERE t.workspace = u.workspace AND t.id = u.id AND t.version = u.version
    AND (SELECT coalesce(jsonb_agg(id), '[]') FROM added) @> u.needs
  RETURNING u.n
)
SELECT id, NULL::int AS n FROM added UNION ALL SELECT NULL, n FROM replaced`

/**
 * `alone`: all rows are of one workspace, the plain value `$1`, so that Citus can route to its shard. Otherwise `$1`
 * is an array like the others.
 */
export const statementsOf = (schema: string, kind: Kind, alone: boolean): Statements => {
  const t = tableOf(schema, kind)
  const workspaces = alone ? "" : "unnest($1::text[]) AS workspace, "
  const workspace = alone ? "$1::text" : "u.workspace"
  return {
    get: `SELECT owner, version, expires, body FROM ${t} WHERE workspace = $1 AND id = $2`,

    getMany: `SELECT u.n, t.owner, t.version, t.expires,
  CASE WHEN t.version = u.version AND t.expires IS NOT DISTINCT FROM u.expires THEN NULL ELSE t.body END
FROM (SELECT ${workspaces}unnest($2::text[]) AS id, generate_series(1, $3::int) AS n,
  unnest($4::bigint[]) AS version, unnest($5::bigint[]) AS expires) u
JOIN ${t} t ON t.workspace = ${workspace} AND t.id = u.id`,

    insert: `INSERT INTO ${t} (workspace, id, owner, version, expires, body)
VALUES ($1, $2, $3, 1, $4, $5) ON CONFLICT (workspace, id) DO NOTHING RETURNING 1`,

    insertMany: `INSERT INTO ${t} (workspace, id, owner, version, expires, body)
SELECT ${workspace}, u.id, u.owner, 1, u.expires, u.body
FROM (SELECT ${workspaces}unnest($2::text[]) AS id, unnest($3::text[]) AS owner, unnest($4::bigint[]) AS expires,
  jsonb_array_elements($5::jsonb) AS body) u
ON CONFLICT (workspace, id) DO NOTHING RETURNING id`,

    replace: `UPDATE ${t} SET version = version + 1, expires = $4, body = $5
WHERE workspace = $1 AND id = $2 AND version = $3 RETURNING 1`,

    replaceMany: `UPDATE ${t} t SET version = t.version + 1, expires = u.expires, body = u.body
FROM (SELECT ${workspaces}unnest($2::text[]) AS id, unnest($3::bigint[]) AS version, unnest($4::bigint[]) AS expires,
  jsonb_array_elements($5::jsonb) AS body, generate_series(1, $6::int) AS n) u
WHERE t.workspace = ${workspace} AND t.id = u.id AND t.version = u.version RETURNING u.n`,

    remove: `DELETE FROM ${t} WHERE workspace = $1 AND id = $2`,

    list: `SELECT id, owner, version, expires, body FROM ${t}
WHERE workspace = $1 AND owner = $2 AND id > $3 ORDER BY id LIMIT $4`,

    expired: `SELECT workspace, id FROM ${t}
WHERE sweep_day <= $1::bigint / 86400000 AND expires <= $1::bigint ORDER BY sweep_day LIMIT $2`,

    // Checks the time again, because the record may have been prolonged since it was found.
    removeExpired: `DELETE FROM ${t} t
USING (SELECT unnest($1::text[]) AS workspace, unnest($2::text[]) AS id) u
WHERE t.workspace = u.workspace AND t.id = u.id AND t.expires <= $3::bigint RETURNING 1`,

    scan: `SELECT workspace, id, owner, version, expires, body FROM ${t}
WHERE (workspace, id) > ($1, $2) ORDER BY workspace, id LIMIT $3`
  }
}
