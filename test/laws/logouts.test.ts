import { expect } from "bun:test"
import { Context, Deferred, Effect, Exit, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { decodeJwt } from "jose"
import * as Memory from "../../adapters/memory/Memory.ts"
import { collectAll } from "../../core/engine/lists.ts"
import { grantKind, makeRecords } from "../../core/engine/Records.ts"
import { sidOf } from "../../core/grant/Authentication.ts"
import { DocumentFault, Documents } from "../../core/ports/Documents.ts"
import type { Signatures } from "../../core/ports/Signatures.ts"
import { Storage, StorageUnavailable } from "../../core/ports/Storage.ts"
import { grantIdOf, UserId } from "../../core/rules/Id.ts"
import { type Dice, makeDice } from "../../core/testing/Dice.ts"
import { registerClient, type TestClient, text } from "../given/flow.ts"
import { identify, signsIn } from "../given/openId.ts"
import { inWorld, realSignatures, type World } from "../given/World.ts"
import { law } from "./law.ts"
import { runs } from "./runs.ts"

const fates = ["killed before", "killed after", "held up", "not done", "not answered"] as const

/** One life of a process: what becomes of it, and at which of its steps, those to the store or to applications. */
interface Life {
  left: number
  readonly at: "store" | "application"
  readonly fate: (typeof fates)[number]
  readonly over: Deferred.Deferred<void>
  isOver: boolean
  /** Its lease may have run out while it did not know. */
  wasHeldUp: boolean
}

const ItsLife = Context.Reference<Life | undefined>("test/laws/Life", { defaultValue: () => undefined })

const lifeOf = (fate: Life["fate"], left: number, at: Life["at"] = "store"): Life => ({
  left,
  at,
  fate,
  over: Deferred.makeUnsafe(),
  isOver: false,
  wasHeldUp: false
})

const longerThanALease = "90 seconds"

const lost = (outcome: StorageUnavailable["outcome"]) => new StorageUnavailable({ outcome, message: "lost by a test" })

const kill = (life: Life): Effect.Effect<never> =>
  Effect.suspend(() => {
    life.isOver = true
    return Effect.andThen(Deferred.succeed(life.over, undefined), Effect.never)
  })

/** A step that may be the last of the life that it is in. `fault`: how the step itself fails, where it can. */
const step = <A, E, F = never>(
  call: Effect.Effect<A, E>,
  dice: Dice,
  at: Life["at"],
  fault?: (outcome: StorageUnavailable["outcome"]) => F
): Effect.Effect<A, E | F> =>
  Effect.flatMap(ItsLife, (life): Effect.Effect<A, E | F> => {
    if (life === undefined) return call
    if (life.isOver) return Effect.never
    const others = Effect.replicateEffect(Effect.yieldNow, dice.under(3), { discard: true })
    const mine = Effect.andThen(others, call)
    if (life.at !== at || life.left-- !== 0) return mine
    switch (life.fate) {
      case "killed before":
        return kill(life)
      case "killed after":
        return Effect.andThen(mine, kill(life))
      case "held up":
        life.wasHeldUp = true
        return Effect.andThen(Effect.sleep(longerThanALease), call)
      case "not done":
        return fault === undefined ? mine : Effect.fail(fault("not_done"))
      case "not answered":
        return fault === undefined ? mine : Effect.andThen(mine, Effect.fail(fault("unknown")))
    }
  })

/** The store that all processes share. */
const steppedStore = (dice: Dice) =>
  Layer.effect(
    Storage,
    Effect.map(Storage, (below) =>
      Storage.of({
        get: (key) =>
          step(
            Effect.suspend(() => below.get(key)),
            dice,
            "store",
            lost
          ),
        insert: (record) =>
          step(
            Effect.suspend(() => below.insert(record)),
            dice,
            "store",
            lost
          ),
        replace: (expected, record) =>
          step(
            Effect.suspend(() => below.replace(expected, record)),
            dice,
            "store",
            lost
          ),
        remove: (key) =>
          step(
            Effect.suspend(() => below.remove(key)),
            dice,
            "store",
            lost
          ),
        list: (listing) =>
          step(
            Effect.suspend(() => below.list(listing)),
            dice,
            "store",
            lost
          ),
        sweep: below.sweep
      })
    )
  ).pipe(Layer.provide(Memory.layer))

const part = (members: object) => Buffer.from(JSON.stringify(members)).toString("base64url")

/** Signs at once and with nothing, so that a seed gives the same steps again. */
const quickSignatures: Signatures["Service"] = {
  ...realSignatures,
  signer: () => Effect.succeed((header, claims) => Effect.succeed(`${part(header)}.${part(claims)}.c2lnbmVk`))
}

interface Told {
  readonly app: string
  readonly sid: string
  readonly jti: string
  readonly tick: number
  /** How many calls of the client were given up before. */
  readonly givenUp: number
  isFinal: boolean
}

/** The applications that are called, and all that they heard. */
class Town {
  readonly heard: Array<Told> = []
  readonly answers = new Map<string, number>()
  /** Calls that began while another one to the same application was under way. */
  readonly together: Array<string> = []
  readonly #calling = new Map<string, Life>()
  readonly #dice: Dice
  tick = 0
  givenUp: (app: string) => number = () => 0

  constructor(dice: Dice) {
    this.#dice = dice
  }

  readonly documents: Documents["Service"] = Documents.of({
    fetch: Documents.none.fetch,
    post: (address, form) => step(this.#hears(address, form), this.#dice, "application")
  })

  #hears(app: string, form: string): Effect.Effect<number, DocumentFault> {
    return Effect.flatMap(ItsLife, (life) =>
      Effect.suspend(() => {
        const { jti, sid } = decodeJwt(text(new URLSearchParams(form).get("logout_token")))
        const told = { app, sid: text(sid), jti: text(jti), tick: this.tick++ }
        const heard: Told = { ...told, givenUp: this.givenUp(app), isFinal: false }
        this.heard.push(heard)
        const other = this.#calling.get(app)
        if (life !== undefined) {
          if (other !== undefined && !other.isOver && !other.wasHeldUp && !life.wasHeldUp) this.together.push(app)
          this.#calling.set(app, life)
        }
        const status = this.answers.get(app) ?? 200
        heard.isFinal = status === 200 || status === 400
        const answer = status === 0 ? new DocumentFault({ reason: "timed_out" }) : Effect.succeed(status)
        const done = Effect.sync(() => {
          if (this.#calling.get(app) === life) this.#calling.delete(app)
        })
        const takes = status === 0 ? 5000 : this.#dice.pick([0, 1000, 4000])
        return Effect.andThen(takes === 0 ? Effect.yieldNow : Effect.sleep(takes), Effect.andThen(done, answer))
      })
    )
  }
}

/** A session of Alice, the applications that it is known to, and when its end was asked for and promised. */
interface Session {
  readonly name: string
  readonly sids: Map<string, string>
  began: number | undefined
  promised: number | undefined
}

const letters = ["a", "b", "c", "d", "e", "f"] as const

/** Alice signs in to each application once; her other sessions are copies of what that left in the store. */
const signedIn = Effect.fnUntraced(function* (world: World, dice: Dice, apps: ReadonlyMap<string, TestClient>) {
  const { services, storage, workspace } = world
  const grants = makeRecords(storage, grantKind(services.policy))
  for (const client of apps.values()) yield* identify(world, client, {}, "alice; session=a")
  const made = yield* collectAll((slice) => services.grants.ofUser(workspace.id, UserId.make("alice"), slice))
  const sessions: Array<Session> = []
  for (const name of letters.slice(0, 3 + dice.under(4))) {
    const session: Session = { name, sids: new Map(), began: undefined, promised: undefined }
    for (const [app, { id }] of apps) {
      const grant = made.find((one) => one._tag === "Active" && one.client === id)
      if (grant?._tag !== "Active" || grant.client === null || grant.authentication === undefined) continue
      if (name !== "a" && dice.chance(25)) continue
      const sid = sidOf(workspace.issuer, grant.client, name)
      session.sids.set(app, sid)
      if (name === "a") continue
      const copy = {
        ...grant,
        id: grantIdOf(services.entropy.bytes(16)),
        authentication: { ...grant.authentication, sid }
      }
      yield* grants.insert(workspace.id, copy, "copied")
    }
    sessions.push(session)
  }
  return sessions
})

/** It waits only where it has lost a race again and again, for an answer, or is held up. */
const untilDone = Effect.fnUntraced(function* (fiber: Fiber.Fiber<unknown, unknown>) {
  for (let turns = 0; fiber.pollUnsafe() === undefined; turns++) {
    yield* turns % 100 === 99 ? TestClock.adjust("1 second") : Effect.yieldNow
  }
})

const play = Effect.fnUntraced(function* (world: World, dice: Dice, town: Town) {
  const apps = new Map<string, TestClient>()
  for (const at of ["one", "two"].slice(0, 1 + dice.under(2))) {
    const backchannel_logout_uri = `https://app.example.org/logout/${at}`
    apps.set(backchannel_logout_uri, yield* registerClient(world, { backchannel_logout_uri }))
  }
  town.givenUp = (app) =>
    world.audit.filter(({ event }) => event._tag === "LogoutCallGivenUp" && event.client === apps.get(app)?.id).length
  const sessions = yield* signedIn(world, dice, apps)
  const others = yield* Effect.all([world.elsewhere, world.elsewhere])
  const processes: [World, ...Array<World>] = [world, ...others]
  const running: Array<Life> = []

  /** `undefined`: it was killed on the way. */
  const live = <A, E>(life: Life, act: Effect.Effect<A, E>) =>
    Effect.exit(
      Effect.raceFirst(Effect.provideService(act, ItsLife, life), Effect.as(Deferred.await(life.over), undefined))
    )
  /** A killed process comes back as another one. */
  const restart = (at: number) =>
    Effect.map(world.elsewhere, (fresh) => {
      processes[at] = fresh
    })

  let endedLast: World["services"] | undefined
  const ending = Effect.fnUntraced(function* (session: Session) {
    const at = dice.under(processes.length)
    const { services, workspace } = processes[at] ?? world
    // Each process has an order of its own within a millisecond.
    if (services !== endedLast) yield* TestClock.adjust("1 millis")
    endedLast = services
    session.began ??= town.tick++
    const life = lifeOf(dice.pick(fates), dice.chance(60) ? -1 : dice.under(14))
    const asked = live(
      life,
      Effect.as(
        services.logouts.end(workspace, { user: UserId.make("alice"), sessions: [session.name], why: "by_user" }),
        "ended"
      )
    )
    const under = yield* Effect.forkChild(asked, { startImmediately: true })
    yield* untilDone(under)
    const exit = yield* Fiber.join(under)
    if (life.isOver) yield* restart(at)
    if (Exit.isSuccess(exit) && exit.value === "ended") session.promised = town.tick++
  })

  const delivering = Effect.fnUntraced(function* () {
    const at = dice.under(processes.length)
    const { services, workspace } = processes[at] ?? world
    const [where, steps] = dice.chance(40) ? (["application", 2] as const) : (["store", 24] as const)
    const life = lifeOf(dice.pick(fates), dice.chance(30) ? -1 : dice.under(steps), where)
    running.push(life)
    yield* Effect.forkDetach(
      Effect.andThen(
        live(life, services.logouts.deliver(workspace)),
        Effect.suspend(() => (life.isOver ? restart(at) : Effect.void))
      )
    )
  })

  const passes = (time: "1 second" | "12 seconds" | "70 seconds" | "10 minutes" | "25 hours") =>
    Effect.suspend(() => {
      if (time !== "1 second") for (const life of running) life.wasHeldUp = true
      return TestClock.adjust(time)
    })

  for (let more = 12 + dice.under(14); more > 0; more--) {
    const due = sessions.filter(({ promised }) => promised === undefined)
    const [app = ""] = dice.pick([...apps.keys()].map((key) => [key] as const) as [[string]])
    const act = dice.weighted<Effect.Effect<unknown>>([
      [
        due.length === 0 ? 0 : 30,
        Effect.suspend(() => ending(due[dice.under(due.length)] ?? (sessions[0] as Session)))
      ],
      [40, Effect.suspend(delivering)],
      [12, Effect.sync(() => town.answers.set(app, dice.pick([200, 200, 503, 404, 0, 0, 400])))],
      [14, passes("1 second")],
      [6, passes("12 seconds")],
      [6, passes("70 seconds")],
      [3, passes("10 minutes")],
      [4, passes("25 hours")]
    ])
    yield* act ?? Effect.void
    yield* Effect.replicateEffect(Effect.yieldNow, dice.under(60), { discard: true })
  }

  // All is well again, and each process that still runs comes to its end.
  town.answers.clear()
  yield* passes("10 minutes")
  yield* passes("10 minutes")
  const last = yield* world.elsewhere
  for (let rounds = 0; rounds < 30; rounds++) {
    const calling = yield* Effect.forkChild(Effect.exit(last.services.logouts.deliver(world.workspace)))
    yield* untilDone(calling)
    const exit = yield* Fiber.join(calling)
    if (Exit.isSuccess(exit) && exit.value === undefined) break
    yield* passes("10 minutes")
  }
  return { apps, sessions }
})

const check = (town: Town, { apps, sessions }: Effect.Success<ReturnType<typeof play>>) => {
  for (const app of apps.keys()) {
    const heard = town.heard.filter((told) => told.app === app)
    const ofSid = new Map(
      sessions.flatMap((one) => (one.sids.has(app) ? [[one.sids.get(app) ?? "", one] as const] : []))
    )
    const jtis = new Map<string, string>()
    for (const { jti, sid } of heard) {
      // A client hears of no session of others, nor of one that goes on.
      expect(ofSid.get(sid)?.began).toBeDefined()
      expect(jtis.get(sid) ?? jti).toBe(jti)
      jtis.set(sid, jti)
    }
    expect(new Set(jtis.values()).size).toBe(jtis.size)

    /** Of these sessions, those that the application was not told of by then, nor could have been. */
    const open = (some: ReadonlyArray<string>, before: number) =>
      some.filter((sid) => !heard.some((told) => told.sid === sid && told.isFinal && told.tick < before)).length
    const promised = [...ofSid].flatMap(([sid, { promised }]) => (promised === undefined ? [] : [sid]))
    // None is lost.
    expect(open(promised, Number.POSITIVE_INFINITY)).toBeLessThanOrEqual(town.givenUp(app))
    // And none passes another.
    for (const [sid, { began = 0 }] of ofSid) {
      const first = heard.find((told) => told.sid === sid)
      if (first === undefined) continue
      const earlier = [...ofSid].flatMap(([other, one]) => ((one.promised ?? began) < began ? [other] : []))
      expect(open(earlier, first.tick)).toBeLessThanOrEqual(first.givenUp)
    }
  }
  expect(town.together).toEqual([])
}

law(
  "however processes die, no logout call is lost, passes an earlier one of its client, changes its jti, or ends untold",
  (_dice, seed) => {
    const town = new Town(makeDice(seed))
    return Effect.promise(() =>
      inWorld(
        (world) =>
          Effect.map(play(world, makeDice(seed + 1), town), (played) => {
            check(town, played)
            expect(world.log.filter((line) => line.includes("defect"))).toEqual([])
          }),
        {
          ...signsIn,
          signatures: quickSignatures,
          seed: `logouts ${seed}`,
          store: steppedStore(makeDice(seed + 2)),
          documents: town.documents
        }
      )
    )
  },
  Math.ceil(runs / 8)
)
