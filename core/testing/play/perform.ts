import { Effect } from "effect"
import { beginning, isInDoubt, type State } from "../model/State.ts"
import type { World } from "../model/World.ts"
import { type Command, type Presented, type Ref, type Script, type Step, stepsOf } from "../script/Command.ts"
import { type Answered, explain, type Objection } from "./explain.ts"
import { blank, type Ledger, needs, withAnswer } from "./Ledger.ts"
import type { Player } from "./Player.ts"

/** The first answer that the model cannot explain. */
export interface Difference {
  readonly command: Command
  readonly answers: ReadonlyArray<Answered>
  readonly objections: ReadonlyArray<Objection>
}

interface Playthrough {
  readonly difference: Difference | null
  /** The rows of the model's tables that explained something. */
  readonly rules: ReadonlySet<string>
  /** How many commands were really played. */
  readonly played: number
}

/** A token says by itself whose it is. */
const clientsBehind = (token: Presented | null, state: State): ReadonlyArray<Ref> => {
  const access = token?.kind === "access" ? state.access.get(token.ref) : undefined
  const grant = access === undefined ? undefined : state.grants.get(access.grant)
  return grant === undefined ? [] : [grant.client, ...(access?.actors ?? []).map(({ client }) => client)]
}

const clientsOf = (step: Step, state: State): ReadonlyArray<Ref> => {
  switch (step._tag) {
    case "Redeem":
    case "Poll":
    case "Refresh":
    case "ClientCredentials":
    case "OwnGrant":
    case "Bring":
    case "Revoke":
    case "Introspect":
      return [step.by]
    case "Authorize":
    case "Push":
    case "Visit":
    case "AskDevice":
    case "AllowExchange":
    case "AnswerClient":
    case "DeleteClient":
    case "Rekey":
      return [step.client]
    case "Attest":
      return step.names === null ? [] : [step.names]
    case "SignOut": {
      const hinted = typeof step.hint === "number" ? state.idTokens.get(step.hint)?.client : undefined
      return [...(step.client === null ? [] : [step.client]), ...(hinted === undefined ? [] : [hinted])]
    }
    case "Enter":
      return [state.devices.get(step.device)?.client ?? 0]
    case "Decide":
      return [state.pages.get(step.page)?.client ?? 0]
    case "Exchange":
      return [step.by, ...clientsBehind(step.token, state)]
    case "Check":
      return clientsBehind(step.token, state)
    default:
      return []
  }
}

const speaksOfDoubt = (step: Step, state: State): boolean =>
  clientsOf(step, state).some((ref) => {
    const client = state.clients.get(ref)
    return client !== undefined && isInDoubt(state, client)
  })

/** A command is left out where it speaks of what never came to be, or of a client that may have been swept. */
const canPlay = (command: Command, ledger: Ledger, states: ReadonlyArray<State>): boolean =>
  stepsOf(command).every(
    (step) => needs(step).every((name) => ledger.has(name)) && !states.some((state) => speaksOfDoubt(step, state))
  )

/** The number of states that are kept in mind; a script that leaves more open ends there. */
const mostStates = 256

/** Plays a script until an answer cannot be explained. */
export const perform = Effect.fnUntraced(function* (world: World, script: Script, player: Player) {
  let states: ReadonlyArray<State> = [beginning(world.startsAt)]
  let ledger: Ledger = blank
  let played = 0
  const rules = new Set<string>()

  for (const command of script) {
    if (!canPlay(command, ledger, states)) continue
    const earlier = ledger
    yield* player.shuffle(stepsOf(command).length > 1 ? command.id : null)
    if (command._tag === "Troubled") yield* player.trouble(command.fault)
    const answers: ReadonlyArray<Answered> = yield* Effect.forEach(
      stepsOf(command),
      (step) => Effect.map(player.play(step, earlier), (response) => ({ step, response })),
      { concurrency: "unbounded" }
    )
    const wasStruck = command._tag === "Troubled" && (yield* player.calm)
    for (const { step, response } of answers) if (response !== null) ledger = withAnswer(ledger, step, response)

    const explanation = explain({ world, earlier, ledger }, states, command, answers, wasStruck)
    const { objections } = explanation
    if (explanation.states.length === 0) {
      return { difference: { command, answers, objections }, rules, played } satisfies Playthrough
    }
    for (const rule of explanation.rules) rules.add(rule)
    states = explanation.states
    played += 1
    if (states.length > mostStates) break
  }
  return { difference: null, rules, played } satisfies Playthrough
})
