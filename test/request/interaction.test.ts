import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { DocumentFault, Documents } from "../../core/ports/Documents.ts"
import type { UserPlace } from "../../core/ports/ResourceOwner.ts"
import { type Interaction, interaction } from "../../core/request/interaction.ts"
import { openTicket } from "../../core/request/Ticket.ts"
import { PlaceId } from "../../core/rules/Id.ts"
import { currentInstant } from "../../core/rules/Instant.ts"
import { ScopeName } from "../../core/rules/Scope.ts"
import {
  authorizeTarget,
  codeFor,
  form,
  formHeaders,
  jsonOf,
  provenClient,
  redeem,
  registerClient,
  type TestClient,
  text,
  type Values
} from "../given/flow.ts"
import { inWorld, requestOf, type World } from "../given/World.ts"

/** What an authorization request comes to, for a person who is signed in. */
const comesTo = Effect.fnUntraced(function* (world: World, target: string) {
  return yield* interaction(world.services, {
    request: requestOf("GET", target, { as: "alice" }),
    workspace: world.workspace,
    path: "/oauth/authorize",
    endpoint: "/oauth/authorize",
    now: yield* currentInstant,
    requestId: "one"
  })
})

const asks = (world: World, client: TestClient, fields: Values = {}) => comesTo(world, authorizeTarget(client, fields))

/** In one word each: what happens next, and why it is no. */
const inWords = (next: Interaction) =>
  next._tag === "Redirect"
    ? [next._tag, next.returned.refusal._tag]
    : next._tag === "Page"
      ? [next._tag, next.refusal._tag]
      : [next._tag]

const document = { id: "https://app.example.org/client.json", redirectUri: "https://app.example.org/callback" }
const unreachable = { ...Documents.none, fetch: () => Effect.fail(new DocumentFault({ reason: "unreachable" })) }

const place = (id: string, more: Partial<UserPlace> = {}): UserPlace => ({ id: PlaceId.make(id), label: id, ...more })
const remember = { policy: { consent: "remember" } } as const

describe("what an authorization request comes to", () => {
  test("is a page where no client can be told, and no answer at all where that is not known", () =>
    inWorld(
      function* (world) {
        const client = yield* provenClient(world)
        const target = authorizeTarget(client)
        expect(inWords(yield* comesTo(world, target.replace(client.id, "A".repeat(22))))).toEqual([
          "Page",
          "UntrustedRequest"
        ])
        const pushed = `/oauth/authorize?client_id=${client.id}&request_uri=urn:ietf:params:oauth:request_uri:x`
        expect(inWords(yield* comesTo(world, pushed))).toEqual(["Page", "InvalidRequestUri"])
        const ofDocument = target.replace(`client_id=${client.id}`, `client_id=${encodeURIComponent(document.id)}`)
        expect((yield* Effect.flip(comesTo(world, ofDocument)))._tag).toBe("PortUnavailable")
        world.away.add("get client")
        const unknown = target.replace(client.id, "B".repeat(22))
        expect((yield* Effect.flip(comesTo(world, unknown)))._tag).toBe("StorageUnavailable")
      },
      { documents: unreachable }
    ))

  test("without pages is no, unless an earlier yes counts again", () =>
    inWorld(function* (world) {
      const client = yield* provenClient(world)
      const silent = Effect.map(asks(world, client, { prompt: "none" }), inWords)
      expect(yield* silent).toEqual(["Redirect", "ConsentRequired"])
      yield* redeem(world, client, yield* codeFor(world, client))
      expect(yield* silent).toEqual(["Remembered"])
      expect(inWords(yield* asks(world, client, { prompt: "consent" }))).toEqual(["NeedsConsent"])
    }, remember))

  test("without pages is no at once where every page asks: nothing is looked up for it", () =>
    inWorld(function* (world) {
      const client = yield* provenClient(world)
      world.away.add("list grant")
      expect(inWords(yield* asks(world, client, { prompt: "none" }))).toEqual(["Redirect", "ConsentRequired"])
      expect((yield* Effect.flip(asks(world, client)))._tag).toBe("StorageUnavailable")
    }))

  test("keeps to the places that the person has by then", () => {
    const places: Array<UserPlace> = []
    return inWorld(
      function* (world) {
        const client = yield* registerClient(world, { scope: "api profile" })
        const fields = { scope: "api profile" }
        const drawn = Effect.map(asks(world, client, fields), (next) => {
          if (next._tag !== "NeedsConsent") throw new Error(`no page: ${next._tag}`)
          const ticket = openTicket(world.services.keys.current(), world.workspace, next.form.ticket)
          const { request } = ticket ?? expect.unreachable("no ticket")
          return {
            page: [next.request.place, next.request.scope],
            kept: [request.place, request.scope],
            chooses: ticket?.chooses
          }
        })
        const all = ["api", "profile"]
        expect<unknown>(yield* drawn).toEqual({ page: [undefined, all], kept: [undefined, all], chooses: undefined })
        yield* redeem(world, client, yield* codeFor(world, client, fields))
        expect(inWords(yield* asks(world, client, fields))).toEqual(["Remembered"])

        places.push(place("acme", { scopes: [ScopeName.make("api")] }))
        expect<unknown>(yield* drawn).toEqual({
          page: ["acme", ["api"]],
          kept: ["acme", ["api"]],
          chooses: undefined
        })
        yield* redeem(world, client, yield* codeFor(world, client, fields))
        const again = yield* asks(world, client, fields)
        expect<unknown>(again._tag === "Remembered" && [again.waiting.place, again.waiting.scope]).toEqual([
          "acme",
          ["api"]
        ])

        // What was allowed without a place is no choice of one.
        places.push(place("museum"))
        expect<unknown>(yield* drawn).toEqual({ page: [undefined, all], kept: [undefined, all], chooses: true })
        const silent = yield* asks(world, client, { ...fields, prompt: "none" })
        expect(inWords(silent)).toEqual(["Redirect", "InteractionRequired"])
        expect(silent).toMatchObject({ returned: { refusal: { reason: "place" } } })
      },
      { ...remember, places: () => places }
    )
  })

  test("keeps a pushed request at the one place that its person has", () =>
    inWorld(
      function* (world) {
        const client = yield* registerClient(world, { scope: "api profile" })
        const query = new URLSearchParams(authorizeTarget(client, { scope: "api profile" }).split("?")[1])
        query.set("client_secret", text(client.secret))
        const pushed = jsonOf(yield* world.send("POST", "/oauth/par", { headers: formHeaders, body: query.toString() }))
        const visit = form({ client_id: client.id, request_uri: text(pushed.request_uri) })
        const next = yield* comesTo(world, `/oauth/authorize?${visit}`)
        if (next._tag !== "NeedsConsent") throw new Error(`no page: ${next._tag}`)
        const ticket = openTicket(world.services.keys.current(), world.workspace, next.form.ticket)
        expect<unknown>([ticket?.request.place, ticket?.request.scope]).toEqual(["acme", ["api"]])
      },
      { places: () => [place("acme", { scopes: [ScopeName.make("api")] })] }
    ))
})
