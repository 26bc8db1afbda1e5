import * as memory from "../../adapters/memory/Memory.ts"
import { createTessera } from "../../runtimes/tessera.ts"

/** A program that makes a server, uses it, and is done: nothing of the server's may keep it from ending. */
const auth = createTessera({
  issuer: "http://127.0.0.1:3000",
  storage: memory.layer,
  keys: "A".repeat(43),
  owner: { signedIn: () => undefined, signInAt: (returnTo) => returnTo }
})
await auth.ready()
const { id } = await auth.apiKeys.create({ name: "Key" })
console.log(id.length)
