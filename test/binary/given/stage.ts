import { Effect } from "effect"
import { serveWith } from "../../../core/serve.ts"
import { listen } from "../../../runtimes/bun/listen.ts"
import { noProxies } from "../../../runtimes/serve/peer.ts"
import { scoped } from "../../harness/scoped.ts"
import { app } from "../../runtimes/given/app.ts"

/** The app that every runtime plays the transcript on, as a program: says its port, and runs until it is killed. */
const [issuer = ""] = process.argv.slice(2)

await scoped(function* () {
  const { port } = yield* listen({
    host: "127.0.0.1",
    port: 0,
    serve: serveWith(app(issuer)),
    trustedProxies: noProxies,
    requestTimeout: 10_000,
    shutdownTimeout: 1000
  })
  process.stdout.write(`${port}\n`)
  yield* Effect.never
})
