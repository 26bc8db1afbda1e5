import type { Server } from "node:http"
import { createInterface } from "node:readline"
import type { Order, Plan, Ready, Rows, RowsAsked } from "../Plan.ts"

/** `--name=value` of the command line. */
export const argument = (name: string, fallback: string): string => {
  const start = `--${name}=`
  return process.argv.find((one) => one.startsWith(start))?.slice(start.length) ?? fallback
}

/** Listens on a free port of this machine, and says which. */
export const portOf = (server: Server): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      if (address === null || typeof address === "string") reject(new Error("not listening on a port"))
      else resolve(address.port)
    })
  })

const say = (value: Ready | Plan | Rows | { readonly failure: string }) =>
  process.stdout.write(`${JSON.stringify(value)}\n`)

/**
 * What the making of a plan leaves behind is no part of what is measured. Never a collection of everything on the spot:
 * both runtimes throw compiled code away with it. Node has its own with `--expose-gc` only.
 */
const collectGarbage = (): void => {
  if (typeof Bun === "undefined") globalThis.gc?.({ type: "minor" })
  else Bun.gc(false)
}

/** A server under test tells where it listens, answers each order with a plan, and ends with its input. */
export const obey = async (
  port: number,
  prepare: (order: Order) => Plan | Promise<Plan>,
  countRows: () => Promise<number> = () => Promise.reject(new Error("this server has no store"))
): Promise<void> => {
  say({ port })
  for await (const line of createInterface({ input: process.stdin })) {
    try {
      // What the harness writes.
      const asked = JSON.parse(line) as Order | RowsAsked
      if ("rows" in asked) {
        say({ rows: await countRows() })
        continue
      }
      const plan = await prepare(asked)
      collectGarbage()
      say(plan)
    } catch (error) {
      say({ failure: error instanceof Error ? (error.stack ?? error.message) : String(error) })
    }
  }
  process.exit(0)
}

export const redirectUri = "https://app.example.org/callback"
export const verifier = "a-code-verifier-of-at-least-43-characters-~._"

const formHeaders = { "content-type": "application/x-www-form-urlencoded" }

/** A form of which one field may be `{value}`, which stays as it is. */
export const formOf = (fields: Readonly<Record<string, string>>): string =>
  Object.entries(fields)
    .map(([name, value]) => `${name}=${value === "{value}" ? value : encodeURIComponent(value)}`)
    .join("&")

export const post = (
  path: string,
  fields: Readonly<Record<string, string>>,
  use: Plan["use"] = "none",
  values: ReadonlyArray<string> = []
): Plan => ({ method: "POST", path, headers: formHeaders, body: formOf(fields), use, values, expect: 200 })

export const get = (path: string): Plan => ({
  method: "GET",
  path,
  headers: {},
  body: "",
  use: "none",
  values: [],
  expect: 200
})

export const getWithBearer = (path: string, tokens: ReadonlyArray<string>): Plan => ({
  ...get(path),
  headers: { authorization: "Bearer {value}" },
  use: "cycle",
  values: tokens
})

export const registration: Plan = {
  method: "POST",
  path: "/oauth/register",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({
    client_name: "Benchmark",
    redirect_uris: [redirectUri],
    token_endpoint_auth_method: "client_secret_post",
    grant_types: ["authorization_code", "refresh_token"]
  }),
  use: "none",
  values: [],
  expect: 201
}
