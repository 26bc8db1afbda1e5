import { Effect, Layer, Scope } from "effect"
import { layerAtOnce } from "../../adapters/memory/MemoryStorage.ts"
import { createTessera, type HostingTessera } from "../../runtimes/tessera.ts"

/** A program that says what a server keeps, in bytes, beside its store, of 1000 clients in so many workspaces, all in use. */
const clients = 1000
const count = Number(process.argv[2])

const collected = () => {
  for (let again = 0; again < 3; again++) Bun.gc(true)
  return process.memoryUsage().heapUsed
}

const use = async (auth: HostingTessera, id: string) => {
  const { client, secret } = await auth.for(id).clients.register({
    client_name: "Job",
    grant_types: ["client_credentials"],
    token_endpoint_auth_method: "client_secret_post"
  })
  const answer = await auth.handle(
    new Request(`https://${id}.example/oauth/token`, {
      method: "POST",
      body: new URLSearchParams({
        grant_type: "client_credentials",
        client_id: client.id,
        client_secret: secret ?? ""
      })
    })
  )
  // The shape is RFC 6749's; with any other, the guard admits no caller.
  const { access_token } = (await answer.json()) as { readonly access_token: string }
  const headers = { authorization: `Bearer ${access_token}` }
  const checked = await auth.guard(new Request(`https://${id}.example/orders`, { headers }), { scopes: ["api"] })
  if (checked._tag !== "Admitted") throw new Error("a client was not admitted")
}

const store = Effect.runSync(Layer.build(layerAtOnce).pipe(Effect.provideService(Scope.Scope, Scope.makeUnsafe())))

/** The server is gone when this ends, and its store is not. */
const whileServing = async (): Promise<number> => {
  const auth = createTessera({
    workspaces: Array.from({ length: count }, (_, at) => ({ id: `w${at}`, issuer: `https://w${at}.example` })),
    storage: Layer.succeedContext(store),
    keys: "A".repeat(43),
    owner: { signedIn: () => undefined, signInAt: (returnTo) => returnTo },
    log: "none"
  })
  for (let at = 0; at < clients; at++) await use(auth, `w${at % count}`)
  const heap = collected()
  await auth.close()
  return heap
}

const served = await whileServing()

/** A stack that was deep keeps what lay in it from being collected, until something else lies there. */
const overwritten = (depth: number): number => (depth === 0 ? 0 : 1 + overwritten(depth - 1))

let left = collected()
for (let turn = 0; turn < 20; turn++) {
  overwritten(1000)
  await new Promise((resolve) => setTimeout(resolve))
  left = Math.min(left, collected())
}
console.log(served - left)
