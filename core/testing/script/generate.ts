import type { Dice } from "../Dice.ts"
import { predict } from "../model/predict.ts"
import { plainlySigned } from "../model/proof.ts"
import type { Facts } from "../model/Rule.ts"
import { beginning, type GrantName, type State } from "../model/State.ts"
import type { World } from "../model/World.ts"
import {
  type Command,
  type Fault,
  type KeyName,
  type Script,
  type SignedAs,
  type Step,
  stepsOf,
  type Together
} from "./Command.ts"
import { drawStep } from "./drawStep.ts"

const none: ReadonlySet<string> = new Set()

/** Where the model believes that things stand after a step: its first answer. */
const after = (world: World, state: State, step: Step): State => {
  const facts: Facts = { world, state, without: none }
  return predict(facts, step)[0]?.next ?? state
}

const faults: readonly [Fault, ...ReadonlyArray<Fault>] = [
  { what: "not done", write: 1 },
  { what: "lost, not applied", write: 1 },
  { what: "lost, applied", write: 1 },
  { what: "lost, applied", write: 1 },
  { what: "killed before", write: 1 },
  { what: "killed after", write: 1 },
  { what: "not done", write: 2 },
  { what: "killed before", write: 2 }
]

/** A server that has signed nothing yet makes the key for it first. */
const signsFirst = (world: World, state: State, step: Step | Together): boolean =>
  (world.openId === true || world.jwts === true) &&
  state.access.size === 0 &&
  stepsOf(step).some(({ _tag }) => ["Redeem", "ClientCredentials"].includes(_tag))

/** What an owner registers is no request, nor is a document that is published. */
const isNoRequest = (step: Step): boolean =>
  step._tag === "Register" && (step.kind === "enterprise" || step.kind === "document")

/** Whatever a client that signs asks for, what it shows is remembered. */
const writes = (step: Step): boolean =>
  ("signed" in step && step.signed !== undefined) ||
  (!isNoRequest(step) &&
    [
      "Register",
      "Push",
      "AskDevice",
      "Poll",
      "Decide",
      "Redeem",
      "Refresh",
      "ClientCredentials",
      "OwnGrant",
      "Bring",
      "Revoke",
      "DeleteClient",
      "Rekey",
      "SignOut",
      "EndSession",
      "EndAll",
      "AnswerClient",
      "AllowExchange",
      "TrustIssuer"
    ].includes(step._tag))

const canMeet = (step: Step): boolean =>
  ![
    "Wait",
    "Housekeeping",
    "Register",
    "Publish",
    "BlockHost",
    "AllowExchange",
    "TrustIssuer",
    "Attest",
    "EndSession",
    "SignOut",
    "Belong",
    "EndAll"
  ].includes(step._tag)

/** Company for a step: mostly the same again, else whatever else could be sent at that moment. */
const company = (dice: Dice, world: World, state: State, step: Step, id: number): Step | undefined => {
  if (dice.chance(65)) {
    const signed = "signed" in step ? step.signed : undefined
    // The same assertion, by two at once.
    const again = signed !== undefined && dice.chance(40) ? { signed: { ...signed, idOf: signed.idOf ?? step.id } } : {}
    return { ...step, ...again, id }
  }
  const other = drawStep(dice, world, state, id)
  return other !== undefined && canMeet(other) ? other : undefined
}

const drawUntroubled = (dice: Dice, world: World, state: State, id: number): Step | Together | undefined => {
  const step = drawStep(dice, world, state, id)
  if (step === undefined || !canMeet(step) || !dice.chance(12)) return step
  const more = [1, 2, 3].slice(0, 1 + dice.under(3)).map((n) => company(dice, world, state, step, id + n))
  const steps = [step, ...more.filter((one) => one !== undefined)]
  return steps.length > 1 ? { _tag: "Together", id, steps } : step
}

const drawCommand = (dice: Dice, world: World, state: State, id: number): Command | undefined => {
  const during = drawUntroubled(dice, world, state, id)
  if (during === undefined || !stepsOf(during).some(writes)) return during
  const { _tag } = during
  const fault = (): Fault => dice.pick(faults)
  if (signsFirst(world, state, during) && dice.chance(50)) {
    return { _tag: "Troubled", id, fault: { ...fault(), write: "signing key" }, during }
  }
  // Several writes: who is to be told, and the end of each grant.
  if ((_tag === "SignOut" || _tag === "EndSession" || _tag === "EndAll") && dice.chance(40)) {
    return { _tag: "Troubled", id, fault: { ...fault(), write: dice.pick([1, 2, 3]) }, during }
  }
  if (!dice.chance(_tag === "Together" ? 35 : 8)) return during
  return { _tag: "Troubled", id, fault: fault(), during }
}

/** The youngest things of which the last lines ask what they are worth. */
const lastLooks = 6

/** Looks at what there is from all sides, so that no fault stays unseen because no step came back to it. */
const epilogue = (world: World, state: State, firstId: number): ReadonlyArray<Step> => {
  const steps: Array<Step> = []
  const look = (kind: "access" | "refresh", ref: number, grantName: GrantName, boundTo: KeyName | null) => {
    const actor = kind === "access" ? state.access.get(ref)?.actors[0]?.client : undefined
    const client = actor ?? state.grants.get(grantName)?.client ?? 0
    const workspace = state.clients.get(client)?.workspace ?? 0
    const token = { kind, ref }
    const next = () => firstId + steps.length
    const key = state.clients.get(client)?.signsWith ?? null
    const signed: SignedAs | undefined = key === null ? undefined : { ...plainlySigned, key }
    steps.push({ _tag: "Introspect", id: next(), token, by: client, proof: "post", signed })
    if (kind === "refresh") return
    const shown = boundTo ?? undefined
    const at = world.places === true || world.jwts === true ? "guard" : "companies"
    steps.push({ _tag: "Check", id: next(), token, at, workspace, key: shown })
    steps.push({ _tag: "Check", id: next(), token, at: "userinfo", workspace, key: shown })
  }
  for (const [ref, { boundTo, grant }] of [...state.access].slice(-lastLooks)) look("access", ref, grant, boundTo)
  for (const [ref, { grant }] of [...state.refresh].slice(-lastLooks)) look("refresh", ref, grant, null)
  return steps
}

/** A script of a random length, each line drawn from what the lines before it made possible. */
export const generate = (dice: Dice, world: World, longest: number): Script => {
  const length = 5 + dice.under(longest - 4)
  const script: Array<Command> = []
  let state = beginning(world.startsAt)
  for (let line = 0; line < length; line++) {
    const command = drawCommand(dice, world, state, (line + 1) * 10)
    if (command === undefined) continue
    script.push(command)
    for (const step of stepsOf(command)) state = after(world, state, step)
  }
  return [...script, ...epilogue(world, state, (length + 1) * 10)]
}
