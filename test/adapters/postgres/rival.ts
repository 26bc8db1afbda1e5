import { Effect, Option, Redacted } from "effect"
import { layer } from "../../../adapters/postgres/Postgres.ts"
import { Storage } from "../../../core/ports/Storage.ts"
import { drawFrom } from "../../../core/testing/Draw.ts"

/**
 * Counts up records that a rival counts up too, in batches of any order, and prints how often it won and lost. `adding`:
 * each time with a record that is new.
 */
const [url = "", name = "", adding = "", rounds = "0", ...ids] = process.argv.slice(2)
const draw = drawFrom(name)
const said = { won: 0, lost: 0 }
let added = 0

const countUp = (id: string) =>
  Effect.gen(function* () {
    const store = yield* Storage
    const found = Option.getOrThrow(yield* store.get({ workspace: "w", kind: "grant", id }))
    const next = { ...found, body: { count: found.version } }
    const once = {
      workspace: "w",
      kind: "once",
      id: `${name} ${added++}`,
      owner: "o",
      expiresAt: null,
      body: {}
    } as const
    const swap =
      adding === "adding" ? store.insertAndReplace?.([once], found.version, next) : store.replace(found.version, next)
    yield* Effect.matchEffect(swap ?? Effect.die("no such verb"), {
      onSuccess: () => Effect.sync(() => said.won++),
      onFailure: (error) => (error._tag === "Conflict" ? Effect.sync(() => said.lost++) : Effect.fail(error))
    })
  })

const shuffled = () => {
  const order = [...ids]
  for (let i = order.length - 1; i > 0; i--) {
    const j = draw.below(i + 1)
    const held = order[i] ?? ""
    order[i] = order[j] ?? ""
    order[j] = held
  }
  return order
}

const round = Effect.suspend(() => Effect.forEach(shuffled(), countUp, { concurrency: "unbounded", discard: true }))

await Effect.runPromise(
  Effect.repeat(round, { times: Number(rounds) - 1 }).pipe(Effect.provide(layer({ url: Redacted.make(url) })))
)
console.log(JSON.stringify(said))
