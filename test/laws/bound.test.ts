import { expect } from "bun:test"
import { Effect } from "effect"
import {
  companiesAddress,
  type Holder,
  holderOf,
  proofFor,
  publicClient,
  redeemWith,
  refreshWith,
  tokenProof
} from "../given/dpop.ts"
import { codeFor, jsonOf, registerClient, type TestClient, text } from "../given/flow.ts"
import { inWorld, realSignatures, type World } from "../given/World.ts"
import { law } from "./law.ts"
import { runs } from "./runs.ts"

const holders = [await holderOf("ES256"), await holderOf("ES256"), await holderOf("EdDSA")] as const

/** What a caller proves: one of the keys, or nothing. */
type Key = Holder | undefined

interface Access {
  readonly token: string
  /** `undefined`: a bearer token. */
  readonly key: Key
}

interface Line {
  readonly client: TestClient
  token: string
  /** What a public client's line is bound to, from the first proof on. */
  key: Key
}

interface Code {
  readonly client: TestClient
  readonly code: string
  /** What its request named. */
  readonly key: Key
}

const proofOf = (key: Key) => (key === undefined ? Effect.undefined : tokenProof(key))

/** Each run signs a few dozen times. */
const times = Math.ceil(runs / 5)

law(
  "no token that is bound opens anything without its key, whatever was asked for before, and with it all that it may",
  (dice) =>
    Effect.promise(() =>
      inWorld(
        function* (world: World) {
          const clients = [yield* publicClient(world), yield* registerClient(world)] as const
          const isPublic = ({ secret }: TestClient) => secret === undefined
          const keys = [undefined, ...holders] as const
          const codes: Array<Code> = []
          const lines: Array<Line> = []
          const tokens: Array<Access> = []
          for (let step = 12 + dice.under(12); step > 0; step--) {
            const what = dice.weighted<"code" | "redeem" | "refresh" | "open">([
              [2, "code"],
              [3, "redeem"],
              [3, "refresh"],
              [5, "open"]
            ])
            const access = tokens.length === 0 ? undefined : tokens[dice.under(tokens.length)]
            const line = lines.length === 0 ? undefined : lines[dice.under(lines.length)]
            // Often the right one, where there is one.
            const right = { code: undefined, redeem: codes.at(-1)?.key, refresh: line?.key, open: access?.key }
            const key: Key = dice.chance(35) ? (right[what ?? "code"] ?? dice.pick(keys)) : dice.pick(keys)
            if (what === "code") {
              const client = dice.pick(clients)
              const code = yield* codeFor(world, client, key === undefined ? {} : { dpop_jkt: key.jkt })
              codes.push({ client, code, key })
            }
            const code = codes.at(-1)
            if (what === "redeem" && code !== undefined) {
              const answer = yield* redeemWith(world, code.client, code.code, yield* proofOf(key))
              expect(answer.status).toBe(code.key === undefined || code.key === key ? 200 : 400)
              if (answer.status !== 200) continue
              codes.pop()
              tokens.push({ token: text(jsonOf(answer).access_token), key })
              const token = text(jsonOf(answer).refresh_token)
              lines.push({ client: code.client, token, key: isPublic(code.client) ? key : undefined })
            }
            if (what === "refresh" && line !== undefined) {
              const answer = yield* refreshWith(world, line.client, line.token, yield* proofOf(key))
              expect(answer.status).toBe(line.key === undefined || line.key === key ? 200 : 400)
              if (answer.status !== 200) continue
              tokens.push({ token: text(jsonOf(answer).access_token), key })
              line.token = text(jsonOf(answer).refresh_token)
              if (isPublic(line.client)) line.key ??= key
            }
            if (what === "open" && access !== undefined) {
              const { token } = access
              const proof = key === undefined ? {} : { dpop: yield* proofFor(key, "GET", companiesAddress, token) }
              for (const scheme of ["Bearer", "DPoP"] as const) {
                const headers = { authorization: `${scheme} ${token}`, ...proof }
                const answer = yield* world.send("GET", "/rest/companies", { headers })
                const opens = access.key === undefined ? scheme === "Bearer" : scheme === "DPoP" && access.key === key
                expect([scheme, answer.status]).toEqual([scheme, opens ? 200 : 401])
              }
            }
          }
        },
        { signatures: realSignatures }
      )
    ),
  times
)
