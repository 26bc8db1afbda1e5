import { Effect } from "effect"
import type { HttpResponse } from "../../http/Http.ts"
import { resourceText } from "../model/resource.ts"
import { clocksApart, type World } from "../model/World.ts"
import type { BlockHost, Enter, Fault, Publish, Script, SignOut, Step } from "../script/Command.ts"
import type { Ledger } from "./Ledger.ts"
import { assertionOf } from "./proofs.ts"
import { locationOf } from "./reading.ts"
import {
  documentAddress,
  documentOf,
  entering,
  headersOf,
  metadataOf,
  requestOf,
  type Sending,
  signingOut
} from "./requestOf.ts"
import { type Scenario, scenarioOf } from "./Scenario.ts"
import type { SystemUnderTest } from "./SystemUnderTest.ts"

/** Plays a script's steps, one by one or at the same time, and brings back what was answered. */
export interface Player {
  /** `null`: the step has no answer. */
  readonly play: (step: Step, ledger: Ledger) => Effect.Effect<HttpResponse | null>
  readonly trouble: (fault: Fault) => Effect.Effect<void>
  readonly calm: Effect.Effect<boolean>
  readonly shuffle: (seed: number | null) => Effect.Effect<void>
}

const answerOf = (body: object): HttpResponse => ({
  status: 200,
  headers: [["content-type", "application/json"]],
  body: JSON.stringify(body)
})

/** Plays a whole script over HTTP. */
export const playOver = (system: SystemUnderTest, world: World, script: Script): Player =>
  playWith(system, world, scenarioOf(script))

export const playWith = (system: SystemUnderTest, world: World, scenario: Scenario): Player => {
  let now = world.startsAt
  const sent = Effect.fnUntraced(function* ({ request, signedIn }: Sending) {
    if (signedIn === null) return yield* system.request(request)
    const session = yield* system.signIn(signedIn.workspace, signedIn.user)
    const own = headersOf(session)
    return yield* system.request({
      ...request,
      headers: { get: (name) => own.get(name) ?? request.headers.get(name) }
    })
  })

  const asked = Effect.fnUntraced(function* (step: Step, ledger: Ledger) {
    const sending = requestOf({ world, scenario, ledger, now }, step)
    return sending === null ? null : yield* sent(sending)
  })

  const entered = Effect.fnUntraced(function* (step: Enter, ledger: Ledger) {
    const { followed, page, posted } = entering({ world, scenario, ledger, now }, step)
    const { user, workspace } = step
    const by = (request: Sending["request"]) => sent({ request, signedIn: { workspace, user } })
    const shown = yield* by(page)
    const answer = yield* by(posted(shown.body))
    const location = locationOf(answer)
    return location === null ? answer : yield* by(followed(location.text))
  })

  const passed = (millis: number) =>
    Effect.map(system.pass(millis), () => {
      now += millis
    })

  const published = ({ client, says }: Pick<Publish, "client" | "says">) => {
    const registered = scenario.register(client)
    const document = registered === undefined ? null : documentOf(registered, says)
    return system.publish(documentAddress(client), document)
  }

  const blocked = ({ blocks, client }: BlockHost) => {
    const { host } = new URL(documentAddress(client))
    const said = system.blockHost(scenario.register(client)?.workspace ?? 0, host, blocks)
    return blocks ? said : Effect.tap(said, () => passed(clocksApart + 1))
  }

  const left = Effect.fnUntraced(function* (step: SignOut, ledger: Ledger) {
    const { page, posted } = signingOut({ world, scenario, ledger, now }, step)
    const signedIn = step.who === null ? null : { workspace: step.workspace, user: step.who }
    const shown = yield* sent({ request: page, signedIn })
    const form = shown.status === 200 ? posted(shown.body) : null
    return form === null ? shown : yield* sent({ request: form, signedIn })
  })

  const play: Player["play"] = (step, ledger) => {
    switch (step._tag) {
      case "Wait":
        return Effect.as(passed(step.millis), null)
      case "Housekeeping":
        switch (step.what) {
          case "add a key":
            return Effect.as(system.addKey, null)
          case "drop the oldest key":
            return Effect.as(system.dropOldestKey, null)
          case "sweep":
            return Effect.as(system.sweep, null)
        }
        break
      case "AllowExchange": {
        const workspace = scenario.register(step.client)?.workspace ?? 0
        const api = resourceText(step.serves, world, workspace)
        return system.allowExchange(workspace, ledger.get(`client#${step.client}`) ?? "", api)
      }
      case "AnswerClient":
        return system.answerClient(step.workspace, ledger.get(`client#${step.client}`) ?? "", step.says)
      case "Register":
        if (step.kind === "document" && step.odd === null) {
          const address = documentAddress(step.id)
          return Effect.as(published({ client: step.id, says: "all" }), answerOf({ client_id: address }))
        }
        // What an owner gives a client, it cannot register for by itself.
        return step.kind === "enterprise" && step.odd === null
          ? system.registerForOwner(step.workspace, metadataOf(world, step))
          : asked(step, ledger)
      case "Publish":
        return Effect.as(Effect.andThen(published(step), passed(1)), null)
      case "BlockHost":
        return blocked(step)
      case "TrustIssuer":
        return system.trust(step.workspace, step.issuer, step.terms)
      case "Attest": {
        const client = step.names === null ? undefined : ledger.get(`client#${step.names}`)
        return Effect.succeed(answerOf({ assertion: assertionOf(step, { world, client, now }) }))
      }
      case "EndSession":
        return system.endSession(step.workspace, step.user)
      case "Belong":
        return Effect.as(system.belong(step.workspace, step.user, step.places), null)
      case "EndAll":
        return system.endAll(step.workspace, step.user, {
          place: step.place,
          client: step.client === undefined ? undefined : ledger.get(`client#${step.client}`)
        })
      case "SignOut":
        return left(step, ledger)
      case "Check": {
        const sending = step.at === "guard" ? requestOf({ world, scenario, ledger, now }, step) : null
        return sending === null ? asked(step, ledger) : system.guard(sending.request)
      }
      case "Enter":
        return entered(step, ledger)
      default:
        return asked(step, ledger)
    }
  }

  return { play, trouble: system.trouble, calm: system.calm, shuffle: system.shuffle }
}
