import { Effect } from "effect"
import { type Client, identifierOf } from "../../../core/client/Client.ts"
import { DocumentAddress } from "../../../core/client/ClientIdentifier.ts"
import type { Approved } from "../../../core/grant/begin.ts"
import type { Active } from "../../../core/grant/Grant.ts"
import type { Services } from "../../../core/http/Route.ts"
import { clientCredentials } from "../../../core/oauth/grants/clientCredentials.ts"
import { type GrantId, grantIdOf, idLength, UserId } from "../../../core/rules/Id.ts"
import { currentInstant } from "../../../core/rules/Instant.ts"
import { CodeChallenge } from "../../../core/rules/Pkce.ts"
import { RedirectTarget } from "../../../core/rules/RedirectUri.ts"
import { allScopes, openId, scopesNamed, scopesWithoutUser } from "../../../core/rules/Scope.ts"
import { digestOf } from "../../../core/rules/Secret.ts"
import type { Workspace } from "../../../core/workspace/Workspace.ts"
import { type Order, type Plan, workloads } from "../../Plan.ts"
import { makeProvers, provenGet, provenPost, proverAt, pushedFields, states } from "../prover.ts"
import { formOf, get, getWithBearer, post, redirectUri, registration, verifier } from "../serving.ts"
import {
  type AssertionWorkload,
  assertionAlgorithms,
  assertionPlan,
  makeSigner,
  nonce,
  type Signer
} from "../signer.ts"
import { accessTokenOf, drawNumbers, fill, grantIdAt, makeClient, type Registered, refreshTokenOf } from "./grants.ts"

const atOnce = 1000
/** The numbers of clients that sign: nobody measures so many others beside them. */
const signersFrom = 1_000_000

const signers = new Map<AssertionWorkload, Promise<Signer>>()

/** The same key in each turn, as the client is the same. */
const signerOf = (workload: AssertionWorkload): Promise<Signer> => {
  const made = signers.get(workload) ?? makeSigner(assertionAlgorithms[workload])
  signers.set(workload, made)
  return made
}

/** The number of the client that registered, and of the grants of both, beyond those of everybody else. */
const strangersFrom = 2_000_000
const registeredsGrants = 20_000_000
const documentsGrants = 30_000_000
/** The grants that say who somebody is. */
const peoplesGrants = 40_000_000

const publicClient = {
  token_endpoint_auth_method: "none",
  grant_types: ["authorization_code", "refresh_token"]
}

/** Between two plans: more than come in one turn. */
const mostStrangers = 10_000_000
let strangers = 0

/** A client whose document a person approved, and that is kept for a day. */
const documentsClient = Effect.fnUntraced(function* (services: Services, workspace: Workspace) {
  const address = DocumentAddress.make("https://app.example.org/client.json")
  const { brought, client } = yield* services.brought.meet(workspace, address)
  if (brought !== undefined) {
    yield* services.brought.admit(workspace, { workspace: workspace.id, requestId: "benchmark" }, brought)
    yield* services.clients.markProven(workspace.id, client, yield* currentInstant)
  }
  return client
})

interface Filling {
  readonly grants: number
  /** The grants are there already. */
  readonly filled: boolean
  /** Divided among the workspaces as the grants are. */
  readonly clients: number
}

/** What codes are for beside what all are for. */
interface CodesAsked extends Partial<Pick<Approved, "scope" | "authentication">> {
  /** To a key of its own, each. */
  readonly bound?: boolean
  readonly of?: Client
}

interface Tenant extends Registered {
  readonly workspace: Workspace
}

/** The plans of a server over so many grants, which are there already or are put there now. */
export const makePlans = (
  services: Services,
  workspaces: ReadonlyArray<Workspace>,
  { clients, filled, grants }: Filling
) =>
  Effect.gen(function* () {
    const tenants: Array<Tenant> = []
    for (let number = 0; number < clients; number++) {
      const workspace = workspaces[number % workspaces.length]
      if (workspace === undefined) return yield* Effect.die(new Error("there has to be a workspace"))
      tenants.push({ workspace, ...(yield* makeClient(services, workspace.id, number)) })
    }
    const [first] = tenants
    if (first === undefined) return yield* Effect.die(new Error("there has to be a client"))
    const { client, workspace } = first
    /** Each client's grants are numbered one after the other. */
    const each = Math.floor(grants / clients)
    const grantOf = (tenant: number, n: number) => tenant * each + n
    for (const [tenant, { client, workspace }] of tenants.entries()) {
      const numbers = Array.from({ length: each }, (_, n) => grantOf(tenant, n))
      if (!filled) yield* fill(services, workspace.id, client.id, numbers, yield* currentInstant)
    }
    const credentialsOf = ({ client, secret }: Registered) => ({ client_id: client.id, client_secret: secret })
    const credentials = credentialsOf(first)
    let begun: ReadonlyArray<GrantId> = []

    const provers = yield* Effect.promise(makeProvers)
    /** What a token is bound to, by its place. */
    const boundAt = (n: number) => ({ thumbprint: proverAt(provers, n).thumbprint })
    const proving = (path: string, count: number) => ({ provers, origin: workspace.issuer, path, count })

    /** One after the other for each client, as the hosts of a plan are. */
    const accessTokens = (count: number, { bound = false, from = 0 } = {}) =>
      Effect.map(currentInstant, (now) => {
        const tokens: Array<string> = []
        const numbers = drawNumbers(Math.ceil(count / clients), each)
        // Where there are fewer grants than tokens, some have several.
        for (let round = 0; tokens.length < count; round++) {
          const n = numbers[round % numbers.length] ?? 0
          for (const [tenant, { workspace }] of tenants.entries()) {
            const binding = bound ? boundAt(tokens.length) : null
            tokens.push(accessTokenOf(services, workspace, grantIdAt(from + grantOf(tenant, n)), now, binding))
          }
        }
        return tokens
      })

    const refreshTokens = (count: number) => tokensOf(drawNumbers(count, each))

    const tokensOf = (numbers: ReadonlyArray<number>) =>
      Effect.forEach(
        numbers,
        (n) =>
          Effect.map(services.grantRecords.get(workspace.id, grantIdAt(n)), (kept) => {
            const grant = kept?.value
            if (grant?._tag !== "Active") throw new Error(`grant ${n} is not active`)
            return refreshTokenOf(services, workspace, grant satisfies Active)
          }),
        { concurrency: atOnce }
      )

    /** Grants whose code is out, and those of the last run gone. */
    const codes = (count: number, { bound = false, of = client, ...more }: CodesAsked = {}) =>
      Effect.gen(function* () {
        yield* Effect.forEach(begun, (id) => services.grants.removeGrant(workspace.id, id), {
          concurrency: atOnce,
          discard: true
        })
        begun = Array.from({ length: count }, () => grantIdOf(services.entropy.bytes(idLength)))
        const approved = {
          client: of.id,
          user: UserId.make("user-1"),
          redirectUri: RedirectTarget.make(redirectUri),
          challenge: CodeChallenge.make(digestOf(verifier)),
          scope: scopesWithoutUser(services.policy.scopes),
          resources: null,
          ...more
        }
        const approvedAt = (n: number) => (bound ? { ...approved, binding: boundAt(n) } : approved)
        return yield* Effect.forEach(begun, (id, n) => services.grants.begin(workspace, approvedAt(n), id), {
          concurrency: atOnce
        })
      })

    const filledWithPeople = yield* Effect.cached(
      Effect.flatMap(currentInstant, (now) => {
        const numbers = Array.from({ length: each }, (_, n) => peoplesGrants + n)
        return fill(services, workspace.id, client.id, numbers, now, allScopes(services.policy.scopes))
      })
    )

    // Nothing that a first request does is part of what is measured.
    const sender = () => ({ network: undefined, userAgent: "" })
    for (const { by, workspace } of tenants) {
      yield* services.grants.issue(workspace, clientCredentials, {
        by,
        form: {},
        resources: null,
        taken: null,
        proof: undefined,
        sender,
        unproven: () => Effect.void,
        spending: undefined
      })
    }

    const plan = Effect.fnUntraced(function* ({ workload, count }: Order) {
      switch (workload) {
        case "client_credentials": {
          const grant = { grant_type: "client_credentials" }
          if (clients === 1) return post("/oauth/token", { ...grant, ...credentials })
          const made = post(
            "/oauth/token",
            grant,
            "cycle",
            tenants.map((tenant) => formOf(credentialsOf(tenant)))
          )
          return { ...made, body: `${made.body}&{value}` }
        }
        case "bearer_check":
          return getWithBearer("/rest/companies", yield* accessTokens(count))
        case "userinfo":
          yield* filledWithPeople
          return getWithBearer("/oauth/userinfo", yield* accessTokens(count, { from: peoplesGrants }))
        case "introspection":
          return post("/oauth/introspect", { token: "{value}", ...credentials }, "cycle", yield* accessTokens(count))
        case "metadata":
          return get("/.well-known/oauth-authorization-server")
        case "code_exchange": {
          const fields = { redirect_uri: redirectUri, code_verifier: verifier, ...credentials }
          const grant = { grant_type: "authorization_code", code: "{value}" }
          return post("/oauth/token", { ...grant, ...fields }, "once", yield* codes(count))
        }
        case "refresh": {
          const grant = { grant_type: "refresh_token", refresh_token: "{value}" }
          return post("/oauth/token", { ...grant, ...credentials }, "chain", yield* refreshTokens(count))
        }
        case "registration":
          return registration
        case "jwt_es256":
        case "jwt_eddsa":
          yield* services.clients.change(workspace.id, client.id, (one) => ({ ...one, accessTokenFormat: "jwt" }))
          return post("/oauth/token", { grant_type: "client_credentials", ...credentials })
        case "id_token": {
          const asked = { id_token_signed_response_alg: "ES256" }
          const made = yield* makeClient(services, workspace.id, signersFrom + workloads.indexOf(workload), asked)
          const scope = scopesNamed(services.policy.scopes, [...scopesWithoutUser(services.policy.scopes), openId])
          if (scope === undefined) return yield* Effect.die(new Error("nobody can sign in here"))
          const values = yield* codes(count, { of: made.client, scope, authentication: { nonce } })
          const fields = { redirect_uri: redirectUri, code_verifier: verifier, ...credentialsOf(made) }
          return post("/oauth/token", { grant_type: "authorization_code", code: "{value}", ...fields }, "once", values)
        }
        case "refresh_registered":
        case "refresh_document": {
          const isDocument = workload === "refresh_document"
          const one = isDocument
            ? yield* documentsClient(services, workspace)
            : (yield* makeClient(services, workspace.id, strangersFrom, publicClient)).client
          const from = isDocument ? documentsGrants : registeredsGrants
          const numbers = Array.from({ length: count }, (_, n) => from + n)
          yield* fill(services, workspace.id, one.id, numbers, yield* currentInstant)
          const grant = { grant_type: "refresh_token", refresh_token: "{value}", client_id: identifierOf(one) }
          return post("/oauth/token", grant, "chain", yield* tokensOf(numbers))
        }
        case "stranger_document": {
          strangers += mostStrangers
          const query = formOf({
            response_type: "code",
            redirect_uri: redirectUri,
            code_challenge: digestOf(verifier),
            code_challenge_method: "S256"
          })
          return {
            ...get(`/oauth/authorize?${query}&client_id=https%3A%2F%2Fw{value}.example.org%2Fclient.json`),
            headers: { cookie: "person=ada" },
            use: "count" as const,
            from: strangers
          }
        }
        case "stranger_registration":
          return registration
        case "dpop_push": {
          const form = { ...pushedFields, ...credentials }
          const made = yield* Effect.promise(() => provenPost(proving("/oauth/par", count), form, states(count)))
          return { ...made, expect: 201 }
        }
        case "dpop_code": {
          const fields = { redirect_uri: redirectUri, code_verifier: verifier, ...credentials }
          const form = { grant_type: "authorization_code", code: "{value}", ...fields }
          const values = yield* codes(count, { bound: true })
          return yield* Effect.promise(() => provenPost(proving("/oauth/token", count), form, values))
        }
        case "dpop_refresh": {
          const form = { grant_type: "refresh_token", refresh_token: "{value}", ...credentials }
          const values = yield* refreshTokens(count)
          return yield* Effect.promise(() => provenPost(proving("/oauth/token", values.length), form, values))
        }
        case "dpop_guard": {
          const values = yield* accessTokens(count, { bound: true })
          return yield* Effect.promise(() => provenGet(proving("/rest/companies", count), values.slice(0, count)))
        }
        case "jwt_guard":
          return yield* Effect.die(new Error("a resource server has this"))
        default: {
          const signer = yield* Effect.promise(() => signerOf(workload))
          const metadata = { token_endpoint_auth_method: "private_key_jwt", jwks: { keys: [signer.jwk] } }
          const made = yield* makeClient(services, workspace.id, signersFrom + workloads.indexOf(workload), metadata)
          return yield* Effect.promise(() => assertionPlan(signer, made.client.id, workspace.issuer, count))
        }
      }
    })
    const hosts = workspaces.length === 1 ? {} : { hosts: workspaces.map(({ issuer }) => new URL(issuer).host) }
    return (order: Order): Promise<Plan> =>
      Effect.runPromise(Effect.map(plan(order), (made): Plan => ({ ...made, ...hosts })))
  })
