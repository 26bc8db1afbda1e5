import { Effect, Fiber, Option, Result } from "effect"
import type { HttpResponse } from "../../../core/http/Http.ts"
import { listen } from "../../../runtimes/node/listen.ts"
import { noProxies } from "../../../runtimes/serve/peer.ts"
import { tlsFilesOf } from "../../../runtimes/server/Tls.ts"

/**
 * A server with TLS of its own, in a Node of its own. Says its port, then `began` for a request to `/held`, which waits for
 * a line on standard input; `closed` once SIGTERM has ended it.
 */
const [cert = "", key = ""] = process.argv.slice(2)
const say = (line: string) => process.stdout.write(`${line}\n`)
const answer: HttpResponse = { status: 200, headers: [["content-type", "text/plain"]], body: "here" }

const files = tlsFilesOf(Option.some(cert), Option.some(key), "https://auth.example.com")
if (Result.isFailure(files) || files.success === undefined) throw new Error("no pair")

const serving = listen({
  host: "127.0.0.1",
  port: 0,
  tls: { ...files.success, every: "5 millis" },
  serve: ({ path }) =>
    path === "/held"
      ? new Promise((resolve) => {
          process.stdin.once("data", () => resolve(answer))
          say("began")
        })
      : answer,
  trustedProxies: noProxies,
  requestTimeout: 5000,
  shutdownTimeout: 0
}).pipe(
  Effect.tap(({ port }) => Effect.sync(() => say(String(port)))),
  Effect.andThen(Effect.never),
  Effect.scoped
)
const fiber = Effect.runFork(serving)
process.once("SIGTERM", () => fiber.interruptUnsafe())
await Effect.runPromise(Fiber.await(fiber))
say("closed")
process.exit(0)
