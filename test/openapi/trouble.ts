import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { type Allowance, allowances, Limiter } from "../../core/ports/Limiter.ts"
import { TooManyRequests } from "../../core/rules/Refusal.ts"
import type { Dice } from "../../core/testing/Dice.ts"
import type { World } from "../given/World.ts"
import type { Drawn } from "./drawRequest.ts"

/** Limits that are reached when the test says so: all of them, or the pace of devices. */
export const makeLimit = () => {
  const limit: { reached: "none" | "all" | "pace" } = { reached: "none" }
  const refuses = (allowance: Allowance) =>
    limit.reached === "all" || (limit.reached === "pace" && allowance === allowances.devicePoll)
  const take: Limiter["Service"]["take"] = ({ allowance }) =>
    Effect.suspend(() =>
      refuses(allowance) ? Effect.fail(new TooManyRequests({ limit: "client", retryAfterSeconds: 7 })) : Effect.void
    )
  return { limit, layer: Layer.succeed(Limiter, { take }) }
}
export type Limit = ReturnType<typeof makeLimit>["limit"]

type Away = Parameters<World["away"]["add"]>[0]
const calls: readonly [Away, ...ReadonlyArray<Away>] = [
  "get client",
  "get grant",
  "insert client",
  "insert grant",
  "replace grant",
  "replace client",
  "remove client"
]

/** A store with a bug: every call ends in a defect. */
const breaking = <A>(world: World, body: Effect.Effect<A>): Effect.Effect<A> => {
  const { storage } = world.services
  const whole = { ...storage }
  const bug = () => Effect.die("a bug")
  return Effect.suspend(() => {
    Object.assign(storage, { get: bug, insert: bug, replace: bug, remove: bug, list: bug })
    return body
  }).pipe(Effect.ensuring(Effect.sync(() => Object.assign(storage, whole))))
}

/** Sends a request while the server has some trouble of its own, or none: by the last digit of `round`. */
export const sendInTrouble = Effect.fnUntraced(function* (
  world: World,
  limit: Limit,
  dice: Dice,
  { method, sent, target }: Drawn,
  round: number
) {
  const send = world.send(method, target, sent)
  const trouble = round % 10
  if (![1, 3, 5, 6, 9].includes(trouble)) return yield* send
  // What is remembered of clients is forgotten.
  yield* TestClock.adjust("6 seconds")
  if (trouble === 1) return yield* breaking(world, send)
  if (trouble === 3 || trouble === 9) {
    limit.reached = trouble === 3 ? "all" : "pace"
    const response = yield* send
    limit.reached = "none"
    return response
  }
  world.away.add(dice.pick(calls))
  world.away.add(dice.pick(calls))
  const response = yield* send
  world.away.clear()
  return response
})
