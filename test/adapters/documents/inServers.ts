import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { createServer } from "node:tls"
import { ConfigProvider, Context, Effect, ManagedRuntime, Redacted, Result } from "effect"
import * as memory from "../../../adapters/memory/Memory.ts"
import { json } from "../../../core/http/answer.ts"
import { bound, type Endpoint, type Services } from "../../../core/http/Route.ts"
import { ClientId } from "../../../core/rules/Id.ts"
import { Tessera } from "../../../core/Tessera.ts"
import { parseKeyRing } from "../../../core/token/KeyRing.ts"
import { WorkspaceId } from "../../../core/workspace/Workspace.ts"
import { application } from "../../../runtimes/server/application.ts"
import { readSettings } from "../../../runtimes/server/Settings.ts"
import { createTessera } from "../../../runtimes/tessera.ts"

/** What a whole server fetches, under whichever runtime this is: a line of JSON for each of the two. */
const [folder = ""] = process.argv.slice(2)
const read = (name: string) => readFileSync(join(folder, name), "utf8")

const keys = JSON.stringify({ keys: [{ kty: "OKP", crv: "Ed25519", x: "A".repeat(43), kid: "a" }] })
const host = createServer({ key: read("localhost.key"), cert: read("localhost.pem") }, (socket) => {
  socket.on("error", () => undefined)
  socket.on("data", () =>
    socket.end(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${keys.length}\r\n\r\n${keys}`)
  )
})
await new Promise<void>((resolve) => host.listen(0, "127.0.0.1", resolve))
// It listens on a port.
const at = `localhost:${(host.address() as AddressInfo).port}`

/** Bun tells its modules, and Node those of its own. */
const loaded = (): ReadonlyArray<string> => {
  const own: unknown = Reflect.get(process, "moduleLoadList")
  const names = [...(Array.isArray(own) ? own : []), ...Object.keys(createRequire(import.meta.url).cache)].map(String)
  if (names.length === 0) throw new Error("this runtime does not tell what it has loaded")
  return ["NativeModule https", "overHttps.ts"].filter((name) => names.some((one) => one.endsWith(name)))
}

const find = ({ clientKeys }: Services, jwksUri: string) =>
  clientKeys
    .find(
      { workspace: WorkspaceId.make("main"), client: ClientId.make("c".repeat(22)) },
      { _tag: "Fetched", jwksUri },
      "a"
    )
    .pipe(Effect.match({ onFailure: ({ reason }): string => reason, onSuccess: (found) => `${found.length} found` }))

const found = (services: Services) =>
  Effect.forEach([`https://${at}/keys`, "https://127.0.0.1/keys"], (uri) => find(services, uri))

const probe: Endpoint = {
  path: "/probe",
  match: "exact",
  methods: {
    GET: bound(
      { id: "probe", heading: "Toys", summary: "Probe", callers: [{ shows: "nothing" }], answers: [], faults: [] },
      (services) => () => Effect.map(found(services), (came) => json(200, { came }))
    )
  },
  errors: "oauth",
  cors: false
}

const keyRing = "A".repeat(43)

const embedded = createTessera({
  issuer: "http://127.0.0.1:3000",
  storage: memory.layer,
  keys: keyRing,
  owner: { signedIn: () => undefined, signInAt: (returnTo) => returnTo },
  endpoints: [probe],
  log: "none",
  fetch: { allow: [at], ca: read("private.pem") }
})
await embedded.ready()

const settings = await Effect.runPromise(
  readSettings.pipe(
    Effect.provideService(
      ConfigProvider.ConfigProvider,
      ConfigProvider.fromEnvRecord({
        DATABASE_URL: "memory:",
        FETCH_ALLOW: `keys.internal, ${at}`,
        FETCH_CA: join(folder, "private.pem")
      })
    )
  )
)
const ring = Result.getOrThrow(parseKeyRing(Redacted.make(keyRing)))
const runtime = ManagedRuntime.make(application(settings, ring))
const { services } = Context.get(await runtime.context(), Tessera)
const before = loaded()

const answer = await embedded.handle(new Request("http://127.0.0.1:3000/probe"))
const { came } = JSON.parse(await answer.text())
console.log(JSON.stringify({ server: "embedded", before, came, after: loaded().length > 0 }))
console.log(JSON.stringify({ server: "application", came: await runtime.runPromise(found(services)) }))

await embedded.close()
await runtime.dispose()
host.close()
