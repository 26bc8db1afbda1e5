import type { Order, Plan } from "../../Plan.ts"
import { argument } from "../Argument.ts"
import { getWithBearer, post } from "../forms.ts"
import { obey } from "../obey.ts"
import { bearerOf, clientId, data, refreshOf, secret, tokens } from "../sealed/answers.ts"
import { kinds, seal } from "../sealed/Seal.ts"
import { drawNumbers } from "../tessera/drawNumbers.ts"
import { grantIdAt } from "../tessera/grants.ts"
import { inBatches } from "./inBatches.ts"
import type { Rows } from "./Rows.ts"

/** The sealed floor, with the store's own statement for all that have come meanwhile behind it, and nothing else. */
const url = argument("store", "")
const grants = Number(argument("grants", "1000"))

const open = async (): Promise<Rows> => {
  switch (url.slice(0, url.indexOf(":"))) {
    case "postgres":
      return (await import("./inPostgres.ts")).inPostgres(url)
    case "redis":
      return (await import("./inRedis.ts")).inRedis(url)
    default:
      return (await import("./inSqlite.ts")).inSqlite(url)
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
  return surely(isSwapped ? tokens(grant, number + 1) : undefined)
}

const headers = { "content-type": "application/json", "cache-control": "no-store" }
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
const credentials = { client_id: clientId, client_secret: secret }

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
