import { describe, expect, test } from "bun:test"
import { Deferred, type Duration, Effect, Fiber, Layer, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { decodeJwt } from "jose"
import * as Memory from "../../adapters/memory/Memory.ts"
import { ClientIdentifier, clientKey } from "../../core/client/ClientIdentifier.ts"
import { collectAll } from "../../core/engine/lists.ts"
import { callOf, callsOf, type LogoutRecord, logoutKind, queueId, woken } from "../../core/engine/logoutCalls.ts"
import { makeRecords } from "../../core/engine/Records.ts"
import { DocumentFault, Documents } from "../../core/ports/Documents.ts"
import { SignatureFault, type Signatures } from "../../core/ports/Signatures.ts"
import { Conflict, Storage } from "../../core/ports/Storage.ts"
import { ClientId, UserId } from "../../core/rules/Id.ts"
import { currentInstant, Instant } from "../../core/rules/Instant.ts"
import { signInScopes } from "../../core/rules/Scope.ts"
import { digestOf } from "../../core/rules/Secret.ts"
import { answerAs, deviceClient, poll, waitingDevice } from "../given/devices.ts"
import { bearing, codeFor, jsonOf, redeem, refresh, registerClient, type TestClient, text } from "../given/flow.ts"
import { identify, signsIn } from "../given/openId.ts"
import { inWorld, realSignatures, t0, type World, type WorldOptions } from "../given/World.ts"

interface Posted {
  readonly address: string
  readonly sub: string
  readonly sid: string
  readonly jti: string
}

/** The applications that are called: what they heard, and what they answer. */
class Town {
  readonly posted: Array<Posted> = []
  readonly limits: Array<unknown> = []
  answer: (posted: Posted) => Effect.Effect<number, DocumentFault> = () => Effect.succeed(200)
  readonly documents = Documents.of({
    fetch: Documents.none.fetch,
    post: (address, form, limits) =>
      Effect.suspend(() => {
        const { jti, sid, sub } = decodeJwt(text(new URLSearchParams(form).get("logout_token")))
        const heard = { address, sub: text(sub), sid: text(sid), jti: text(jti) }
        this.posted.push(heard)
        this.limits.push(limits)
        return this.answer(heard)
      })
  })
}

type Body = (world: World, town: Town) => Effect.Effect<void, unknown, Scope.Scope>

const inTown = (body: Body, options: WorldOptions = {}): Promise<void> => {
  const town = new Town()
  return inWorld((world) => Effect.orDie(Effect.scoped(body(world, town))), {
    ...signsIn,
    documents: town.documents,
    ...options
  })
}

const addressOf = (name: string) => `https://app.example.org/logout/${name}`

const app = (world: World, name = "one") =>
  registerClient(world, { backchannel_logout_uri: addressOf(name), scope: "openid api offline_access" })

const idOf = ({ id }: TestClient) => ClientId.make(id)
const alice = UserId.make("alice")

const end = (
  world: World,
  sessions: ReadonlyArray<string>,
  more: { user?: UserId; ended?: (grant: string) => Effect.Effect<void> } = {}
) => world.services.logouts.end(world.workspace, { user: alice, sessions, why: "by_user", ...more })

const deliver = (world: World) => world.services.logouts.deliver(world.workspace)

const signsInAt = (world: World, client: TestClient, session: string, person = "alice") =>
  identify(world, client, {}, `${person}; session=${session}`)

const recordsOf = (world: World) => makeRecords(world.storage, logoutKind)

const calls = (world: World, client: TestClient): Effect.Effect<ReadonlyArray<LogoutRecord>> =>
  Effect.orDie(collectAll((slice) => recordsOf(world).list(world.workspace.id, callsOf(idOf(client)), slice)))

const queue = (world: World, client: TestClient) =>
  Effect.map(Effect.orDie(recordsOf(world).get(world.workspace.id, queueId(idOf(client)))), (kept) => kept?.value)

/** Calls as another process left them, of so many sessions. */
const leave = Effect.fnUntraced(function* (world: World, client: TestClient, count: number) {
  const records = recordsOf(world)
  const now = Instant.make(t0)
  for (let n = 0; n < count; n++) {
    const place = String(n).padStart(6, "0")
    yield* records.insert(world.workspace.id, callOf(idOf(client), alice, digestOf(place), now, place), "left")
  }
  const waits = woken(undefined, idOf(client), now)
  if (waits !== undefined) yield* records.insert(world.workspace.id, waits, "left")
})

const givenUp = (world: World) =>
  world.audit.filter(({ event }) => event._tag === "LogoutCallGivenUp").map(({ at: _at, ...entry }) => entry)

describe("the end of sessions", () => {
  test("writes a call for each client and session, in the order in which they come", () =>
    inTown(
      Effect.fnUntraced(function* (world, { posted }) {
        const client = yield* app(world)
        for (const session of ["a", "b", "c"]) yield* signsInAt(world, client, session)
        for (const session of ["d", "e"]) yield* signsInAt(world, client, session, "bob")
        yield* end(world, ["a", "b"])
        yield* end(world, ["d"], { user: UserId.make("bob") })
        yield* TestClock.adjust(1)
        yield* end(world, ["e"], { user: UserId.make("bob") })
        const left = yield* calls(world, client)
        const told = left.map((call) => (call._tag === "Call" ? [call.user, call.at, call.id.slice(-22)] : []))
        const place = (count: string) => expect.stringMatching(new RegExp(`^${count}[0-9a-f]{16}$`))
        expect<unknown>(told).toEqual([
          ["alice", t0, place("000000")],
          ["alice", t0, place("000001")],
          ["bob", t0, place("000002")],
          ["bob", t0 + 1, place("000000")]
        ])
        expect(yield* queue(world, client)).toMatchObject({ waiting: true, lease: null, wokenAt: t0 })
        yield* deliver(world)
        expect(posted.map(({ sub }) => sub)).toEqual(["alice", "alice", "bob", "bob"])
        expect(new Set(posted.map(({ jti }) => jti)).size).toBe(4)
      })
    ))

  test("ends what is not to outlive them, and tells of each grant that it ended", () =>
    inTown(
      Effect.fnUntraced(function* (world) {
        const [told, silent] = [yield* app(world), yield* registerClient(world, { scope: "openid api offline_access" })]
        const grants = () =>
          Effect.map(
            Effect.orDie(collectAll((slice) => world.services.grants.ofUser(world.workspace.id, alice, slice))),
            (all) => all.map(({ _tag, id }) => [id, _tag] as const)
          )
        const made = Effect.fnUntraced(function* (what: Effect.Effect<unknown>) {
          const before = new Set((yield* grants()).map(([id]) => id))
          yield* what
          const [id = ""] = (yield* grants()).map(([one]) => one).filter((one) => !before.has(one))
          return id
        })
        const asks = (scope: string) => ({ scope })
        const one = "alice; session=one"
        const online = yield* made(identify(world, told, {}, one))
        const away = yield* made(identify(world, told, asks("openid offline_access"), one))
        const code = yield* made(codeFor(world, told, asks("openid"), one))
        const codeOfSilent = yield* made(codeFor(world, silent, asks("openid"), one))
        const ofSilent = yield* made(identify(world, silent, {}, one))
        const plain = yield* made(
          Effect.flatMap(codeFor(world, told, asks("api"), one), (it) => redeem(world, told, it))
        )
        const other = yield* made(identify(world, told, {}, "alice; session=two"))
        const ended: Array<string> = []
        const note = (id: string) => Effect.sync(() => void ended.push(id))
        yield* end(world, ["one", "never"], { ended: note })
        expect(new Set(ended)).toEqual(new Set([online, code, codeOfSilent]))
        expect(ended).toHaveLength(3)
        expect(Object.fromEntries(yield* grants())).toEqual({
          [online]: "Revoked",
          [away]: "Active",
          [code]: "Revoked",
          [codeOfSilent]: "Revoked",
          [ofSilent]: "Active",
          [plain]: "Active",
          [other]: "Active"
        })
        yield* end(world, ["one"], { ended: note })
        expect(ended).toHaveLength(3)
        yield* end(world, ["two"])
        expect(yield* calls(world, silent)).toEqual([])
      })
    ))

  test("leaves alone what a device is to fetch: who approved it on another may sign out there at once (RFC 8628)", () =>
    inTown(
      Effect.fnUntraced(function* (world) {
        const tv = yield* deviceClient(world)
        const told = yield* waitingDevice(world, tv, { scope: "openid api" })
        yield* answerAs(world, told.userCode, "approve")
        yield* end(world, ["session-of-alice"])
        const fetched = jsonOf(yield* poll(world, tv, told))
        expect(decodeJwt(text(fetched.id_token))).toMatchObject({ sub: "alice", aud: tv.id })
        yield* end(world, ["session-of-alice"])
        expect((yield* refresh(world, tv, text(fetched.refresh_token))).status).toBe(200)
      })
    ))

  test("is told of each grant once, whichever of two processes ended it", () =>
    inTown(
      Effect.fnUntraced(function* (world, { posted }) {
        const client = yield* app(world)
        for (let more = 0; more < 3; more++) yield* signsInAt(world, client, "a")
        const ended: Array<string> = []
        const note = (id: string) => Effect.sync(() => void ended.push(id))
        const processes = [world, yield* world.elsewhere, yield* world.elsewhere]
        yield* Effect.forEach(processes, (one) => end(one, ["a"], { ended: note }), { concurrency: "unbounded" })
        expect([ended.length, new Set(ended).size]).toEqual([3, 3])
        // Each wrote a call, and all of them are one to the client.
        yield* deliver(world)
        expect(new Set(posted.map(({ jti }) => jti)).size).toBe(1)
      }),
      {
        // Others have their turn between a look and a write.
        store: Layer.effect(
          Storage,
          Effect.map(Storage, (below) => ({
            ...below,
            get: (key) => Effect.tap(below.get(key), () => Effect.yieldNow),
            list: (listing) => Effect.tap(below.list(listing), () => Effect.yieldNow)
          }))
        ).pipe(Layer.provide(Memory.layer))
      }
    ))

  test("is told to whoever writes a grant of one, in every process, until the session is gone or a minute has passed", () =>
    inTown(
      Effect.fnUntraced(function* (world) {
        const { services, workspace } = yield* world.elsewhere
        const isEnding = (user: string, session: string) =>
          Effect.flatMap(currentInstant, (now) =>
            services.logouts.isEnding(workspace.id, UserId.make(user), session, now)
          )
        const seen = Effect.all([
          isEnding("alice", "a"),
          isEnding("alice", "b"),
          isEnding("alice", "c"),
          isEnding("bob", "a")
        ])
        const endWith = <A, E>(sessions: ReadonlyArray<string>, over: Effect.Effect<A, E>) =>
          world.services.logouts.endWith(world.workspace, { user: alice, sessions, why: "by_user" }, over)
        expect(yield* endWith(["a", "b"], seen)).toEqual([true, true, false, false])
        expect(yield* seen).toEqual([false, false, false, false])

        yield* Effect.exit(endWith(["a", "b"], Effect.die("stopped")))
        yield* TestClock.adjust("59 seconds")
        expect(yield* seen).toEqual([true, true, false, false])
        yield* Effect.exit(endWith(["a"], Effect.die("stopped")))
        yield* TestClock.adjust("1 second")
        expect(yield* seen).toEqual([true, false, false, false])
      })
    ))

  test("that cannot be told to writers, or to clients, does not begin, and one that is done is no fault any more", () =>
    inTown(
      Effect.fnUntraced(function* (world) {
        yield* signsInAt(world, yield* app(world), "a")
        let over = 0
        const endsNow = world.services.logouts.endWith(
          world.workspace,
          { user: alice, sessions: ["a"], why: "by_user" },
          Effect.sync(() => ++over)
        )
        for (const verb of ["insert logout", "list grant"] as const) {
          world.away.add(verb)
          expect([(yield* Effect.exit(endsNow))._tag, over]).toEqual(["Failure", 0])
          world.away.clear()
        }
        world.away.add("remove logout")
        expect(yield* endsNow).toBe(1)
        expect(world.log).toHaveLength(1)
      })
    ))

  const nobody: ReadonlyArray<readonly [string, WorldOptions, ReadonlyArray<string>]> = [
    ["without sessions", signsIn, []],
    ["of a server that signs nothing", { policy: { scopes: signInScopes } }, ["a"]],
    ["where no person signs in to applications", { signatures: realSignatures }, ["a"]]
  ]
  for (const [what, options, sessions] of nobody) {
    test(`costs nothing ${what}`, () =>
      inWorld(function* (world) {
        for (const made of Object.values(world.calls)) made.length = 0
        yield* end(world, sessions)
        yield* world.services.logouts.deliverKnown
        expect(Object.values(world.calls).flat()).toEqual([])
      }, options))
  }

  test("makes no call for a client that is gone", () =>
    inTown(
      Effect.fnUntraced(function* (world, { posted }) {
        const client = yield* app(world)
        yield* signsInAt(world, client, "a")
        yield* world.services.clients.remove(world.workspace.id, idOf(client))
        yield* end(world, ["a"])
        for (const made of Object.values(world.calls)) made.length = 0
        yield* world.services.logouts.deliverKnown
        expect([posted, Object.values(world.calls).flat()]).toEqual([[], []])
        expect(yield* deliver(world)).toBeUndefined()
      })
    ))

  test("makes no call for a client that deleted itself, though its identifier keeps its record, nor one that was due", () =>
    inTown(
      Effect.fnUntraced(function* (world, { posted }) {
        const clients = [yield* app(world, "before"), yield* app(world, "between"), yield* app(world, "stays")]
        for (const client of clients) yield* signsInAt(world, client, "a")
        const leaves = ({ registrationToken, registrationUri }: TestClient) =>
          world.send("DELETE", new URL(registrationUri).pathname, { headers: bearing(registrationToken) })
        const [before, between] = clients
        if (before === undefined || between === undefined) throw new Error("no clients")
        expect((yield* leaves(before)).status).toBe(204)
        yield* end(world, ["a"])
        expect((yield* leaves(between)).status).toBe(204)
        yield* deliver(world)
        expect(posted.map(({ address }) => address)).toEqual([addressOf("stays")])
        const client = clientKey(ClientIdentifier.make(between.id))
        expect(givenUp(world)).toMatchObject([{ event: { client, why: "no_address" } }])
      }),
      { policy: { ...signsIn.policy, registrationRows: "at_consent" } }
    ))

  test("wakes no queue for a call that could not be written: a process that looks would put it to sleep again", () =>
    inTown(
      Effect.fnUntraced(function* (world) {
        const client = yield* app(world)
        for (const session of ["a", "b"]) yield* signsInAt(world, client, session)
        yield* end(world, ["a"])
        yield* deliver(world)
        world.away.add("insert logout")
        expect((yield* Effect.exit(end(world, ["b"])))._tag).toBe("Failure")
        expect(yield* queue(world, client)).toMatchObject({ waiting: false })
      })
    ))

  test("goes on where the call was written already, as after an answer of the store that was lost", () =>
    inTown(
      Effect.fnUntraced(function* (world, { posted }) {
        const client = yield* app(world)
        yield* signsInAt(world, client, "a")
        yield* end(world, ["a"])
        yield* deliver(world)
        expect(posted).toHaveLength(1)
      }),
      {
        store: Layer.effect(
          Storage,
          Effect.map(Storage, (below) => ({
            ...below,
            insert: (record) =>
              record.id.startsWith("call:")
                ? Effect.andThen(below.insert(record), Effect.fail(new Conflict()))
                : below.insert(record)
          }))
        ).pipe(Layer.provide(Memory.layer))
      }
    ))
})

describe("delivering what is known", () => {
  /** Whom it called, and whether it asked the store. */
  const known = Effect.fnUntraced(function* (world: World, { posted }: Town) {
    for (const made of Object.values(world.calls)) made.length = 0
    const before = posted.length
    yield* world.services.logouts.deliverKnown
    return [posted.length - before, world.calls.list.length > 0] as const
  })

  test("asks no store where nothing is due, and calls at once who is", () =>
    inTown(
      Effect.fnUntraced(function* (world, town) {
        const [one, two] = [yield* app(world), yield* app(world, "two")]
        expect(yield* known(world, town)).toEqual([0, false])
        yield* signsInAt(world, one, "a")
        yield* signsInAt(world, two, "b")
        town.answer = () => Effect.succeed(503)
        yield* end(world, ["a"])
        expect(yield* known(world, town)).toEqual([1, true])
        yield* TestClock.adjust(9999)
        expect(yield* known(world, town)).toEqual([0, false])
        // One that is due sooner is called sooner.
        yield* end(world, ["b"])
        expect(yield* known(world, town)).toEqual([1, true])
        yield* TestClock.adjust(1)
        expect(yield* known(world, town)).toEqual([1, true])
        town.answer = () => Effect.succeed(200)
        yield* TestClock.adjust(9999)
        expect(yield* known(world, town)).toEqual([1, true])
        yield* TestClock.adjust(10_001)
        expect(yield* known(world, town)).toEqual([1, true])
        yield* TestClock.adjust("1 hour")
        expect(yield* known(world, town)).toEqual([0, false])
        expect(town.posted.map(({ address }) => address)).toEqual(["one", "two", "one", "two", "one"].map(addressOf))
        expect(givenUp(world)).toEqual([])
        expect(town.limits[0]).toEqual({ within: 5000 })
      })
    ))

  test("calls a client that is due after none was, after all were told, and looks once where nothing is due", () =>
    inTown(
      Effect.fnUntraced(function* (world, town) {
        const client = yield* app(world)
        for (const session of ["a", "b", "c"]) yield* signsInAt(world, client, session)
        const looks = Effect.fnUntraced(function* () {
          world.calls.list.length = 0
          const from = yield* deliver(world)
          return [from, world.calls.list.length]
        })
        expect(yield* looks()).toEqual([undefined, 1])
        yield* end(world, ["a"])
        expect(yield* known(world, town)).toEqual([1, true])
        yield* end(world, ["b"])
        yield* deliver(world)
        expect(town.posted).toHaveLength(2)
        yield* end(world, ["c"])
        expect(yield* known(world, town)).toEqual([1, true])
        // The queue sleeps.
        expect(yield* looks()).toEqual([undefined, 1])
        expect(yield* known(world, town)).toEqual([0, false])
      })
    ))

  test("goes by the first that is due, though another came later", () =>
    inTown(
      Effect.fnUntraced(function* (world, town) {
        const [one, two] = [yield* app(world), yield* app(world, "two")]
        yield* signsInAt(world, one, "a")
        yield* signsInAt(world, two, "b")
        yield* TestClock.setTime(t0 + 1000)
        yield* end(world, ["a"])
        yield* TestClock.setTime(t0 + 2000)
        yield* end(world, ["b"])
        yield* TestClock.setTime(t0 + 1500)
        expect(yield* known(world, town)).toEqual([1, true])
        yield* TestClock.setTime(t0 + 1999)
        expect(yield* known(world, town)).toEqual([0, false])
        yield* TestClock.setTime(t0 + 2000)
        expect(yield* known(world, town)).toEqual([1, true])
      })
    ))

  test("learns of what other processes left by a look, and of when it is due", () =>
    inTown(
      Effect.fnUntraced(function* (world, town) {
        const [one, two] = [yield* app(world), yield* app(world, "two")]
        yield* signsInAt(world, one, "a")
        yield* signsInAt(world, two, "b")
        town.answer = () => Effect.fail(new DocumentFault({ reason: "timed_out" }))
        yield* end(world, ["a"])
        expect(yield* deliver(world)).toBe(Instant.make(t0 + 10_000))
        yield* TestClock.adjust(5000)
        yield* end(world, ["b"])
        const other = yield* world.elsewhere
        expect(yield* deliver(other)).toBe(Instant.make(t0 + 10_000))
        world.calls.list.length = 0
        expect(yield* deliver(other)).toBe(Instant.make(t0 + 10_000))
        expect(world.calls.list).toEqual(["logout"])
        expect(yield* known(other, town)).toEqual([0, false])
        yield* TestClock.adjust(5000)
        expect(yield* known(other, town)).toEqual([1, true])
        expect(yield* deliver(other)).toBe(Instant.make(t0 + 15_000))
        expect(town.posted.map(({ address }) => address)).toEqual(["one", "two", "one"].map(addressOf))
      })
    ))

  test("does not fail where the store is away, and says so", () =>
    inTown(
      Effect.fnUntraced(function* (world, town) {
        yield* signsInAt(world, yield* app(world), "a")
        yield* end(world, ["a"])
        world.away.add("list logout")
        world.log.length = 0
        yield* world.services.logouts.deliverKnown
        expect(world.log).toHaveLength(1)
        world.away.clear()
        yield* deliver(world)
        expect(town.posted).toHaveLength(1)
      })
    ))
})

describe("one client's calls", () => {
  test("wait a moment where there is no place for them here, which is no failure of the client's", () =>
    inTown(
      Effect.fnUntraced(function* (world, town) {
        const client = yield* app(world)
        yield* signsInAt(world, client, "a")
        town.answer = () => Effect.fail(new DocumentFault({ reason: "busy" }))
        yield* end(world, ["a"])
        for (const round of [1, 2, 3]) {
          expect(yield* deliver(world)).toBe(Instant.make(t0 + round * 1000))
          expect(yield* queue(world, client)).toMatchObject({ failures: 0, lease: null })
          yield* TestClock.adjust(1000)
        }
        town.answer = () => Effect.succeed(200)
        expect(yield* deliver(world)).toBeUndefined()
        expect(yield* calls(world, client)).toEqual([])
      })
    ))

  /** No client answers before the test says so. `calling`: so many were called by then. */
  const heldUp = Effect.fnUntraced(function* (town: Town, count = 1) {
    const [calling, gate] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    town.answer = () =>
      Effect.andThen(
        town.posted.length === count ? Deferred.succeed(calling, undefined) : Effect.void,
        Effect.as(Deferred.await(gate), 200)
      )
    return { calling, gate }
  })

  const part = (members: object) => Buffer.from(JSON.stringify(members)).toString("base64url")
  /** Signs at once and with nothing. */
  const quickSignatures: Signatures["Service"] = {
    ...realSignatures,
    signer: () => Effect.succeed((header, claims) => Effect.succeed(`${part(header)}.${part(claims)}.c2lnbmVk`))
  }

  test("are all made in their order, and cost the queue two writes", () =>
    inTown(
      Effect.fnUntraced(function* (world, { posted }) {
        const client = yield* app(world)
        yield* leave(world, client, 45)
        for (const made of Object.values(world.calls)) made.length = 0
        expect(yield* deliver(world)).toBeUndefined()
        const sids = Array.from({ length: 45 }, (_, n) => digestOf(String(n).padStart(6, "0")) as string)
        expect(posted.map(({ sid }) => sid)).toEqual(sids)
        const written = (verb: "insert" | "remove" | "replace") =>
          world.calls[verb].filter((kind) => kind === "logout").length
        expect([written("replace"), written("insert"), written("remove")]).toEqual([2, 0, 45])
        // Twice the queues, and the calls by twenty until there is none.
        expect(world.calls.list.filter((kind) => kind === "logout")).toHaveLength(2 + 4)
        expect(yield* queue(world, client)).toMatchObject({ waiting: false, lease: null, failures: 0 })
        expect(yield* calls(world, client)).toEqual([])
        // A queue that waits already is not told again.
        yield* signsInAt(world, client, "a")
        yield* signsInAt(world, client, "b")
        yield* end(world, ["a"])
        world.calls.replace.length = 0
        yield* end(world, ["b"])
        expect(written("replace")).toBe(0)
      })
    ))

  test("go on with one that comes meanwhile, and then the queue sleeps", () =>
    inTown(
      Effect.fnUntraced(function* (world, town) {
        const client = yield* app(world)
        for (const session of ["a", "b"]) yield* signsInAt(world, client, session)
        const { calling, gate } = yield* heldUp(town)
        yield* end(world, ["a"])
        const under = yield* Effect.forkChild(deliver(world), { startImmediately: true })
        yield* Deferred.await(calling)
        yield* end(world, ["b"])
        yield* Deferred.succeed(gate, undefined)
        expect(yield* Fiber.join(under)).toBeUndefined()
        expect(town.posted).toHaveLength(2)
        expect(yield* queue(world, client)).toMatchObject({ waiting: false, lease: null, woken: false })
      })
    ))

  test("pass to another process once a lease has run out: the one that was held up makes no other", () =>
    inTown(
      Effect.fnUntraced(function* (world, town) {
        const client = yield* app(world)
        yield* leave(world, client, 2)
        const { calling, gate } = yield* heldUp(town)
        const slow = yield* Effect.forkChild(deliver(world), { startImmediately: true })
        yield* Deferred.await(calling)
        yield* TestClock.adjust("61 seconds")
        town.answer = () => Effect.succeed(200)
        const other = yield* world.elsewhere
        yield* deliver(other)
        yield* Deferred.succeed(gate, undefined)
        yield* Fiber.join(slow)
        const [first, second] = ["000000", "000001"].map((place) => digestOf(place) as string)
        expect(town.posted.map(({ sid }) => sid)).toEqual([first, first, second].map(text))
      })
    ))

  test("are another process's where the one that has the lease is held up before the first", () => {
    let holding: { readonly calling: Deferred.Deferred<void>; readonly gate: Deferred.Deferred<void> } | undefined
    const held = Layer.effect(
      Storage,
      Effect.map(Storage, (below) => ({
        ...below,
        list: (listing) =>
          Effect.tap(below.list(listing), () => {
            if (holding === undefined || !listing.owner.startsWith("client:")) return Effect.void
            const { calling, gate } = holding
            holding = undefined
            return Effect.andThen(Deferred.succeed(calling, undefined), Deferred.await(gate))
          })
      }))
    ).pipe(Layer.provide(Memory.layer))
    return inTown(
      Effect.fnUntraced(function* (world, { posted }) {
        const client = yield* app(world)
        yield* signsInAt(world, client, "a")
        yield* end(world, ["a"])
        const [calling, gate] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        holding = { calling, gate }
        const slow = yield* Effect.forkChild(deliver(world), { startImmediately: true })
        yield* Deferred.await(calling)
        yield* TestClock.adjust("61 seconds")
        yield* deliver(yield* world.elsewhere)
        yield* Deferred.succeed(gate, undefined)
        yield* Fiber.join(slow)
        expect(posted).toHaveLength(1)
      }),
      { store: held }
    )
  })

  test("wait for those of no other client, eight clients at once, and one that fails takes none along", () =>
    inTown(
      Effect.fnUntraced(function* (world, town) {
        const names = Array.from({ length: 10 }, (_, at) => `number${at}`)
        const clients: Array<TestClient> = []
        for (const name of names) {
          const client = yield* app(world, name)
          yield* leave(world, client, 1).pipe(Effect.orDie)
          clients.push(client)
        }
        const { calling, gate } = yield* heldUp(town, 8)
        const under = yield* Effect.forkChild(Effect.exit(deliver(world)), { startImmediately: true })
        yield* Deferred.await(calling)
        yield* Effect.repeat(Effect.yieldNow, { times: 100 })
        expect(town.posted).toHaveLength(8)
        // The first eight cannot be forgotten.
        world.away.add("remove logout")
        yield* Deferred.succeed(gate, undefined)
        expect((yield* Fiber.join(under))._tag).toBe("Failure")
        expect(town.posted).toHaveLength(10)
        expect(new Set(town.posted.map(({ address }) => address))).toEqual(new Set(names.map(addressOf)))
      }),
      { signatures: quickSignatures }
    ))

  test("of clients that answer slowly keep no other waiting until all are made, and stay in their order", () =>
    inTown(
      Effect.fnUntraced(function* (world, town) {
        const many = 20
        const { deliverKnown } = world.services.logouts
        const slow = Array.from({ length: 8 }, (_, at) => `slow${at}`)
        for (const name of slow) yield* leave(world, yield* app(world, name), many).pipe(Effect.orDie)
        const quick = yield* app(world, "quick")
        yield* signsInAt(world, quick, "a")
        const isQuick = ({ address }: Posted) => address === addressOf("quick")
        town.answer = (posted) => Effect.as(isQuick(posted) ? Effect.void : Effect.sleep("4 seconds"), 200)
        yield* Effect.forkScoped(deliver(world))
        yield* Effect.forkScoped(Effect.forever(Effect.andThen(deliverKnown, Effect.sleep("1 second"))))
        yield* TestClock.adjust("1 second")
        yield* end(world, ["a"])
        yield* TestClock.adjust("20 seconds")
        expect(town.posted.filter(isQuick)).toHaveLength(1)
        yield* TestClock.adjust("5 minutes")
        const sids = Array.from({ length: many }, (_, n) => digestOf(String(n).padStart(6, "0")) as string)
        for (const name of slow) {
          const own = town.posted.filter(({ address }) => address === addressOf(name))
          expect(own.map(({ sid }) => sid)).toEqual(sids)
        }
      }),
      { signatures: quickSignatures }
    ))

  /** Clients that let each call run out, as often as they are called. */
  const deadOnes = Effect.fnUntraced(function* (world: World, town: Town, count: number) {
    for (let at = 0; at < count; at++) yield* leave(world, yield* app(world, `dead${at}`), 1).pipe(Effect.orDie)
    town.answer = ({ address }) =>
      address.startsWith(addressOf("dead"))
        ? Effect.andThen(Effect.sleep("5 seconds"), Effect.fail(new DocumentFault({ reason: "timed_out" })))
        : Effect.succeed(200)
  })
  const isQuick = ({ address }: Posted) => address === addressOf("quick")

  test("come before those of clients that failed before, however many these are", () =>
    inTown(
      Effect.fnUntraced(function* (world, town) {
        const { deliverKnown } = world.services.logouts
        const quick = yield* app(world, "quick")
        yield* signsInAt(world, quick, "a")
        yield* deadOnes(world, town, 200)
        yield* Effect.forkScoped(deliver(world))
        yield* Effect.forkScoped(Effect.forever(Effect.andThen(deliverKnown, Effect.sleep("1 second"))))
        // Each was tried, and is tried again.
        yield* TestClock.adjust("5 minutes")
        expect(new Set(town.posted.map(({ address }) => address)).size).toBe(200)
        yield* end(world, ["a"])
        yield* TestClock.adjust("15 seconds")
        expect(town.posted.filter(isQuick)).toHaveLength(1)
      }),
      { signatures: quickSignatures }
    ))

  test("that hang keep no other workspace waiting for longer than a few of them take", () =>
    inTown(
      Effect.fnUntraced(function* (world, town) {
        // There is a key by then.
        yield* signsInAt(world, yield* app(world), "a")
        yield* deadOnes(world, town, 200)
        const isOver = Effect.fnUntraced(function* (work: Effect.Effect<unknown, unknown>, within: Duration.Input) {
          let over = false
          yield* Effect.forkScoped(Effect.tap(work, () => Effect.sync(() => (over = true))))
          yield* TestClock.adjust(within)
          return over
        })
        expect(yield* isOver(deliver(world), "70 seconds")).toBe(true)
        expect(yield* isOver(world.services.logouts.deliverKnown, "10 seconds")).toBe(true)
        expect(new Set(town.posted.map(({ address }) => address)).size).toBeLessThan(200)
      }),
      { signatures: quickSignatures }
    ))

  test("are made in one round after the other, for a minute, before the next workspace has its turn", () =>
    inTown(
      Effect.fnUntraced(function* (world, town) {
        const client = yield* app(world)
        // There is a key by then: to make one takes time that is not the clock's.
        yield* signsInAt(world, client, "a")
        yield* leave(world, client, 30)
        town.answer = () => Effect.as(Effect.sleep("3 seconds"), 200)
        const looking = yield* Effect.forkChild(deliver(world), { startImmediately: true })
        yield* TestClock.adjust("5 minutes")
        const from = yield* Fiber.join(looking)
        expect([town.posted.length, from]).toEqual([20, Instant.make(t0)])
        yield* Effect.forkChild(deliver(world), { startImmediately: true })
        yield* TestClock.adjust("5 minutes")
        expect(town.posted.length).toBe(30)
      }),
      { signatures: quickSignatures }
    ))

  test("that cannot be signed are tried again for a day, and then given up, of which the audit is told", () => {
    let fails = false
    const failed = new SignatureFault({ reason: "failed" })
    const signatures: Signatures["Service"] = {
      ...realSignatures,
      signer: (key, algorithm) => (fails ? Effect.fail(failed) : realSignatures.signer(key, algorithm))
    }
    return inTown(
      Effect.fnUntraced(function* (world, town) {
        const client = yield* app(world)
        yield* signsInAt(world, client, "a")
        yield* end(world, ["a"])
        fails = true
        const other = yield* world.elsewhere
        expect(yield* deliver(other)).toBe(Instant.make(t0 + 10_000))
        expect(givenUp(world)).toEqual([])
        yield* TestClock.adjust("24 hours")
        expect(yield* deliver(yield* world.elsewhere)).toBeUndefined()
        expect(town.posted).toEqual([])
        const event = { _tag: "LogoutCallGivenUp", client: idOf(client), why: "unsigned" } as const
        expect(givenUp(world)).toEqual([{ workspace: world.workspace.id, requestId: "logout", event }])
      }),
      { signatures }
    )
  })
})
