import { describe, expect, test } from "bun:test"
import { Effect, Redacted, Schema } from "effect"
import type { HttpResponse } from "../../core/http/Http.ts"
import { RegistrationPolicy } from "../../core/ports/RegistrationPolicy.ts"
import { currentInstant } from "../../core/rules/Instant.ts"
import { ResourceRegistry } from "../../core/rules/Resource.ts"
import { signInScopes } from "../../core/rules/Scope.ts"
import { TrustedIssuers } from "../../core/rules/TrustedIssuer.ts"
import { makeDice, seedOfRun } from "../../core/testing/Dice.ts"
import type { Workspace } from "../../core/workspace/Workspace.ts"
import * as ofFetch from "../../runtimes/fetch.ts"
import { limitConcurrency } from "../../runtimes/serve/limitConcurrency.ts"
import { bodyLimit } from "../../runtimes/serve/request.ts"
import { login, own } from "../given/enterprise.ts"
import { header } from "../given/flow.ts"
import { inWorld, realSignatures, requestOf, theWorkspace, type World } from "../given/World.ts"
import { seed } from "../laws/runs.ts"
import { type Document, type Operation, readDocument, variantsOf } from "./Document.ts"
import { bodyOf, type Drawn, drawRequest, type Mishap, mishapsOf } from "./drawRequest.ts"
import { declaredBy, type Judge, makeJudge } from "./Judge.ts"
import { type Limit, makeLimit, sendInTrouble } from "./trouble.ts"
import { initialToken, openWallet } from "./Wallet.ts"

/** How many requests are drawn of each operation, for each of the bodies that it may take. */
const requests = 50
/** And how many at most, while there are answers that chance has not brought yet. */
const mostRequests = 400
/** How many more break one parameter of an operation, for each of them: chance alone would miss some. */
const broken = 2

const registrations = {
  open: RegistrationPolicy.layerOpen,
  "with a token": RegistrationPolicy.layerToken(Redacted.make(initialToken))
} as const

/** Listed are the example of an API, and one elsewhere. */
const home: Workspace = {
  ...theWorkspace,
  trustedIssuers: Schema.decodeUnknownSync(TrustedIssuers)([
    { issuer: login, keys: { _tag: "Registered", keys: [own.jwk] }, people: "known" }
  ]),
  resources: Schema.decodeUnknownSync(ResourceRegistry)([
    { at: `${theWorkspace.issuer}/rest`, name: "Rest", scopes: ["api"] },
    { at: "https://api.example.com", name: "API" }
  ])
}

/** Where people sign in by OpenID Connect, and where they do not. */
const homes = { open: { ...home, scopes: signInScopes }, "with a token": home } as const

interface Stage {
  readonly world: World
  readonly document: Document
  readonly judge: Judge
  readonly limit: Limit
}

interface Law {
  readonly document: Document
  readonly judge: Judge
}

const inHome = <A>(
  registration: keyof typeof registrations,
  body: (on: Pick<Stage, "world" | "limit">) => Effect.Effect<A>
): Promise<A> => {
  const { layer, limit } = makeLimit()
  return inWorld((world) => body({ world, limit }), {
    registration: registrations[registration],
    limiter: layer,
    signatures: realSignatures,
    resolve: () => homes[registration]
  })
}

const lawOf = async (registration: keyof typeof registrations): Promise<Law> => {
  const served = await inHome(registration, ({ world }) => world.send("GET", "/openapi.json"))
  const document = readDocument(served.body)
  return { document, judge: makeJudge(document) }
}

const inWords = (operation: Operation, drawn: Drawn, mishap: Mishap | undefined, response: HttpResponse): string =>
  [
    `${operation.operationId}, ${mishap ?? "nothing"} wrong: ${drawn.about?.name ?? ""}`,
    `${drawn.method} ${drawn.target} ${JSON.stringify(drawn.sent)}`,
    `${response.status} ${JSON.stringify(response.headers)} ${response.body.slice(0, 400)}`,
    `See it again with TESSERA_SEED=${seed}`
  ].join("\n")

/** It sends the same request on as a query: whatever that comes to, it asks no store and grants nothing itself. */
const sendsOn = "authorizeByPost"

/** Whether the caller got what it asked for: a browser that is sent back with an error, or sent on, did not. */
const wasGranted = (response: HttpResponse): boolean =>
  response.status < 400 && !/[?&]error=|^\/oauth\/authorize\?/.test(header(response, "location") ?? "")

/** What no request comes to in one of the homes, where waiting for it would be in vain: the other has it. */
const neverIn = {
  open: /^openIdConfiguration\w* 404|^logout\w* 404|^registerClient 401/,
  "with a token": /^(?:openIdConfiguration|logout)\w* (?!404)/
} as const

interface Findings {
  readonly declared: ReadonlyArray<string>
  readonly seen: ReadonlySet<string>
  /** Answers that the document does not declare. */
  readonly undeclared: ReadonlyArray<string>
  /** Requests that the document does not allow, and that were granted. */
  readonly allowedTooMuch: ReadonlyArray<string>
}

/** It has no store that could be broken. */
const answersOf = (document: Document, { operationId }: Operation): ReadonlyArray<string> =>
  declaredBy(document).filter((one) => one.startsWith(`${operationId} `) && !one.startsWith(`${sendsOn} 500`))

/** From its first signature on, a server has keys to publish. */
const sign = ({ services, workspace }: World) =>
  Effect.flatMap(currentInstant, (now) =>
    Effect.orDie(services.signing.ready(workspace, { algorithm: "ES256", life: 60_000 }, now))
  )

/**
 * Every operation, with requests as they should be and with all kinds of mishaps. Each in a world of its own: what one
 * person has allowed there is read again for every page that asks them.
 */
const play = async (
  registration: keyof typeof registrations,
  operations: (operation: Operation) => boolean = () => true
): Promise<Findings> => {
  const { document, judge } = await lawOf(registration)
  const undeclared: Array<string> = []
  const allowedTooMuch: Array<string> = []
  const playOne = (operation: Operation, place: number) => (on: Pick<Stage, "world" | "limit">) =>
    Effect.gen(function* () {
      const stage = { ...on, document, judge }
      const { limit, world } = on
      for (const complaint of yield* withoutTheCore(stage, operation)) undeclared.push(complaint)
      const [, body] = bodyOf(operation) ?? []
      const variants = body === undefined ? 1 : variantsOf(document, body.schema).length
      const rounds = requests * variants
      const names = parametersOf(document, operation)
      const ending = rounds + names.length * broken * variants
      const awaited = answersOf(document, operation).filter((one) => !neverIn[registration].test(one))
      const isLacking = () => awaited.some((one) => !judge.seen.has(one))
      for (let round = 0; round < ending || (round < mostRequests * variants && isLacking()); round++) {
        const dice = makeDice(seedOfRun(seed, place * 1000 + round))
        if (round === 20) yield* sign(world)
        const wallet = yield* openWallet(world, dice)
        // Every second request is as it should be; the others take turns.
        const possible = mishapsOf(operation)
        const name = round < rounds || round >= ending ? undefined : names[(round - rounds) % names.length]
        const drawnMishap = round % 2 === 0 ? possible[(round / 2) % possible.length] : undefined
        const mishap = name === undefined ? drawnMishap : "broken"
        const drawn = yield* drawRequest(document, operation, wallet, dice, mishap, name)
        const response = yield* name === undefined
          ? sendInTrouble(world, limit, dice, drawn, round)
          : world.send(drawn.method, drawn.target, drawn.sent)
        for (const complaint of judge.complaints(operation, response)) {
          undeclared.push(`${complaint}\n${inWords(operation, drawn, mishap, response)}`)
        }
        const forbidden = drawn.fields.some(({ schema, value }) => !judge.allows(schema, value))
        // What is empty counts as not sent, and then nothing is wrong with it.
        const isSent = drawn.fields.every(({ value }) => value !== "")
        if (forbidden && isSent && wasGranted(response)) {
          allowedTooMuch.push(inWords(operation, drawn, mishap, response))
        }
      }
    })
  for (const [place, operation] of document.operations.filter(operations).entries()) {
    await inHome(registration, playOne(operation, place))
  }
  const declared = document.operations.flatMap((operation) => answersOf(document, operation))
  return { declared, seen: judge.seen, undeclared, allowedTooMuch }
}

/** What a runtime answers before the core has seen the request. */
const withoutTheCore = Effect.fnUntraced(function* ({ judge }: Stage, operation: Operation) {
  const path = operation.path.replace(/\{[^}]*\}/g, "x")
  const unheard = () => {
    throw new Error("the core was asked")
  }
  const overloaded = limitConcurrency(unheard, 0)(requestOf(operation.method, path, {}))
  const complaints = [...judge.complaints(operation, yield* Effect.promise(async () => overloaded))]
  if (bodyOf(operation) === undefined) return complaints
  const large = new Request(`https://auth.example.com${path}`, {
    method: operation.method,
    body: "x".repeat(bodyLimit + 1)
  })
  const answered = yield* Effect.promise(async () => ofFetch.handler(unheard)(large))
  const body = yield* Effect.promise(() => answered.text())
  return [
    ...complaints,
    ...judge.complaints(operation, { status: answered.status, headers: [...answered.headers], body })
  ]
})

let played: Promise<ReadonlyArray<Findings>> | undefined
/** One play for all the tests of this file. */
const findings = () => {
  played ??= Promise.all([
    play("open"),
    play("with a token", ({ operationId }) => /^(registerClient|openIdConfiguration|logout)/.test(operationId))
  ])
  return played
}

const patience = 180_000

describe("the OpenAPI document is true:", () => {
  test(
    "requests that are made from it get only the answers that it declares",
    async () => {
      expect((await findings()).flatMap(({ undeclared }) => undeclared).slice(0, 3)).toEqual([])
    },
    patience
  )

  test(
    "it declares no answer and no error that is never given",
    async () => {
      const all = await findings()
      const seen = new Set(all.flatMap((one) => [...one.seen]))
      const declared = new Set(all.flatMap((one) => one.declared))
      expect(declared.size).toBeGreaterThan(80)
      const unseen = [...declared].filter((one) => !seen.has(one))
      expect(unseen).toEqual([])
    },
    patience
  )

  test(
    "what it does not allow is refused",
    async () => {
      expect((await findings()).flatMap(({ allowedTooMuch }) => allowedTooMuch).slice(0, 3)).toEqual([])
    },
    patience
  )

  test("and an answer that is not as it declares would be found", async () => {
    const { document, judge } = await lawOf("open")
    await inHome("open", ({ world }) =>
      Effect.gen(function* () {
        const operation = document.operations.find(({ operationId }) => operationId === "companies")
        if (operation === undefined) throw new Error("the document has no companies")
        const key = yield* Effect.orDie(
          world.services.grants.createKey(world.workspace.id, { name: "k", expiresAt: null })
        )
        const headers = { authorization: `Bearer ${world.reveal(key.text)}` }
        const { body: sent, headers: told, status } = yield* world.send("GET", "/rest/companies", { headers })
        // Copied by name: an answer may have its headers by a getter, which a spread leaves out.
        const right = { status, headers: told, body: sent }
        const complaints = (change: Partial<HttpResponse>) => judge.complaints(operation, { ...right, ...change })
        expect(complaints({})).toEqual([])
        const body = JSON.parse(right.body)
        const wrong: ReadonlyArray<Partial<HttpResponse>> = [
          { status: 404 },
          { status: 403 },
          { body: "" },
          { body: JSON.stringify({ ...body, more: 1 }) },
          { body: JSON.stringify({ ...body, as: { kind: "nobody" } }) },
          { body: JSON.stringify({ data: [] }) },
          { headers: [...right.headers, ["x-more", "1"]] },
          { headers: right.headers.filter(([name]) => name !== "x-request-id") },
          { headers: right.headers.filter(([name]) => name !== "content-type") },
          { headers: right.headers.map(([name, value]) => [name, name === "cache-control" ? "public" : value]) },
          { headers: right.headers.map(([name, value]) => [name, name === "content-type" ? "text/html" : value]) }
        ]
        for (const change of wrong) expect([change, complaints(change).length > 0]).toEqual([change, true])
      })
    )
  })

  test(
    "what it calls required is required, one by one, where the same request is granted with it",
    async () => {
      const { document } = await lawOf("open")
      const tried: Array<string> = []
      const tryOne = (operation: Operation, place: number) => (on: Pick<Stage, "world">) =>
        Effect.gen(function* () {
          const { world } = on
          for (const name of requiredOf(document, operation)) {
            let granted = 0
            for (let round = 0; round < 400 && granted < 3; round++) {
              // The same dice draw the same request, once whole and once without.
              const draw = (mishap: Mishap | undefined) =>
                Effect.gen(function* () {
                  const dice = makeDice(seedOfRun(seed, place * 100 + round))
                  const wallet = yield* openWallet(world, dice)
                  return yield* drawRequest(document, operation, wallet, dice, mishap, name)
                })
              const whole = yield* draw(undefined)
              if (whole.about === undefined) continue
              const answer = yield* world.send(whole.method, whole.target, whole.sent)
              if (!wasGranted(answer)) continue
              granted++
              const without = yield* draw("absent")
              const refused = yield* world.send(without.method, without.target, without.sent)
              if (wasGranted(refused)) throw new Error(inWords(operation, without, "absent", refused))
            }
            tried.push(`${operation.operationId} ${name} ${granted > 0 ? "is required" : "was never granted"}`)
          }
        })
      for (const [place, operation] of document.operations.entries()) {
        if (operation.operationId !== sendsOn) await inHome("open", tryOne(operation, place))
      }
      expect(tried).toContain("token code is required")
      expect(tried.filter((line) => !line.endsWith("is required"))).toEqual([])
    },
    patience
  )
})

/** All that an operation takes, in whichever of its bodies. */
const parametersOf = (document: Document, operation: Operation): ReadonlyArray<string> => {
  const [, body] = bodyOf(operation) ?? []
  const inBody = (body === undefined ? [] : variantsOf(document, body.schema)).flatMap(({ properties }) =>
    Object.keys(properties ?? {})
  )
  const inQuery = (operation.parameters ?? []).filter((parameter) => parameter.in === "query")
  return [...new Set([...inBody, ...inQuery.map(({ name }) => name)])]
}

const requiredOf = (document: Document, operation: Operation): ReadonlyArray<string> => {
  const [, body] = bodyOf(operation) ?? []
  const variants = body === undefined ? [] : variantsOf(document, body.schema)
  const inBody = variants.flatMap(({ required }) => (Array.isArray(required) ? required.map(String) : []))
  const inQuery = (operation.parameters ?? []).filter(({ in: where, required }) => where === "query" && required)
  return [...new Set([...inBody, ...inQuery.map(({ name }) => name)])]
}
