import { Effect, Exit, Scope } from "effect"
import { entrant, hold } from "../measure/contest.ts"
import { type Generator, startGenerator } from "../measure/Generator.ts"
import { installPeers } from "../measure/installPeers.ts"
import type { Subject } from "../measure/Subject.ts"
import { type PeerOptions, peer, tessera } from "../servers/start.ts"
import type { Workload } from "../Workload.ts"
import type { Part, Setting } from "./Part.ts"

const part = "peers"
/** Peers have to be asked for each of their refresh tokens, so there are three for each connection. */
const values = 192

const runtimes = ["bun", "node"] as const

const candidates = (name: string, script: string, args: ReadonlyArray<ReadonlyArray<string>> = [[]]) =>
  runtimes.flatMap((runtime) => args.map((own): PeerOptions => ({ name, script, runtime, args: own })))

const field: ReadonlyArray<ReadonlyArray<PeerOptions>> = [
  candidates("oidc-provider", "oidcProvider.ts"),
  candidates("@jmondi/oauth2-server", "jmondi.ts"),
  candidates("@node-oauth/oauth2-server", "nodeOauth.ts"),
  candidates("better-auth", "betterAuth.ts", [["--database=memory"], ["--database=sqlite"]])
]

/** Of a peer's ways to run, the one that costs it least for this workload. */
const cheapest = (setting: Setting, generator: Generator, workload: Workload, options: ReadonlyArray<PeerOptions>) =>
  Effect.gen(function* () {
    let best: { readonly subject: Subject; readonly scope: Scope.Closeable; readonly cpu: number } | undefined
    for (const option of options) {
      const scope = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))
      const subject = yield* Effect.provideService(peer(setting, option), Scope.Scope, scope)
      const trial = entrant({ generator, options: setting.options, workload, subjects: [subject], values })
      yield* trial.warm
      const { cpu } = yield* trial.turn
      setting.say(
        `${part}: ${workload}: ${option.name} ${option.runtime} ${option.args.join(" ")} ${cpu.toFixed(0)} µs`
      )
      const loser = best === undefined || cpu < best.cpu ? best?.scope : scope
      if (best === undefined || cpu < best.cpu) best = { subject, scope, cpu }
      if (loser !== undefined) yield* Scope.close(loser, Exit.void)
    }
    if (best === undefined) return yield* Effect.die(new Error("a peer without a way to run"))
    return best.subject
  })

const compared: ReadonlyArray<Workload> = ["client_credentials", "code_exchange", "refresh"]

export const peers: Part = {
  name: part,
  about: "Tessera beside other authorization servers, each on the runtime that is cheaper for it",
  run: Effect.fnUntraced(function* (setting) {
    const { options, say } = setting
    yield* installPeers(say)
    const generator = yield* startGenerator()
    const held = yield* Effect.forEach(compared, (workload) =>
      Effect.scoped(
        Effect.gen(function* () {
          const subjects = [yield* tessera(setting)]
          for (const options of field) subjects.push(yield* cheapest(setting, generator, workload, options))
          const entrants = subjects.map((subject) =>
            entrant({ generator, options, workload, subjects: [subject], values })
          )
          return yield* hold({ part, workload, entrants }, options, say)
        })
      )
    )
    return held.flat()
  })
}
