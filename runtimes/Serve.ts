import { Effect, Exit, type ManagedRuntime } from "effect"
import { secretJson } from "../core/http/answer.ts"
import type { HttpRequest, HttpResponse } from "../core/http/Http.ts"
import { Tessera } from "../core/http/Tessera.ts"

/** What a runtime asks for every request: the answer itself where nothing had to be waited for. It never throws. */
export type Serve = (request: HttpRequest) => HttpResponse | Promise<HttpResponse>

const goingAway: HttpResponse = secretJson(
  503,
  { error: "temporarily_unavailable", error_description: "The server is not ready, or is shutting down." },
  [["retry-after", "1"]]
)

const answerOf = <E>(exit: Exit.Exit<HttpResponse, E>): HttpResponse => (Exit.isSuccess(exit) ? exit.value : goingAway)

/** The authorization server that a runtime's layers hold, as a plain function. Build the runtime once, for all requests. */
export const serveWith = <E>(runtime: ManagedRuntime.ManagedRuntime<Tessera, E>): Serve => {
  return (request) => {
    const fiber = runtime.runFork(Effect.flatMap(Tessera, (tessera) => tessera.handle(request)))
    const exit = fiber.pollUnsafe()
    if (exit !== undefined) return answerOf(exit)
    return new Promise((resolve) => {
      fiber.addObserver((exit) => resolve(answerOf(exit)))
    })
  }
}
