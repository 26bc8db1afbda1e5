import { describe, expect, test } from "bun:test"
import { Clock, Deferred, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { exportJWK, generateKeyPair, SignJWT } from "jose"
import * as Memory from "../../adapters/memory/Memory.ts"
import { assertionType } from "../../core/oauth/clients/assertion.ts"
import { type InsertAndReplace, Storage, Taken } from "../../core/ports/Storage.ts"
import { companiesAddress, holderOf, proofFor, tokenAddress, tokenProof } from "../given/dpop.ts"
import { codeFor, form, formHeaders, jsonOf, redirectUri, registerClient, verifier } from "../given/flow.ts"
import { signsIn } from "../given/openId.ts"
import { inWorld, t0, theWorkspace, type World } from "../given/World.ts"

const { privateKey, publicKey } = await generateKeyPair("ES256")
const jwk = await exportJWK(publicKey)

/** A store that answers what is taken once only when it may, and tells of it and of reads of grants as they are asked. */
const gated = (gate: {
  readonly taken: Deferred.Deferred<void>
  readonly read: Deferred.Deferred<void>
  readonly open: Deferred.Deferred<void>
}) =>
  Layer.effect(
    Storage,
    Effect.map(Storage, (below) => ({
      ...below,
      get: (key: Parameters<typeof below.get>[0]) =>
        key.kind === "grant"
          ? Effect.tap(below.get(key), () => Deferred.succeed(gate.read, undefined))
          : below.get(key),
      insert: (record: Parameters<typeof below.insert>[0]) =>
        record.kind === "once"
          ? Deferred.succeed(gate.taken, undefined).pipe(
              Effect.andThen(Deferred.await(gate.open)),
              Effect.andThen(Effect.suspend(() => below.insert(record)))
            )
          : below.insert(record)
    }))
  ).pipe(Layer.provide(Memory.layer))

const newGate = () => ({
  taken: Deferred.makeUnsafe<void>(),
  read: Deferred.makeUnsafe<void>(),
  open: Deferred.makeUnsafe<void>()
})

const registered = (world: World) =>
  registerClient(world, {
    grant_types: ["authorization_code", "refresh_token", "client_credentials"],
    token_endpoint_auth_method: "private_key_jwt",
    jwks: { keys: [jwk] }
  })

let drawn = 0

const assertionOf = (client: string, now = t0) =>
  Effect.promise(() =>
    new SignJWT({ iss: client, sub: client, aud: theWorkspace.issuer, jti: `${++drawn}`, exp: now / 1000 + 60 })
      .setProtectedHeader({ alg: "ES256" })
      .sign(privateKey)
  )

const assertionFields = (assertion: string) => ({
  client_assertion_type: assertionType,
  client_assertion: assertion
})

const sent = (
  world: World,
  assertion: string,
  fields: Readonly<Record<string, string>>,
  path = "/oauth/token",
  more: Readonly<Record<string, string>> = {}
) =>
  world.send("POST", path, {
    headers: { ...formHeaders, ...more },
    body: form({ ...assertionFields(assertion), ...fields })
  })

const codeFields = (code: string) => ({
  grant_type: "authorization_code",
  code,
  redirect_uri: redirectUri,
  code_verifier: verifier
})

const signing = signsIn

const oneAfterTheOther =
  (below: Storage["Service"]): InsertAndReplace =>
  (added, expected, record) =>
    Effect.andThen(
      Effect.forEach(
        added,
        (one) => Effect.catchTag(below.insert(one), "Conflict", () => Effect.fail(new Taken({ id: one.id }))),
        { discard: true }
      ),
      Effect.suspend(() => below.replace(expected, record))
    )

/** Over the slow one, all that a request reads is there before the store says whether it was the first. */
const stores = {
  "answers at once": Memory.layer,
  "takes its time": Layer.effect(
    Storage,
    Effect.map(Storage, (below) => ({
      ...below,
      insert: (record: Parameters<typeof below.insert>[0]) =>
        record.kind === "once"
          ? Effect.andThen(Effect.repeat(Effect.yieldNow, { times: 50 }), below.insert(record))
          : below.insert(record)
    }))
  ).pipe(Layer.provide(Memory.layer)),
  "takes it with the write": Layer.effect(
    Storage,
    Effect.map(Storage, (below) => ({ ...below, insertAndReplace: oneAfterTheOther(below) }))
  ).pipe(Layer.provide(Memory.layer))
}

const ada = await holderOf("ES256")

describe("what is good once is taken beside the rest of a request", () => {
  test("the grant is read meanwhile, and written and answered only then", () => {
    const gate = newGate()
    return inWorld(
      function* (world) {
        const client = yield* registered(world)
        const code = yield* codeFor(world, client)
        const assertion = yield* assertionOf(client.id)
        world.calls.replace.length = 0
        const answer = yield* Effect.forkChild(sent(yield* world.elsewhere, assertion, codeFields(code)))
        yield* Deferred.await(gate.taken)
        yield* Deferred.await(gate.read)
        for (let turn = 0; turn < 20; turn++) yield* Effect.yieldNow
        expect([world.calls.replace, answer.pollUnsafe()]).toEqual([[], undefined])
        yield* Deferred.succeed(gate.open, undefined)
        expect((yield* Fiber.join(answer)).status).toBe(200)
        expect(world.calls.replace).toContain("grant")
      },
      { ...signing, store: gated(gate) }
    )
  })

  for (const [what, store] of Object.entries(stores)) {
    test(`a replay changes nothing and is told nothing, whatever it shows, over a store that ${what}`, () =>
      inWorld(
        function* (world) {
          const client = yield* registered(world)
          const once = yield* assertionOf(client.id)
          const begun = yield* sent(world, once, codeFields(yield* codeFor(world, client)))
          expect(begun.status).toBe(200)
          const tokens = jsonOf(begun)
          const code = yield* codeFor(world, client)
          const named = yield* codeFor(world, client, { scope: "openid" })
          const refreshToken = String(tokens.refresh_token)
          const rows = [
            ["/oauth/token", codeFields(code)],
            ["/oauth/token", codeFields(named)],
            ["/oauth/token", codeFields("tsr_ac_x")],
            ["/oauth/token", { grant_type: "refresh_token", refresh_token: refreshToken }],
            ["/oauth/token", { grant_type: "client_credentials" }],
            ["/oauth/token", { grant_type: "unheard_of" }],
            ["/oauth/revoke", { token: refreshToken }],
            ["/oauth/revoke", {}],
            ["/oauth/introspect", { token: refreshToken }],
            ["/oauth/introspect", { token: "x" }]
          ] as const
          for (const process of [world, yield* world.elsewhere]) {
            for (const [path, fields] of rows) {
              for (const made of Object.values(world.calls)) made.length = 0
              const answer = yield* sent(process, once, fields, path)
              expect([path, fields, answer.status, jsonOf(answer)]).toMatchObject([
                path,
                fields,
                401,
                { error: "invalid_client" }
              ])
              expect([world.calls.replace, world.calls.remove]).toEqual([[], []])
            }
          }
          // All that it showed is as good as it was.
          const refreshing = { grant_type: "refresh_token", refresh_token: refreshToken }
          for (const fields of [codeFields(code), codeFields(named), refreshing]) {
            expect((yield* sent(world, yield* assertionOf(client.id), fields)).status).toBe(200)
          }
        },
        { ...signing, store }
      ))

    test(`a replayed proof changes nothing, whatever the client shows of itself, over a store that ${what}`, () =>
      inWorld(
        function* (world) {
          const signs = yield* registered(world)
          const knows = yield* registerClient(world)
          const asks = [
            { client: signs, fieldsOf: Effect.map(assertionOf(signs.id), assertionFields) },
            { client: knows, fieldsOf: Effect.succeed({ client_id: knows.id, client_secret: knows.secret }) }
          ]
          for (const { fieldsOf, client } of asks) {
            const ask = Effect.fnUntraced(function* (code: string, dpop: string) {
              const body = form({ ...(yield* fieldsOf), ...codeFields(code) })
              return yield* world.send("POST", "/oauth/token", { headers: { ...formHeaders, dpop }, body })
            })
            const proof = yield* tokenProof(ada)
            expect((yield* ask(yield* codeFor(world, client), proof)).status).toBe(200)
            const code = yield* codeFor(world, client)
            world.calls.replace.length = 0
            const answer = yield* ask(code, proof)
            expect([answer.status, jsonOf(answer).error, world.calls.replace]).toEqual([400, "invalid_dpop_proof", []])
            expect((yield* ask(code, yield* tokenProof(ada))).status).toBe(200)
          }
        },
        { ...signing, store }
      ))

    test(`a replay keeps no client that acts alone in use, over a store that ${what}`, () =>
      inWorld(
        function* (world) {
          const client = yield* registered(world)
          const alone = { grant_type: "client_credentials" }
          const now = t0 + 25 * 3_600_000
          // A day after it came a use is noted; what was written of its own grant is younger.
          yield* TestClock.setTime(t0 + 12 * 3_600_000)
          const first = yield* assertionOf(client.id, yield* Clock.currentTimeMillis)
          expect((yield* sent(world, first, alone)).status).toBe(200)
          yield* TestClock.setTime(now)
          const once = yield* assertionOf(client.id, now)
          expect((yield* sent(world, once, { token: "x" }, "/oauth/introspect")).status).toBe(200)
          world.calls.replace.length = 0
          expect((yield* sent(world, once, alone)).status).toBe(401)
          expect(world.calls.replace).toEqual([])
          expect((yield* sent(world, yield* assertionOf(client.id, now), alone)).status).toBe(200)
          expect(world.calls.replace).toEqual(["client"])
        },
        { ...signing, store }
      ))
  }

  test("nothing is written or handed out where the store does not say that it was taken", () =>
    inWorld(function* (world) {
      const client = yield* registered(world)
      const code = yield* codeFor(world, client)
      world.away.add("insert once")
      world.calls.replace.length = 0
      for (const fields of [codeFields(code), { grant_type: "client_credentials" }]) {
        const answer = yield* sent(world, yield* assertionOf(client.id), fields)
        expect([answer.status, jsonOf(answer).error]).toEqual([503, "temporarily_unavailable"])
      }
      expect(world.calls.replace).toEqual([])
      world.away.clear()
      expect((yield* sent(world, yield* assertionOf(client.id), codeFields(code))).status).toBe(200)
    }, signing))
})

/** So many calls that the store answers only once all of them have been asked. */
interface Meeting {
  size: number
  arrived: Array<string>
  all: Deferred.Deferred<void>
}

const newMeeting = (): Meeting => ({ size: 0, arrived: [], all: Deferred.makeUnsafe<void>() })

/** Of two that wait for each other neither is ever answered: calls that are made one after the other end no test. */
const meetingIn = (meeting: Meeting) =>
  Layer.effect(
    Storage,
    Effect.map(Storage, (below) => {
      const meet = <A, E>(call: string, answer: Effect.Effect<A, E>) =>
        Effect.suspend(() => {
          if (meeting.arrived.length >= meeting.size) return answer
          meeting.arrived.push(call)
          const isLast = meeting.arrived.length === meeting.size
          const met = isLast ? Deferred.succeed(meeting.all, undefined) : Deferred.await(meeting.all)
          return Effect.andThen(met, answer)
        })
      return {
        ...below,
        get: (key: Parameters<typeof below.get>[0]) =>
          key.kind === "grant" ? meet("get grant", below.get(key)) : below.get(key),
        insert: (record: Parameters<typeof below.insert>[0]) => meet(`insert ${record.kind}`, below.insert(record))
      }
    })
  ).pipe(Layer.provide(Memory.layer))

const pushAddress = tokenAddress.replace("/token", "/par")

describe("what is good once leaves for the store with the rest, so that it costs no round trip of its own", () => {
  const pushed = {
    response_type: "code",
    redirect_uri: redirectUri,
    code_challenge: "a".repeat(43),
    code_challenge_method: "S256"
  }
  const once = "insert once"

  test("a pushed request, a code and a call, with an assertion and a proof", () => {
    const meeting = newMeeting()
    return inWorld(
      function* (world) {
        const client = yield* registered(world)
        const process = yield* world.elsewhere
        const met = Effect.fnUntraced(function* <A, E>(calls: ReadonlyArray<string>, ask: Effect.Effect<A, E>) {
          Object.assign(meeting, newMeeting(), { size: calls.length })
          const answer = yield* ask
          expect([...meeting.arrived].sort()).toEqual([...calls])
          return answer
        })
        const push = Effect.fnUntraced(function* (headers: Readonly<Record<string, string>>) {
          return yield* sent(process, yield* assertionOf(client.id), pushed, "/oauth/par", headers)
        })
        const bare = yield* met([once, "insert request"], push({}))
        const proven = yield* met(
          [once, once, "insert request"],
          Effect.flatMap(proofFor(ada, "POST", pushAddress), (dpop) => push({ dpop }))
        )
        expect([bare.status, proven.status]).toEqual([201, 201])

        const code = yield* codeFor(world, client)
        const assertion = yield* assertionOf(client.id)
        const dpop = yield* tokenProof(ada)
        const tokens = yield* met(
          ["get grant", once, once],
          sent(process, assertion, codeFields(code), "/oauth/token", { dpop })
        )
        expect(tokens.status).toBe(200)
        const access = String(jsonOf(tokens).access_token)
        const proof = yield* proofFor(ada, "GET", companiesAddress, access)
        // The grant, and which clients other processes changed.
        const called = yield* met(
          ["get grant", "get grant", once],
          process.send("GET", "/rest/companies", { headers: { authorization: `DPoP ${access}`, dpop: proof } })
        )
        expect(called.status).toBe(200)
      },
      { ...signing, store: meetingIn(meeting) }
    )
  })

  test("a refresh, and what a client gives back, of a grant at hand: with the write, which is the only call", () => {
    const made: Array<string> = []
    const counting = Layer.effect(
      Storage,
      Effect.map(Storage, (below) => {
        const note = (call: string) => void made.push(call)
        const both = oneAfterTheOther(below)
        return {
          ...below,
          get: (key: Parameters<typeof below.get>[0]) => {
            // Which clients others changed is asked of a store that answers at once, and of no other.
            if (!key.id.startsWith("clients of")) note(`get ${key.kind}`)
            return below.get(key)
          },
          insert: (record: Parameters<typeof below.insert>[0]) => {
            note(`insert ${record.kind}`)
            return below.insert(record)
          },
          replace: (expected: number, record: Parameters<typeof below.insert>[0]) => {
            note(`replace ${record.kind}`)
            return below.replace(expected, record)
          },
          insertAndReplace: (...[added, expected, record]: Parameters<InsertAndReplace>) => {
            note(`insert ${added.map(({ kind }) => kind).join(" and ")}, replace ${record.kind}`)
            return both(added, expected, record)
          }
        }
      })
    ).pipe(Layer.provide(Memory.layer))
    return inWorld(
      function* (world) {
        const client = yield* registered(world)
        const lines = Effect.flatMap(codeFor(world, client), (code) =>
          Effect.map(
            Effect.flatMap(assertionOf(client.id), (shown) => sent(world, shown, codeFields(code))),
            (answer) => String(jsonOf(answer).refresh_token)
          )
        )
        const calls = <A, E>(ask: Effect.Effect<A, E>) =>
          Effect.suspend(() => {
            made.length = 0
            return Effect.map(ask, (answer) => ({ answer, made: [...made] }))
          })
        const refreshed = (refresh_token: string, headers: Readonly<Record<string, string>>) =>
          Effect.flatMap(assertionOf(client.id), (shown) =>
            sent(world, shown, { grant_type: "refresh_token", refresh_token }, "/oauth/token", headers)
          )
        // The first tokens leave something to note of the client.
        const text = String(jsonOf(yield* refreshed(yield* lines, {})).refresh_token)
        const first = yield* calls(refreshed(text, {}))
        expect([first.answer.status, first.made]).toEqual([200, ["insert once, replace grant"]])
        const dpop = yield* tokenProof(ada)
        const second = yield* calls(refreshed(String(jsonOf(first.answer).refresh_token), { dpop }))
        expect([second.answer.status, second.made]).toEqual([200, ["insert once and once, replace grant"]])
        const token = String(jsonOf(second.answer).refresh_token)
        const given = yield* calls(
          Effect.flatMap(assertionOf(client.id), (shown) => sent(world, shown, { token }, "/oauth/revoke"))
        )
        expect([given.answer.status, given.made]).toEqual([200, ["insert once, replace grant"]])

        // A proof that another request has used up, beside an assertion that none has: nothing is refreshed.
        const line = yield* lines
        const replayed = yield* calls(refreshed(line, { dpop }))
        expect([replayed.answer.status, jsonOf(replayed.answer).error]).toEqual([400, "invalid_dpop_proof"])
        expect(replayed.made.filter((call) => call.startsWith("replace"))).toEqual([])
        const assertion = yield* assertionOf(client.id)
        const fields = { grant_type: "refresh_token", refresh_token: line }
        expect((yield* sent(world, assertion, fields)).status).toBe(200)
        expect((yield* sent(world, assertion, fields)).status).toBe(401)
      },
      { ...signing, store: counting }
    )
  })

  test("a refresh at a process that has not seen the grant", () => {
    const meeting = newMeeting()
    return inWorld(
      function* (world) {
        const client = yield* registered(world)
        const begun = yield* sent(world, yield* assertionOf(client.id), codeFields(yield* codeFor(world, client)))
        const refresh_token = String(jsonOf(begun).refresh_token)
        const assertion = yield* assertionOf(client.id)
        Object.assign(meeting, newMeeting(), { size: 2 })
        const fields = { grant_type: "refresh_token", refresh_token }
        const answer = yield* sent(yield* world.elsewhere, assertion, fields)
        expect([answer.status, [...meeting.arrived].sort()]).toEqual([200, ["get grant", once]])
      },
      { ...signing, store: meetingIn(meeting) }
    )
  })
})
