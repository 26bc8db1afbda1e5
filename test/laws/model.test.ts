import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import * as Memory from "../../adapters/memory/Memory.ts"
import type { HttpRequest, HttpResponse } from "../../core/http/Http.ts"
import { rows } from "../../core/testing/model/rows.ts"
import { checkModel, type Stage } from "../../core/testing/play/checkModel.ts"
import { inProcess } from "../../core/testing/play/inProcess.ts"
import { playOver } from "../../core/testing/play/Player.ts"
import { report } from "../../core/testing/play/report.ts"
import type { SystemUnderTest } from "../../core/testing/play/SystemUnderTest.ts"
import type { Fault } from "../../core/testing/script/Command.ts"
import { everyRowComes, patience, scriptSeed, scripts } from "./runs.ts"

/** The core, save for what goes wrong with it. */
const stageWith =
  (faultOf: (sound: SystemUnderTest) => Partial<SystemUnderTest>): Stage =>
  (world, script) =>
    inProcess(world).pipe(
      Effect.map(({ system }) => playOver({ ...system, ...faultOf(system) }, world, script)),
      Effect.provide(Memory.layer, { local: true })
    )

const stage = stageWith(() => ({}))

test(
  "the core answers every random script as the model of the protocol does",
  async () => {
    const result = await Effect.runPromise(checkModel(stage, { seed: scriptSeed, runs: scripts }))

    expect(result._tag === "Falsified" ? report(result) : "agreed").toBe("agreed")
    if (result._tag === "Agreed" && everyRowComes) {
      expect([...rows].filter((row) => !result.rules.has(row))).toEqual([])
    }
  },
  patience
)

/** Scripts on which system and model once parted ways, each by the seed that generates it. */
const partings = {
  "a client that got its tokens, and could not be noted as proven, may be swept as if it never had": 4_252_362_543,
  "and the tokens that it got with it": 125_739_311,
  "a successor that reached nobody counts as handed out when the retry brings it": 1_914_795_554,
  "a client that is deleted with its own grant while it asks after its token proves nothing": 1_227_726_066,
  "a client that a person let in may have no record yet, where that was struck": 2_865_548_108,
  "a late no ends nothing that a client has its tokens for": 1_204_537_814,
  "an approval of a pushed request that was struck before its grant is finished by the next one": 3_439_009_864,
  "what could not be noted of a client at its code is noted when it refreshes": 90_535_295,
  "of a device that was swept, who polls with another's code is told that it is over": 1_144_198_393,
  "a client without a record of its own that was deleted has no browser sent on": 3_873_783_858,
  "what was exchanged is ended by who may exchange no more, and stays so where that is allowed again": 2_260_941_547
}

test.each(Object.entries(partings))("%s", async (_what, seed) => {
  const result = await Effect.runPromise(checkModel(stage, { seed, runs: 1 }))
  expect(result._tag === "Falsified" ? report(result) : "agreed").toBe("agreed")
})

test(
  "nothing that implied scopes or several resources bring about parts the core and the model",
  async () => {
    const runs = Math.ceil(scripts / 4)
    const result = await Effect.runPromise(checkModel(stage, { seed: scriptSeed, runs, world: { apis: true } }))
    expect(result._tag === "Falsified" ? report(result) : "agreed").toBe("agreed")
  },
  patience
)

const approved = { owners: true, workspaceAccess: "approved" } as const
const machines = { assertions: true, exchanges: true, jwts: true, apis: true } as const

const nothing = {
  keys: false,
  devices: false,
  exchanges: false,
  openId: false,
  signOuts: false,
  places: false,
  assertions: false,
  claims: false,
  signers: false,
  jwts: false,
  owners: false,
  rowsAtConsent: false,
  documents: false
} as const

/** Features that meet in one script, as far as the model knows what they make of each other; and no other. */
const together = {
  "clients that sign, wait for owners, exchange and bring assertions": { ...machines, ...approved, signers: true },
  "people who sign in, and out, where clients exchange and bring assertions": {
    ...machines,
    openId: true,
    signOuts: true,
    claims: true,
    signers: true
  },
  "people with places, where clients exchange and bring assertions": {
    ...machines,
    ...approved,
    places: true,
    rowsAtConsent: true
  },
  "devices of people who sign in": { ...machines, devices: true, openId: true, rowsAtConsent: true },
  "documents of clients": { ...machines, ...approved, documents: true },
  "pushed requests of clients that sign": {
    keys: true,
    signers: true,
    openId: true,
    assertions: true,
    apis: true,
    rowsAtConsent: true
  }
} as const

test.each(Object.entries(together))(
  "nothing that %s bring about together parts the core and the model",
  async (_what, world) => {
    const runs = Math.ceil(scripts / 8)
    const all = { ...nothing, ...world }
    const result = await Effect.runPromise(checkModel(stage, { seed: scriptSeed, runs, world: all }))
    expect(result._tag === "Falsified" ? report(result) : "agreed").toBe("agreed")
  },
  patience
)

const done: HttpResponse = { status: 200, headers: [], body: '{"outcome":"done"}' }

/** What goes wrong with the answers of owners: a system that is as the core is, save for that. */
const faultsOfAnswers: Readonly<Record<string, (sound: SystemUnderTest) => Partial<SystemUnderTest>>> = {
  "a refusal that is not kept": ({ answerClient }) => ({
    answerClient: (workspace, client, says) =>
      says === "refused" ? Effect.succeed(done) : answerClient(workspace, client, says)
  }),
  "an owner who answers for another workspace": ({ answerClient }) => ({
    answerClient: (workspace, client, says) =>
      Effect.flatMap(answerClient(workspace, client, says), (own) =>
        own.body.includes("unknown") ? answerClient(workspace === 0 ? 1 : 0, client, says) : Effect.succeed(own)
      )
  }),
  "an approval that outlives its client": ({ answerClient, request }) => {
    const approved = new Set<string>()
    return {
      answerClient: (workspace, client, says) => {
        if (says === "approved") approved.add(client)
        return answerClient(workspace, client, says)
      },
      request: (asked) =>
        asked.method === "DELETE" && approved.has(asked.path.split("/").at(-1) ?? "")
          ? Effect.succeed({ status: 204, headers: [], body: "" })
          : request(asked)
    }
  },
  "an owner who finds every question open": ({ answerClient }) => ({
    answerClient: (workspace, client, says) =>
      Effect.map(answerClient(workspace, client, says), (told) =>
        says === "nothing" ? { ...told, body: told.body.replace("allowed", "waiting") } : told
      )
  })
}

describe.each([
  ["with a record each", false],
  ["that are no record yet", true]
])("of clients %s", (_what, rowsAtConsent) => {
  const asking = { owners: true, workspaceAccess: "approved", rowsAtConsent } as const

  test.each(Object.entries(faultsOfAnswers))("%s parts the core and the model", async (_fault, faultOf) => {
    const result = await Effect.runPromise(
      checkModel(stageWith(faultOf), { seed: scriptSeed, runs: 100, world: asking })
    )
    expect(result._tag).toBe("Falsified")
  })
})

/** What goes wrong with the documents of clients: a system that is as the core is, save for that. */
const faultsOfDocuments: Readonly<Record<string, (sound: SystemUnderTest) => Partial<SystemUnderTest>>> = {
  "a document that is read once and kept for ever": ({ publish }) => {
    const known = new Set<string>()
    return {
      publish: (address, document) =>
        Effect.suspend(() => {
          if (known.has(address)) return Effect.void
          known.add(address)
          return publish(address, document)
        })
    }
  },
  "a document that is gone, and lets people in all the same": ({ publish }) => ({
    publish: (address, document) => (document === null ? Effect.void : publish(address, document))
  }),
  "a ban that ends nothing": () => ({ blockHost: () => Effect.succeed(null) }),
  "a ban that lets others in behind it": ({ blockHost }) => ({
    blockHost: (workspace, host, blocks) =>
      Effect.andThen(blockHost(workspace, host, blocks), blockHost(workspace, host, false))
  })
}

test.each(Object.entries(faultsOfDocuments))("%s parts the core and the model", async (_fault, faultOf) => {
  const result = await Effect.runPromise(
    checkModel(stageWith(faultOf), { seed: scriptSeed, runs: 100, world: { documents: true } })
  )
  expect(result._tag).toBe("Falsified")
})

test(
  "nothing that documents of clients bring about parts the core and the model",
  async () => {
    const runs = Math.ceil(scripts / 4)
    const result = await Effect.runPromise(checkModel(stage, { seed: scriptSeed, runs, world: { documents: true } }))
    expect(result._tag === "Falsified" ? report(result) : "agreed").toBe("agreed")
  },
  patience
)

const away: HttpResponse = { status: 503, headers: [["retry-after", "1"]], body: "" }

/** A system that does some things and says that it could not, where their write was to be struck. */
const withDenied = (
  { calm, trouble }: SystemUnderTest,
  concerns: (fault: Fault) => boolean,
  doing: (denied: <A>(task: Effect.Effect<A>) => Effect.Effect<A | HttpResponse>) => Partial<SystemUnderTest>
): Partial<SystemUnderTest> => {
  let fault: Fault | undefined
  let isDenied = false
  return {
    trouble: (next) =>
      Effect.suspend(() => {
        fault = next
        isDenied = false
        return trouble(next)
      }),
    calm: Effect.map(calm, (isStruck) => isStruck || isDenied),
    ...doing(<A>(task: Effect.Effect<A>) =>
      Effect.suspend((): Effect.Effect<A | HttpResponse> => {
        if (fault === undefined || !concerns(fault)) return task
        fault = undefined
        isDenied = true
        return Effect.as(Effect.andThen(calm, task), away)
      })
    )
  }
}

const isNotDone = ({ what, write }: Fault) => what === "not done" && write === 1

/** A server that says of requests that it did what they ask that it could not: which of the faults, and of which requests. */
const denies =
  (concerns: (fault: Fault) => boolean, of: (asked: HttpRequest) => boolean) =>
  (sound: SystemUnderTest): Partial<SystemUnderTest> =>
    withDenied(sound, concerns, (denied) => ({
      request: (asked) => (of(asked) ? denied(sound.request(asked)) : sound.request(asked))
    }))

const everyRequest = () => true
const ofKey = ({ write }: Fault) => write === "signing key"

/** What is struck where something is signed, or ended, or said by an owner. */
const denials = [
  [
    "an assertion that a client showed",
    { signers: true },
    denies(isNotDone, ({ body }) => body.includes("client_assertion"))
  ],
  ["a JWT for which a key had to be made", { jwts: true }, denies(ofKey, everyRequest)],
  ["an ID token for which a key had to be made", { openId: true }, denies(ofKey, everyRequest)],
  [
    "a sign-out that the store did not take",
    { openId: true, signOuts: true },
    denies(isNotDone, ({ path }) => path.endsWith("/oauth/logout"))
  ],
  [
    "the end of what a person let at a place",
    { places: true },
    (sound: SystemUnderTest) =>
      withDenied(sound, isNotDone, (denied) => ({ endAll: (...given) => denied(sound.endAll(...given)) }))
  ],
  [
    "what an owner allows to be exchanged",
    { exchanges: true },
    (sound: SystemUnderTest) =>
      withDenied(sound, isNotDone, (denied) => ({ allowExchange: (...given) => denied(sound.allowExchange(...given)) }))
  ],
  [
    "an owner's trust in an issuer",
    { assertions: true },
    (sound: SystemUnderTest) =>
      withDenied(sound, isNotDone, (denied) => ({ trust: (...given) => denied(sound.trust(...given)) }))
  ]
] as const

test.each(denials)("%s, and was told to be struck, parts the core and the model", async (_what, world, faultOf) => {
  const result = await Effect.runPromise(checkModel(stageWith(faultOf), { seed: scriptSeed, runs: 300, world }))
  expect(result._tag).toBe("Falsified")
})

/** Both kinds of addressing: by the path of one host, side by side and one below the other, and by host and path. */
const addressings: ReadonlyArray<readonly [issuer: string, issuer: string]> = [
  ["https://id.example/one", "https://id.example/two"],
  ["https://id.example", "https://id.example/two"],
  ["https://id.example/t/one", "https://id.example/t/one/two"],
  ["https://one.example/a", "https://two.example:8443/a"]
]

test.each(addressings)(
  "no workspace reads another's record, at %s and %s",
  async (one, other) => {
    const issuers = [one, other] as const
    const runs = Math.ceil(scripts / 2 / addressings.length)
    const result = await Effect.runPromise(checkModel(stage, { seed: scriptSeed, runs, world: { issuers } }))
    expect(result._tag === "Falsified" ? report(result) : "agreed").toBe("agreed")
  },
  patience
)
