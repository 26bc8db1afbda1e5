import "../../runtimes/serve/platformHashing.ts"
import { expect, test } from "bun:test"
import { Effect } from "effect"
import { Issuer, type Workspace, WorkspaceId } from "../../core/workspace/Workspace.ts"
import { bearing, form, formHeaders, jsonHeaders, jsonOf, text } from "../given/flow.ts"
import { inWorld, type World } from "../given/World.ts"

/** Each takes the same, however many there are: 10,000 would take 20 MB. */
const uses = 1000

const hostOf = (at: number): string => `w${at}.example`

const workspaces = (count: number): ReadonlyArray<Workspace> =>
  Array.from({ length: count }, (_, at) => ({
    id: WorkspaceId.make(`w${at}`),
    issuer: Issuer.make(`https://${hostOf(at)}`),
    name: `Workspace ${at}`
  }))

/** A client of its own that gets a token and shows it. */
const use = Effect.fnUntraced(function* (world: World, host: string) {
  const registered = yield* world.send("POST", "/oauth/register", {
    host,
    headers: jsonHeaders,
    body: JSON.stringify({ grant_types: ["client_credentials"], token_endpoint_auth_method: "client_secret_post" })
  })
  const { client_id, client_secret } = jsonOf(registered)
  const answered = yield* world.send("POST", "/oauth/token", {
    host,
    headers: formHeaders,
    body: form({ grant_type: "client_credentials", client_id: text(client_id), client_secret: text(client_secret) })
  })
  const { access_token } = jsonOf(answered)
  const { status } = yield* world.send("GET", "/rest/companies", { host, headers: bearing(text(access_token)) })
  expect(status).toBe(200)
})

const collected = () => {
  for (let again = 0; again < 3; again++) Bun.gc(true)
  return process.memoryUsage().heapUsed
}

/** What a server takes that has so many workspaces, all of them in use. */
const heapOf = (count: number) => {
  const before = collected()
  return inWorld(
    Effect.fnUntraced(function* (world) {
      for (let at = 0; at < uses; at++) yield* use(world, hostOf(at % count))
      return collected() - before
    }),
    { workspaces: workspaces(count) }
  )
}

test("a workspace in use takes 2 kB of memory, beyond what its client would in another's", async () => {
  await heapOf(100)
  const [one, many] = [await heapOf(1), await heapOf(uses)]
  expect((many - one) / uses).toBeLessThan(2048)
}, 60_000)
