import { randomBytes } from "node:crypto"
import { Effect } from "effect"
import postgres from "postgres"

export interface Database {
  readonly url: string
  /** Drops it with everything in it, also under open connections. */
  readonly drop: Effect.Effect<void>
}

/** Says something as the superuser, over a connection of its own. */
export const tell = (url: string, ...statements: ReadonlyArray<string>) =>
  Effect.promise(async () => {
    const sql = postgres(url, { max: 1, onnotice: () => undefined })
    const answers: Array<ReadonlyArray<Record<string, unknown>>> = []
    for (const statement of statements) answers.push(await sql.unsafe(statement))
    await sql.end()
    return answers.at(-1) ?? []
  })

/** A database of one's own on a server that is shared. */
export const freshDatabase = (server: string): Effect.Effect<Database> => {
  const name = `store_${randomBytes(6).toString("hex")}`
  const url = new URL(server)
  url.pathname = `/${name}`
  return tell(server, `CREATE DATABASE ${name}`).pipe(
    Effect.as({ url: url.href, drop: Effect.asVoid(tell(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)) })
  )
}
