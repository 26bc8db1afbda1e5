import { Effect, Redacted } from "effect"
import { connect, type Row } from "../../../adapters/postgres/Connection.ts"
import { connectionSettings, readPostgresUrl } from "../../../adapters/postgres/Options.ts"
import { numberArray, textArray } from "../../../adapters/postgres/rows.ts"
import { statementsOf } from "../../../adapters/postgres/statements.ts"
import { type Rows, workspace } from "./Rows.ts"

const { getMany } = statementsOf("tessera", "grant", false)

/** Reads, and tells which version of each row is known, as the adapter does: the body is then left out. */
export const inPostgres = async (url: string): Promise<Rows> => {
  const secret = Redacted.make(url)
  const address = await Effect.runPromise(readPostgresUrl(secret))
  const connection = await Effect.runPromise(connect(connectionSettings({ url: secret }, address)))
  const known = new Map<string, { readonly version: number; readonly expires: number }>()
  const read = (ids: ReadonlyArray<string>) =>
    new Promise<ReadonlyArray<Row>>((resolve, reject) => {
      const versions = numberArray(ids.map((id) => known.get(id)?.version ?? null))
      const expiries = numberArray(ids.map((id) => known.get(id)?.expires ?? null))
      const parameters = [textArray(ids.map(() => workspace)), textArray(ids), ids.length, versions, expiries]
      connection.query(getMany, parameters, (rows, failure) => (rows === undefined ? reject(failure) : resolve(rows)))
    })

  return {
    atOnce: 128,
    know: async (ids) => {
      for (const [n, , version, expires] of await read(ids)) {
        known.set(ids[Number(n) - 1] ?? "", { version: Number(version), expires: Number(expires) })
      }
    },
    use: async (ids) => {
      const found = ids.map(() => false)
      for (const [n] of await read(ids)) found[Number(n) - 1] = true
      return found
    }
  }
}
