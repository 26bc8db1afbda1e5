import { expect, test } from "bun:test"
import { setTimeout as pause } from "node:timers/promises"
import { Effect } from "effect"
import { type Draw, drawFrom } from "../../core/testing/Draw.ts"
import { challenge, hiddenFields, verifier } from "../given/flow.ts"
import { startServer } from "../given/server.ts"
import { companiesStatus, locationOf, postToken, type Registered, register, Visitor } from "../given/serverVisitor.ts"
import { pollUntil } from "../harness/pollUntil.ts"
import { scoped } from "../harness/scoped.ts"

const kills = Number(process.env.TEST_KILLS ?? 25)
const seed = process.env.TEST_SEED ?? "killed"
const workers = 6
const redirectUri = "https://app.example.org/callback"

/** One person's yes, as its client knows it: only what the server has answered counts as had. */
interface Grant {
  readonly client: Registered
  readonly code: string
  /** The code was sent; whether it was taken is unknown until there is an answer. */
  sent: boolean
  access: string | undefined
  refresh: string | undefined
  /** A refresh token whose successor may or may not have been made. */
  doubtful: string | undefined
}

interface Ledger {
  /** How often the server has said yes. */
  acknowledged: number
  readonly grants: Array<Grant>
  /** Clients whose registration was answered. */
  readonly clients: Array<Registered>
  /** Tokens of client credentials. */
  readonly own: Array<string>
}

const fieldsOf = (client: Registered) => ({
  client_id: client.client_id,
  client_secret: String(client.client_secret)
})

type Answer = Readonly<Record<string, unknown>>

const answerOf = async (response: Response): Promise<Answer> => {
  expect([200, 201]).toContain(response.status)
  // RFC 6749's shape; a token that is none fails where it is used.
  return (await response.json()) as Answer
}

const redeem = (url: string, { client, code }: Grant) =>
  postToken(url, {
    ...fieldsOf(client),
    grant_type: "authorization_code",
    code,
    redirect_uri: redirectUri,
    code_verifier: verifier
  })

const refresh = (url: string, { client }: Grant, token: string) =>
  postToken(url, { ...fieldsOf(client), grant_type: "refresh_token", refresh_token: token })

const enrol = (url: string) =>
  register(url, {
    redirect_uris: [redirectUri],
    grant_types: ["authorization_code", "client_credentials"],
    token_endpoint_auth_method: "client_secret_post"
  })

/** A person who approves, a client that redeems, refreshes, and works for itself: until the server is gone. */
const work = async (url: string, visitor: Visitor, ledger: Ledger): Promise<void> => {
  for (;;) {
    const client = await enrol(url)
    ledger.clients.push(client)
    ledger.acknowledged++
    const query = new URLSearchParams({
      response_type: "code",
      client_id: client.client_id,
      redirect_uri: redirectUri,
      code_challenge: challenge,
      code_challenge_method: "S256"
    })
    const page = await visitor.get(`/oauth/authorize?${query}`)
    const approved = await visitor.post("/consent", { ...hiddenFields(await page.text()), decision: "approve" })
    const code = locationOf(approved).searchParams.get("code") ?? ""
    const grant: Grant = { client, code, sent: false, access: undefined, refresh: undefined, doubtful: undefined }
    ledger.grants.push(grant)
    ledger.acknowledged++

    grant.sent = true
    const first = await answerOf(await redeem(url, grant))
    grant.access = String(first.access_token)
    grant.refresh = String(first.refresh_token)
    ledger.acknowledged++

    grant.doubtful = grant.refresh
    const next = await answerOf(await refresh(url, grant, grant.refresh))
    grant.access = String(next.access_token)
    grant.refresh = String(next.refresh_token)
    grant.doubtful = undefined
    ledger.acknowledged++

    const own = await answerOf(await postToken(url, { ...fieldsOf(client), grant_type: "client_credentials" }))
    ledger.own.push(String(own.access_token))
    ledger.acknowledged++
  }
}

const gone = (error: unknown) => {
  // The kill is heard as a broken connection; anything else is a failure of the test's own.
  if (
    error instanceof Error &&
    /connect|socket|closed|fetch|ECONN|JSON|terminated/i.test(`${error.name} ${error.message}`)
  )
    return
  throw error
}

const someOf = <A>(draw: Draw, all: ReadonlyArray<A>, most: number): ReadonlyArray<A> =>
  all.length <= most ? all : Array.from({ length: most }, () => all[draw.below(all.length)] as A)

/** All that the last life of the server acknowledged, and some of what those before it did. */
const check = async (
  url: string,
  draw: Draw,
  ledger: Ledger,
  since: { readonly grants: number; readonly clients: number; readonly own: number }
) => {
  const recent = ledger.grants.slice(since.grants)
  const older = someOf(draw, ledger.grants.slice(0, since.grants), 10)
  const tokens = [
    ...[...recent, ...older].flatMap(({ access }) => access ?? []),
    ...ledger.own.slice(since.own),
    ...someOf(draw, ledger.own, 5)
  ]
  await Promise.all(tokens.map(async (token) => expect(await companiesStatus(url, token)).toBe(200)))
  await Promise.all(
    ledger.clients.slice(since.clients).map(async (client) => {
      const own = { headers: { authorization: `Bearer ${String(client.registration_access_token)}` } }
      expect((await fetch(String(client.registration_client_uri), own)).status).toBe(200)
    })
  )
  const replayed = new Set(recent.filter(() => draw.below(3) === 0))
  await Promise.all(recent.map((grant) => checkGrant(url, grant, replayed.has(grant))))
}

const keep = (grant: Grant, tokens: Answer) => {
  grant.access = String(tokens.access_token)
  grant.refresh = String(tokens.refresh_token)
  grant.doubtful = undefined
}

const checkGrant = async (url: string, grant: Grant, isReplayed: boolean): Promise<void> => {
  if (grant.doubtful !== undefined) {
    // The answer was lost: the same successor, or the first one.
    keep(grant, await answerOf(await refresh(url, grant, grant.doubtful)))
  } else if (grant.refresh === undefined) {
    // Its answer was lost with the code's fate: now it works once, or it was used and is void.
    const late = await redeem(url, grant)
    expect([200, 400]).toContain(late.status)
    if (!grant.sent) expect(late.status).toBe(200)
    expect((await redeem(url, grant)).status).toBe(400)
  } else if (isReplayed) {
    expect((await redeem(url, grant)).status).toBe(400)
    // RFC 6749 section 4.1.2: and what it had given is taken back.
    expect(await companiesStatus(url, String(grant.access))).toBe(401)
    grant.access = undefined
  } else keep(grant, await answerOf(await refresh(url, grant, grant.refresh)))
}

test(
  `kill -9 in the middle of load, ${kills} times (TEST_SEED=${seed}): what was acknowledged holds, and no code works twice`,
  () =>
    scoped(function* () {
      const draw = drawFrom(seed)
      const server = yield* startServer({ env: { RATE_LIMITS: "off" } })
      const visitor = new Visitor(server.url)
      yield* Effect.promise(() => visitor.signIn())
      const ledger: Ledger = { acknowledged: 0, grants: [], clients: [], own: [] }
      let interrupted = 0
      for (let killed = 0; killed < kills; killed++) {
        const since = { grants: ledger.grants.length, clients: ledger.clients.length, own: ledger.own.length }
        const load = Array.from({ length: workers }, () => work(server.url, visitor, ledger).catch(gone))
        const enough = ledger.acknowledged + 3 + draw.below(20)
        yield* pollUntil(
          Effect.sync(() => ledger.acknowledged >= enough),
          20_000
        )
        // Somewhere in what the workers are about by now.
        yield* Effect.promise(() => pause(draw.below(20)))
        // And while a code is out that has no answer yet, however fast the machine is.
        const isBetweenSteps = () => ledger.grants.slice(since.grants).some(({ access }) => access === undefined)
        for (let turns = 0; turns < 5000 && !isBetweenSteps(); turns++) yield* Effect.promise(() => pause(0))
        yield* server.kill
        yield* Effect.promise(() => Promise.all(load))
        interrupted += ledger.grants.slice(since.grants).filter(({ access }) => access === undefined).length
        yield* server.start
        yield* Effect.promise(() => check(server.url, draw, ledger, since))
      }
      const living = ledger.grants.flatMap(({ access }) => access ?? [])
      const statuses = yield* Effect.promise(() =>
        Promise.all(living.map((token) => companiesStatus(server.url, token)))
      )
      expect(statuses.filter((status) => status !== 200)).toEqual([])
      // A kill between two steps of a flow is what this is about.
      expect(living.length).toBeGreaterThan(kills)
      expect(interrupted).toBeGreaterThan(kills / 2)
      expect(server.log()).not.toContain("a defect")
    }),
  300_000
)
