import { Redis } from "ioredis"
import { pathOf, placeOf } from "../../../adapters/redis/RecordPlace.ts"
import { replaceScript } from "../../../adapters/redis/scripts.ts"
import { type Rows, rowOf, workspace } from "./Rows.ts"

interface Row {
  version: number
  readonly expires: string
  readonly body: string
}

const month = `${30 * 86_400_000}`
const line = /^1 (\d+) (\S+) [^\n]*\n/

/** Swaps. */
export const inRedis = async (url: string): Promise<Rows> => {
  const redis = new Redis(url, { protocol: 2 })
  const known = new Map<string, Row>()
  const place = (id: string) => placeOf("tessera", pathOf({ workspace, kind: "grant", id }))
  await redis.script("LOAD", replaceScript.lua)

  return {
    atOnce: 64,
    know: async (ids) => {
      const stored = await Promise.all(ids.map((id) => redis.get(place(id).record)))
      for (const [at, text] of stored.entries()) {
        const [head = "", version, expires = ""] = line.exec(text ?? "") ?? []
        known.set(ids[at] ?? "", { version: Number(version), expires, body: (text ?? "").slice(head.length) })
      }
    },
    use: async (ids) => {
      const keys: Array<string> = []
      const values: Array<string> = []
      const rows = ids.map((id) => rowOf(known, id))
      for (const id of ids) {
        const { record, shard } = place(id)
        const { body, expires, version } = rowOf(known, id)
        keys.push(record, shard)
        values.push(`${version}`, expires, month, body)
      }
      const letters = String(await redis.evalsha(replaceScript.sha, keys.length, ...keys, ...values))
      for (const [at, row] of rows.entries()) if (letters[at] === "1") row.version++
      return rows.map((_, at) => letters[at] === "1")
    }
  }
}
