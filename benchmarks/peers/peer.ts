import { createHash, randomBytes } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Plan, Workload } from "../Plan.ts"
import { argument, post, redirectUri, verifier } from "../servers/serving.ts"

/** A form that came over Node's HTTP, as the simplest of body parsers gives it. */
export const readForm = async (request: IncomingMessage): Promise<Record<string, string>> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk)
  return Object.fromEntries(new URLSearchParams(Buffer.concat(chunks).toString()))
}

export const writeJson = (
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: unknown
): void => {
  const text = JSON.stringify(body)
  response.writeHead(status, { "content-type": "application/json", ...headers })
  response.end(text)
}

export const onNode = argument("runtime", "bun") === "node"

export const client = { id: "benchmark", secret: randomBytes(30).toString("base64url") }
export const user = { id: "user-1" }

/** Of the verifier that every code is redeemed with. */
export const codeChallenge = createHash("sha256").update(verifier).digest("base64url")

/** For a peer that keeps its codes in a map: made without the peer's own pages, which are not measured. */
export const codesIn = <Code>(
  kept: Map<string, Code>,
  /** Whatever else is to be forgotten with them. */
  others: ReadonlyArray<{ readonly clear: () => void }>,
  made: (code: string) => Code
) => ({
  codes: async (count: number) =>
    Array.from({ length: count }, () => {
      const code = randomBytes(32).toString("base64url")
      kept.set(code, made(code))
      return code
    }),
  clear: async () => {
    for (const map of [kept, ...others]) map.clear()
  }
})

const credentials = { client_id: client.id, client_secret: client.secret }

interface Endpoints {
  readonly token: string
  /** Asked only whether a token is real: no workload of the peers' is. */
  readonly introspection: string
}

/** The requests that all peers understand, when each has said what is its own. */
export const plansOf = (
  endpoints: Endpoints,
  make: {
    readonly codes: (count: number) => Promise<ReadonlyArray<string>>
    /** Forgets every code and token. */
    readonly clear: () => Promise<void>
    readonly scope: string
    readonly credentials?: Record<string, string>
  }
) => {
  const own = make.credentials ?? credentials
  const codePlan = async (count: number): Promise<Plan> =>
    post(
      endpoints.token,
      {
        grant_type: "authorization_code",
        code: "{value}",
        redirect_uri: redirectUri,
        code_verifier: verifier,
        ...own
      },
      "once",
      await make.codes(count)
    )
  return async (workload: Workload, count: number, origin: string): Promise<Plan> => {
    const ask = async (plan: Plan, value: string): Promise<Record<string, unknown>> => {
      const answer = await fetch(origin + plan.path, {
        method: "POST",
        // Its own requests are rare: a connection that waits would be closed under it.
        headers: { ...plan.headers, connection: "close" },
        body: plan.body.replaceAll("{value}", () => value)
      })
      const text = await answer.text()
      if (answer.status !== 200) throw new Error(`${plan.path} was answered ${answer.status}: ${text}`)
      return JSON.parse(text)
    }
    const tokenIn = (answer: Record<string, unknown>, name: string): string => {
      const token = answer[name]
      if (typeof token !== "string" || token.length < 20) throw new Error(`no ${name} in ${JSON.stringify(answer)}`)
      return token
    }
    const clientCredentials = post(endpoints.token, {
      grant_type: "client_credentials",
      scope: make.scope,
      ...own
    })
    const introspection = post(endpoints.introspection, { token: "{value}", ...own })

    /** What is measured has to be real: a token counts when the peer itself says that it is active. */
    const prove = async (token: string) => {
      const answer = await ask(introspection, token)
      if (answer.active !== true) throw new Error(`a token that is not active: ${JSON.stringify(answer)}`)
    }

    await make.clear()
    switch (workload) {
      case "client_credentials":
        await prove(tokenIn(await ask(clientCredentials, ""), "access_token"))
        return clientCredentials
      case "code_exchange": {
        const plan = await codePlan(count + 1)
        const [first = "", ...values] = plan.values
        const answer = await ask(plan, first)
        await prove(tokenIn(answer, "access_token"))
        tokenIn(answer, "refresh_token")
        return { ...plan, values }
      }
      case "refresh": {
        const plan = await codePlan(count)
        const tokens: Array<string> = []
        for (const code of plan.values) tokens.push(tokenIn(await ask(plan, code), "refresh_token"))
        const refresh = post(
          endpoints.token,
          { grant_type: "refresh_token", refresh_token: "{value}", ...own },
          "chain",
          tokens
        )
        // It has to rotate, and the successor has to work.
        const [first = "", ...rest] = tokens
        const second = tokenIn(await ask(refresh, first), "refresh_token")
        if (second === first) throw new Error("a refresh token that does not rotate")
        return { ...refresh, values: [second, ...rest] }
      }
      default:
        throw new Error(`this peer has no ${workload}`)
    }
  }
}
