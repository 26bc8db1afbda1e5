import { describe, expect, test } from "bun:test"
import { createHash } from "node:crypto"
import { Effect } from "effect"
import { drawFrom } from "../../core/testing/Draw.ts"
import { freePort } from "../harness/freePort.ts"
import { throwawayFolder } from "../harness/throwawayFolder.ts"
import { tessera } from "./given/tessera.ts"

const rounds = 50
const workers = 4
const patience = 600_000

const owner = { email: "ada@example.com", password: "correct horse battery staple" }
const redirectUri = "https://app.example/callback"
const verifier = "a-code-verifier-of-at-least-43-characters-~._"
const challenge = createHash("sha256").update(verifier).digest("base64url")

interface Client {
  readonly client_id: string
  readonly client_secret: string
}

interface Tokens {
  readonly access_token: string
  readonly refresh_token: string
}

interface Answer {
  readonly status: number
  readonly location: string
  readonly cookies: string
  readonly body: string
}

interface Sent {
  readonly form?: Record<string, string>
  readonly json?: unknown
  readonly cookie?: string
  readonly bearer?: string
}

const ask = async (url: string, { bearer, cookie, form, json }: Sent = {}): Promise<Answer> => {
  const headers = {
    ...(cookie === undefined ? {} : { cookie }),
    ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
    ...(json === undefined ? {} : { "content-type": "application/json" })
  }
  const body = form !== undefined ? new URLSearchParams(form) : json === undefined ? undefined : JSON.stringify(json)
  const response = await fetch(url, {
    headers,
    redirect: "manual",
    ...(body === undefined ? {} : { method: "POST", body })
  })
  return {
    status: response.status,
    location: response.headers.get("location") ?? "",
    cookies: response.headers
      .getSetCookie()
      .map((one) => one.split(";")[0] ?? "")
      .join("; "),
    body: await response.text()
  }
}

const hiddenFields = (page: string): Record<string, string> =>
  Object.fromEntries(
    [...page.matchAll(/<input type="hidden"[^>]*>/g)].map(([tag]) => [
      /name="([^"]*)"/.exec(tag)?.[1] ?? "",
      (/value="([^"]*)"/.exec(tag)?.[1] ?? "").replaceAll("&amp;", "&").replaceAll("&#39;", "'")
    ])
  )

const signIn = async (url: string): Promise<string> => {
  const page = await ask(`${url}/login`)
  const signedIn = await ask(`${url}/login`, {
    cookie: page.cookies,
    form: { ...hiddenFields(page.body), ...owner }
  })
  expect(signedIn.status).toBe(303)
  return signedIn.cookies
}

const authorize = async (url: string, cookie: string, client: Client): Promise<string> => {
  const query = new URLSearchParams({
    response_type: "code",
    client_id: client.client_id,
    redirect_uri: redirectUri,
    code_challenge: challenge,
    code_challenge_method: "S256"
  })
  const page = await ask(`${url}/oauth/authorize?${query}`, { cookie })
  const back = await ask(`${url}/consent`, { cookie, form: { ...hiddenFields(page.body), decision: "approve" } })
  return new URL(back.location).searchParams.get("code") ?? ""
}

const tokenRequest = (url: string, client: Client, fields: Record<string, string>) =>
  ask(`${url}/oauth/token`, { form: { client_id: client.client_id, client_secret: client.client_secret, ...fields } })

const redeem = (url: string, client: Client, code: string) =>
  tokenRequest(url, client, {
    grant_type: "authorization_code",
    code,
    redirect_uri: redirectUri,
    code_verifier: verifier
  })

const refresh = (url: string, client: Client, token: string) =>
  tokenRequest(url, client, { grant_type: "refresh_token", refresh_token: token })

// What the token endpoint and the registration answered with a 2xx; a wrong shape fails what follows.
const read = <A>(answer: Answer): A => JSON.parse(answer.body) as A

/** What one flow knows for certain: each field is set when its answer was there as a whole. */
interface Flow {
  client?: Client
  code?: string
  redeeming?: boolean
  tokens?: Tokens
}

/** Registers, authorizes, redeems and refreshes, over and over, until the server is gone. */
const work = async (url: string, cookie: string, flows: Array<Flow>, acknowledged: () => void) => {
  for (;;) {
    const flow: Flow = {}
    flows.push(flow)
    try {
      const registered = await ask(`${url}/oauth/register`, {
        json: { redirect_uris: [redirectUri], token_endpoint_auth_method: "client_secret_post" }
      })
      flow.client = read<Client>(registered)
      acknowledged()
      flow.code = await authorize(url, cookie, flow.client)
      acknowledged()
      flow.redeeming = true
      flow.tokens = read<Tokens>(await redeem(url, flow.client, flow.code))
      acknowledged()
      flow.tokens = read<Tokens>(await refresh(url, flow.client, flow.tokens.refresh_token))
      acknowledged()
    } catch {
      return
    }
  }
}

const works = async (url: string, token: string) => (await ask(`${url}/rest/companies`, { bearer: token })).status

/** Everything that was acknowledged holds, and no code works twice. Answers with what goes on living. */
const examine = async (url: string, { client, code, redeeming, tokens }: Flow): Promise<Tokens | undefined> => {
  if (client === undefined) return undefined
  if (tokens !== undefined) {
    expect(await works(url, tokens.access_token)).toBe(200)
    const next = await refresh(url, client, tokens.refresh_token)
    expect(next.status).toBe(200)
    const renewed = read<Tokens>(next)
    expect(await works(url, renewed.access_token)).toBe(200)
    return renewed
  }
  if (code === undefined) {
    expect((await redeem(url, client, "tsr_ac_nothing")).status).toBe(400)
    return undefined
  }
  const first = await redeem(url, client, code)
  // Whether the answer got lost before or after the write, nobody can say; but it was one of the two.
  if (redeeming !== true) expect(first.status).toBe(200)
  expect((await redeem(url, client, code)).status).toBe(400)
  if (first.status === 200) expect(await works(url, read<Tokens>(first).access_token)).toBe(401)
  return undefined
}

describe("kill -9 in the middle of load", () => {
  test(
    `loses nothing that was acknowledged, ${rounds} times`,
    () =>
      Effect.runPromise(
        Effect.gen(function* () {
          const cwd = yield* throwawayFolder("killed")
          const port = yield* freePort
          const url = `http://127.0.0.1:${port}`
          const env = {
            PORT: String(port),
            RATE_LIMITS: "off",
            OWNER_EMAIL: owner.email,
            OWNER_PASSWORD: owner.password
          }
          const draw = drawFrom("kill -9")
          const living: Array<Tokens> = []
          let flows: Array<Flow> = []
          let cookie: string | undefined
          let interrupted = 0

          // Each start first answers for what the one before it had acknowledged.
          for (let round = 0; round <= rounds; round++) {
            const server = yield* tessera(["serve"], { cwd, env })
            yield* Effect.promise(() => server.says(/listening on/))
            const before = flows
            const renewed = yield* Effect.promise(() => Promise.all(before.map((flow) => examine(url, flow))))
            living.push(...renewed.filter((tokens) => tokens !== undefined))
            if (round === rounds) break

            cookie ??= yield* Effect.promise(() => signIn(url))
            const session = cookie
            const current: Array<Flow> = []
            let left = 3 + draw.below(20)
            const die = () => {
              left--
              if (left === 0) server.process.kill("SIGKILL")
            }
            yield* Effect.promise(() =>
              Promise.all(Array.from({ length: workers }, () => work(url, session, current, die)))
            )
            expect((yield* Effect.promise(() => server.ended)).signal).toBe("SIGKILL")
            interrupted += current.filter(({ code, tokens }) => code !== undefined && tokens === undefined).length
            flows = current
          }
          const statuses = yield* Effect.promise(() =>
            Promise.all(living.map((tokens) => works(url, tokens.access_token)))
          )
          expect(statuses.filter((status) => status !== 200)).toEqual([])
          // Otherwise nothing was in the middle of anything, and this would prove little.
          expect(living.length).toBeGreaterThan(rounds)
          expect(interrupted).toBeGreaterThan(rounds / 2)
        }).pipe(Effect.scoped)
      ),
    patience
  )
})
