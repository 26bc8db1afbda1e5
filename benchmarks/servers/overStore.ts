import { Effect, Redacted } from "effect"
import { Redis } from "ioredis"
import { type Row as Columns, connect } from "../../adapters/postgres/Connection.ts"
import { connectionSettings, readPostgresUrl } from "../../adapters/postgres/Options.ts"
import { numberArray, textArray } from "../../adapters/postgres/rows.ts"
import { statementsOf } from "../../adapters/postgres/statements.ts"
import { pathOf, placeOf } from "../../adapters/redis/RecordPlace.ts"
import { replaceScript } from "../../adapters/redis/scripts.ts"
import type { Order, Plan } from "../Plan.ts"
import { bearerOf, credentials, data, headers, refreshOf, tokens } from "./sealed/answers.ts"
import { kinds, seal } from "./sealed/Seal.ts"
import { argument, getWithBearer, obey, post } from "./serving.ts"
import { openSqliteRows } from "./sqliteRows.ts"
import { drawNumbers, grantIdAt } from "./tessera/grants.ts"

/** Grants in a store, by the adapter's own statement for several and nothing around it. */
interface Rows {
  /** What is asked for afterwards. */
  readonly know: (ids: ReadonlyArray<string>) => Promise<void>
  /** Whether it was done to each, in one statement: read, or swapped as it was known. */
  readonly use: (ids: ReadonlyArray<string>) => Promise<ReadonlyArray<boolean>>
  /** What the adapter takes at once. */
  readonly atOnce: number
}

const workspace = "default"

/** What the plan has asked to be known. */
const rowOf = <Row>(known: ReadonlyMap<string, Row>, id: string): Row => {
  const row = known.get(id)
  if (row === undefined) throw new Error(`${id} is not known`)
  return row
}

const { getMany } = statementsOf("tessera", "grant", false)

/** Reads, and tells which version of each row is known, as the adapter does: the body is then left out. */
const inPostgres = async (url: string): Promise<Rows> => {
  const secret = Redacted.make(url)
  const address = await Effect.runPromise(readPostgresUrl(secret))
  const connection = await Effect.runPromise(connect(connectionSettings({ url: secret }, address)))
  const known = new Map<string, { readonly version: number; readonly expires: number }>()
  const read = (ids: ReadonlyArray<string>) =>
    new Promise<ReadonlyArray<Columns>>((resolve, reject) => {
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

interface RedisRow {
  version: number
  readonly expires: string
  readonly body: string
}

const month = `${30 * 86_400_000}`
const line = /^1 (\d+) (\S+) [^\n]*\n/

/** Swaps. */
const inRedis = async (url: string): Promise<Rows> => {
  const redis = new Redis(url, { protocol: 2 })
  const known = new Map<string, RedisRow>()
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

/** Swaps. */
const inSqlite = async (url: string): Promise<Rows> => {
  const rows = await openSqliteRows(url.slice("sqlite:".length))
  const known = new Map<string, { version: number; readonly expiresAt: number; readonly body: string }>()

  return {
    atOnce: 1000,
    know: async (ids) => {
      for (const id of ids) known.set(id, { ...rows.read(id) })
    },
    use: async (ids) => {
      rows.begin.run()
      const swapped = ids.map((id) => {
        const row = rowOf(known, id)
        const isSwapped = rows.swap(id, row)
        if (isSwapped) row.version++
        return isSwapped
      })
      rows.commit.run()
      return swapped
    }
  }
}

type Run = (ids: ReadonlyArray<string>) => Promise<ReadonlyArray<boolean>>
type Answer = (answer: boolean) => void

/** One batch under way; what comes meanwhile is the next. The first waits for what else the turn brings. */
const inBatches = (run: Run, atOnce: number): ((id: string) => Promise<boolean>) => {
  let ids: Array<string> = []
  let answers: Array<Answer> = []
  let isBusy = false

  const work = async () => {
    while (ids.length > 0) {
      const [batch, waiting] = [ids.slice(0, atOnce), answers.slice(0, atOnce)]
      ids = ids.slice(atOnce)
      answers = answers.slice(atOnce)
      const done = await run(batch)
      for (const [at, answer] of waiting.entries()) answer(done[at] === true)
    }
    isBusy = false
  }

  return (id) =>
    new Promise((resolve) => {
      ids.push(id)
      answers.push(resolve)
      if (isBusy) return
      isBusy = true
      setImmediate(work)
    })
}

/** The sealed floor, with the store's own statement for all that have come meanwhile behind it, and nothing else. */
const url = argument("store", "")
const grants = Number(argument("grants", "1000"))

const open = async (): Promise<Rows> => {
  switch (url.slice(0, url.indexOf(":"))) {
    case "postgres":
      return inPostgres(url)
    case "redis":
      return inRedis(url)
    default:
      return inSqlite(url)
  }
}

const rows = await open()
const use = inBatches(rows.use, rows.atOnce)
const idOf = (grant: Uint8Array) => Buffer.from(grant).toString("base64url")
/** A token that comes again is not opened again. */
const opened = new Map<string, string>()

/** Nothing is ever refused here: what would have to be is a fault of the benchmark. */
const surely = <A>(value: A | undefined): A => {
  if (value === undefined) throw new Error("the floor knows nothing of this request")
  return value
}

const check = async (authorization: string | null) => {
  const isThere = await use(surely(opened.get(authorization ?? "")))
  return surely(isThere ? data() : undefined)
}

const refresh = async (body: string) => {
  const { grant, number } = surely(refreshOf(body))
  const isSwapped = await use(idOf(grant))
  return surely(isSwapped ? tokens("refresh_token", grant, number + 1) : undefined)
}

const answer = (body: string) => new Response(body, { headers })

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  development: false,
  fetch: async (request) =>
    request.method === "POST"
      ? answer(await refresh(await request.text()))
      : answer(await check(request.headers.get("authorization")))
})

const later = () => Date.now() + 86_400_000

/** The same requests as Tessera's. */
const plan = async ({ workload, count }: Order): Promise<Plan> => {
  const ids = drawNumbers(count, grants).map(grantIdAt)
  const sealed = (kind: 2 | 3) => ids.map((id) => seal(kind, Buffer.from(id, "base64url"), 1, later()))
  await rows.know(ids)
  switch (workload) {
    case "bearer_check": {
      const tokens = sealed(kinds.access)
      for (const [at, token] of tokens.entries()) opened.set(bearerOf(token), ids[at] ?? "")
      return getWithBearer("/rest/companies", tokens)
    }
    case "refresh":
      return post(
        "/oauth/token",
        { grant_type: "refresh_token", refresh_token: "{value}", ...credentials },
        "chain",
        sealed(kinds.refresh)
      )
    default:
      throw new Error(`a floor over a store has no ${workload}`)
  }
}

await obey(server.port ?? 0, plan)
