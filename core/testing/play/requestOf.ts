import type { HttpRequest } from "../../http/Http.ts"
import { basePath, parseIssuer } from "../../workspace/Workspace.ts"
import { ownGrantTypes } from "../model/ownGrant.ts"
import { plainlySigned } from "../model/proof.ts"
import { assertionGrant, deviceGrant } from "../model/register.ts"
import { resourceText } from "../model/resource.ts"
import { byeAddress, type WorkspaceNumber, type World } from "../model/World.ts"
import { byBasic, byPost } from "../script/ClientMethod.ts"
import {
  type Authorize,
  claimsAsked,
  type Decide,
  type Enter,
  hasNoSecret,
  type KeyName,
  type Poll,
  type Proof,
  type Published,
  type Push,
  type Redeem,
  type Ref,
  type Register,
  type Rekey,
  type ShownKey,
  type SignedAs,
  type SignOut,
  type Step,
  type Visit
} from "../script/Command.ts"
import { redirectsNamed, redirectText } from "../script/redirectText.ts"
import { readDeviceForm, readSignOutForm } from "./ConsentForm.ts"
import { formOf, type Ledger, presentedText } from "./Ledger.ts"
import { challengeOf, challengeParameters, verifierOf } from "./Pkce.ts"
import { clientAssertion, clientKey, jktOf, proofOf } from "./proofs.ts"
import type { Scenario } from "./Scenario.ts"

type Pairs = ReadonlyArray<readonly [name: string, value: string]>

/** A request, and who is at the browser that sends it. */
export interface Sending {
  readonly request: HttpRequest
  readonly signedIn: { readonly workspace: WorkspaceNumber; readonly user: string } | null
}

export interface Scene {
  readonly world: World
  readonly scenario: Scenario
  readonly ledger: Ledger
  /** By the system's clock. */
  readonly now: number
}

/** Makes the `headers` of a request out of pairs. */
export const headersOf = (pairs: Pairs): HttpRequest["headers"] => {
  const map = new Map(pairs.map(([name, value]) => [name.toLowerCase(), value]))
  return { get: (name) => map.get(name.toLowerCase()) ?? null }
}

const encoded = (pairs: Pairs): string => new URLSearchParams(pairs.map(([name, value]) => [name, value])).toString()

const optional = (name: string, value: string | null): Pairs => (value === null ? [] : [[name, value]])

/** RFC 8707 §2: a parameter for each of several. */
const each = (name: string, values: string | null): Pairs =>
  values === null ? [] : values.split(" ").map((value) => [name, value] as const)

const requestTo = (
  { world }: Scene,
  workspace: WorkspaceNumber,
  method: string,
  path: string,
  more: { readonly query?: Pairs; readonly body?: string; readonly headers?: Pairs } = {}
): HttpRequest => {
  const issuer = world.issuers[workspace]
  const parsed = parseIssuer(issuer)
  const base = parsed._tag === "Success" ? basePath(parsed.success) : ""
  return {
    method,
    path: `${base}${path}`,
    query: encoded(more.query ?? []),
    headers: headersOf([["host", new URL(issuer).host], ...(more.headers ?? [])]),
    body: more.body ?? ""
  }
}

/** The same request with a proof of a key beside it (RFC 9449 §4). */
const provenBy = (
  { now, world }: Scene,
  workspace: WorkspaceNumber,
  step: { readonly id: Ref; readonly key?: ShownKey | undefined },
  request: HttpRequest,
  token?: string
): HttpRequest => {
  if (step.key === undefined) return request
  const address = new URL(world.issuers[workspace]).origin + request.path
  const { method } = request
  const proof = proofOf(step.key, { step: step.id, method, address, now, ...(token === undefined ? {} : { token }) })
  return { ...request, headers: { get: (name) => (name.toLowerCase() === "dpop" ? proof : request.headers.get(name)) } }
}

/** RFC 7523 §2.2. */
const clientAssertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

const form: Pairs = [["content-type", "application/x-www-form-urlencoded"]]

const workspaceOf = ({ scenario }: Scene, client: Ref): WorkspaceNumber => scenario.register(client)?.workspace ?? 0

/** RFC 6749 §2.3.1: what a client sends to prove itself. */
const proven = (scene: Scene, step: Posting, endpoint: string): { readonly headers: Pairs; readonly body: Pairs } => {
  const { by: client, proof } = step
  const { ledger, now, scenario, world } = scene
  const id = ledger.get(`client#${client}`) ?? ""
  const kind = scenario.register(client)?.kind
  if (hasNoSecret(kind)) {
    return { headers: [], body: [["client_id", proof === "wrong" ? "nobody-registered-this" : id]] }
  }
  const issuer = world.issuers[workspaceOf(scene, client)]
  const named = { id, secret: ledger.get(`secret#${client}`) ?? "", issuer }
  const signing = (_: unknown, isRight: boolean): { readonly headers: Pairs; readonly body: Pairs } => {
    const request = { step: step.id, client, id, issuer, endpoint, now, isForged: !isRight }
    return {
      headers: [],
      body: [
        ["client_assertion_type", clientAssertionType],
        ["client_assertion", clientAssertion(step.signed ?? plainlySigned, request)]
      ]
    }
  }
  const own = kind === "signer" ? { show: signing } : world.methods.find(({ name }) => kind === `by ${name}`)
  switch (proof) {
    case "basic":
      return (own ?? byBasic).show(named, true)
    case "both": {
      const { body, headers } = (own ?? byPost).show(named, true)
      return { headers: [...headers, ...byBasic.show(named, true).headers], body }
    }
    case "missing":
      return { headers: [], body: [["client_id", id]] }
    default:
      return (own ?? byPost).show(named, proof !== "wrong")
  }
}

interface Posting {
  readonly id: Ref
  readonly by: Ref
  readonly proof: Proof
  readonly key?: ShownKey | undefined
  readonly signed?: SignedAs | undefined
}

const posted = (scene: Scene, path: string, step: Posting, fields: Pairs): HttpRequest => {
  const workspace = workspaceOf(scene, step.by)
  const { headers, body } = proven(scene, step, scene.world.issuers[workspace] + path)
  const request = requestTo(scene, workspace, "POST", path, {
    headers: [...form, ...headers],
    body: encoded([...fields, ...body])
  })
  return provenBy(scene, workspace, step, request)
}

const oddMetadata = (step: Register): object => {
  const usual = { redirect_uris: step.redirects, client_name: `Client ${step.id}` }
  switch (step.odd) {
    case "public service":
      return { ...usual, token_endpoint_auth_method: "none", grant_types: ["client_credentials"] }
    case "no redirects":
      return { ...usual, redirect_uris: [] }
    case "fragment":
      return { ...usual, redirect_uris: ["https://app.example/cb#part"] }
    case "http elsewhere":
      return { ...usual, redirect_uris: ["http://app.example/cb"] }
    case "scheme without a dot":
      return { ...usual, redirect_uris: ["myapp:/cb"] }
    case "javascript":
      return { ...usual, redirect_uris: ["javascript:alert(1)"] }
    case "relative":
      return { ...usual, redirect_uris: ["/cb"] }
    case "unknown auth method":
      return { ...usual, token_endpoint_auth_method: "tls_client_auth" }
    default:
      return usual
  }
}

/** RFC 7591 §2: what a client that signs says of itself. */
const signingMembers = (client: Ref, key: KeyName): object => ({
  token_endpoint_auth_method: "private_key_jwt",
  jwks: { keys: [clientKey(client, key)] }
})

/** What a client says of itself when it registers. */
export const metadataOf = (world: World, step: Register): object => {
  const usual = {
    redirect_uris: step.redirects,
    client_name: `Client ${step.id}`,
    ...(step.isTold === true ? { backchannel_logout_uri: new URL("/signed-out", step.redirects[0]).href } : {}),
    ...(step.isTold === true && world.signOuts === true ? { post_logout_redirect_uris: [byeAddress] } : {})
  }
  switch (step.kind) {
    case "public":
      return { ...usual, token_endpoint_auth_method: "none" }
    case "post":
      return { ...usual, token_endpoint_auth_method: byPost.name }
    case "basic":
      return { ...usual, token_endpoint_auth_method: byBasic.name }
    case "unsaid":
      return usual
    case "service":
      return step.redirects.length === 0
        ? { client_name: usual.client_name, grant_types: ["client_credentials"] }
        : { ...usual, grant_types: ["client_credentials"] }
    case "enterprise":
      return { client_name: usual.client_name, grant_types: [assertionGrant] }
    case "device":
      return { client_name: usual.client_name, token_endpoint_auth_method: "none", grant_types: [deviceGrant] }
    case "device with a secret":
      return { ...usual, token_endpoint_auth_method: byPost.name, grant_types: ["authorization_code", deviceGrant] }
    case "signer":
      return {
        ...usual,
        ...signingMembers(step.id, "first"),
        grant_types: ["authorization_code", "refresh_token", "client_credentials"]
      }
    case "both":
      return {
        ...usual,
        grant_types: [
          "authorization_code",
          "refresh_token",
          "client_credentials",
          ...ownGrantTypes(world).map(({ name }) => name)
        ]
      }
    default: {
      const own = world.methods.find(({ name }) => step.kind === `by ${name}`)
      return { ...usual, ...own?.metadata, token_endpoint_auth_method: own?.name }
    }
  }
}

/** Where the metadata document of a client is. */
export const documentAddress = (client: Ref): string => `https://program-${client}.example/client.json`

/** What stands there; `null`: nothing. */
export const documentOf = ({ id, redirects }: Register, says: Published): object | null => {
  if (says === "nothing") return null
  const named = redirectsNamed(redirects, says)
  // Another's, which this address does not speak for.
  if (named === undefined)
    return { client_id: documentAddress(0), client_name: `Client ${id}`, redirect_uris: redirects }
  return {
    client_id: documentAddress(id),
    client_name: `Client ${id}`,
    redirect_uris: named,
    grant_types: ["authorization_code", "refresh_token"],
    token_endpoint_auth_method: "none"
  }
}

const registering = (scene: Scene, step: Register): HttpRequest =>
  requestTo(scene, step.workspace, "POST", "/oauth/register", {
    headers: [["content-type", "application/json"]],
    body:
      step.odd === "not json"
        ? "{redirect_uris"
        : JSON.stringify(step.odd === null ? metadataOf(scene.world, step) : oddMetadata(step))
  })

/** RFC 7592 §2.2: all that it registered, with another key. */
const rekeying = (scene: Scene, step: Rekey): HttpRequest => {
  const registered = scene.scenario.register(step.client)
  const id = scene.ledger.get(`client#${step.client}`) ?? ""
  const token = step.with === null ? "made-up" : (scene.ledger.get(`registration#${step.with}`) ?? "")
  const metadata = registered === undefined ? {} : metadataOf(scene.world, registered)
  return requestTo(scene, workspaceOf(scene, step.client), "PUT", `/oauth/register/${id}`, {
    headers: [
      ["content-type", "application/json"],
      ["authorization", `Bearer ${token}`]
    ],
    body: JSON.stringify({ ...metadata, ...signingMembers(step.client, step.key), client_id: id })
  })
}

const named = ({ ledger }: Scene, client: Ref): Pairs => [["client_id", ledger.get(`client#${client}`) ?? ""]]

/** What is asked for, without its client. */
const askedFor = (scene: Scene, step: Authorize | Push): Pairs => {
  const registered = scene.scenario.register(step.client)?.redirects ?? []
  return [
    ...optional("response_type", step.responseType),
    ...optional("redirect_uri", redirectText(registered, step.redirect, step.twist)),
    ...optional("scope", step.scope),
    ...optional("state", step.state),
    ...each("resource", resourceText(step.resource, scene.world, workspaceOf(scene, step.client))),
    ...challengeParameters(step.challenge, step.id),
    ...optional("nonce", step.nonce ?? null),
    ...optional("max_age", step.fresh?.toString() ?? (step.maxAge === true ? "100000000" : null)),
    ...optional("prompt", step.prompt ?? null),
    ...optional("claims", step.claims === undefined ? null : JSON.stringify(claimsAsked[step.claims])),
    ...optional("id_token_hint", step.hint === undefined ? null : (scene.ledger.get(`id token#${step.hint}`) ?? "")),
    ...optional("dpop_jkt", step.jkt === undefined ? null : jktOf(step.jkt))
  ]
}

const authorizing = (scene: Scene, step: Authorize): HttpRequest => {
  const query = [...named(scene, step.client), ...askedFor(scene, step)]
  const again = query.filter(([name]) => name === step.twice)
  const twice: Pairs =
    step.twice !== null && again.length === 0
      ? [
          [step.twice, "a"],
          [step.twice, "b"]
        ]
      : again
  const workspace = workspaceOf(scene, step.client)
  return requestTo(scene, workspace, "GET", "/oauth/authorize", { query: [...query, ...twice] })
}

const visiting = (scene: Scene, step: Visit): Sending => {
  const workspace = workspaceOf(scene, step.client)
  const query: Pairs = [
    ...named(scene, step.client),
    ["request_uri", scene.ledger.get(`request#${step.request}`) ?? ""]
  ]
  const user = scene.scenario.asked(step.id)?.user ?? ""
  return { request: requestTo(scene, workspace, "GET", "/oauth/authorize", { query }), signedIn: { workspace, user } }
}

const withoutOrigin = (address: string): string => address.replace(/^https?:\/\/[^/]*/, "")

/** What a browser asks, one after the other, when a person enters a code: the page, its form, and where that leads. */
export const entering = (
  scene: Scene,
  step: Enter
): {
  readonly page: HttpRequest
  readonly posted: (html: string) => HttpRequest
  readonly followed: (location: string) => HttpRequest
} => {
  const { device, workspace } = step
  return {
    page: requestTo(scene, workspace, "GET", "/device"),
    posted: (html) => {
      const read = readDeviceForm(html)
      const fields = Object.entries(read?.fields ?? {}).filter(([name]) => step.by !== "forger" || name !== "csrf")
      const code = scene.ledger.get(`user code#${device}`) ?? ""
      const request = requestTo(scene, workspace, "POST", "/device", {
        headers: form,
        body: encoded([...fields, ["user_code", code]])
      })
      return { ...request, path: withoutOrigin(read?.action ?? request.path) }
    },
    followed: (location) => {
      const [path = "", query = ""] = withoutOrigin(location).split("?")
      return { ...requestTo(scene, workspace, "GET", ""), path, query }
    }
  }
}

/** What a browser asks that is sent to be signed out: the page, and what it posts if that asks. */
export const signingOut = (
  scene: Scene,
  { by, client, hint, state, target, workspace }: SignOut
): { readonly page: HttpRequest; readonly posted: (html: string) => HttpRequest | null } => {
  const path = "/oauth/logout"
  const text = typeof hint === "number" ? scene.ledger.get(`id token#${hint}`) : "e30.e30.e30"
  const to = { none: null, registered: byeAddress, elsewhere: "https://evil.example/bye" }[target]
  const query: Pairs = [
    ...optional("id_token_hint", hint === null ? null : (text ?? "")),
    ...(client === null ? [] : named(scene, client)),
    ...optional("post_logout_redirect_uri", to),
    ...optional("state", state)
  ]
  return {
    page: requestTo(scene, workspace, "GET", path, { query }),
    posted: (html) => {
      const read = by === "onlooker" ? null : readSignOutForm(html)
      if (read === null) return null
      const fields = Object.entries(read.fields).filter(([name]) => by !== "forger" || name !== "csrf")
      const request = requestTo(scene, workspace, "POST", path, { headers: form, body: encoded(fields) })
      return { ...request, path: withoutOrigin(read.action) }
    }
  }
}

const polledWith = ({ ledger }: Scene, { device, id, shows }: Poll): string => {
  switch (shows) {
    case "the device code":
      return ledger.get(`device code#${device}`) ?? ""
    case "the user code":
      return ledger.get(`user code#${device}`) ?? ""
    case "garbage":
      return presentedText(ledger, { kind: "garbage", ref: id })
  }
}

/** RFC 8693 §3. */
export const accessTokenType = "urn:ietf:params:oauth:token-type:access_token"

const answering = (scene: Scene, step: Decide): Sending => {
  const asked = scene.scenario.asked(step.page)
  const workspace = workspaceOf(scene, asked?.client ?? 0)
  const consent = formOf(scene.ledger, step.page)
  const fields = Object.entries(consent?.fields ?? {}).filter(([name]) => step.by !== "forger" || name !== "csrf")
  const request = requestTo(scene, workspace, "POST", "/consent", {
    headers: form,
    body: encoded([...fields, ...optional("place", step.place ?? null), ["decision", step.decision]])
  })
  const path = withoutOrigin(consent?.action ?? request.path)
  const user = step.by === "somebody else" ? "somebody-else" : (asked?.user ?? "")
  return { request: { ...request, path }, signedIn: { workspace, user } }
}

const verifierParameter = (step: Redeem, authorize: Ref): Pairs => {
  switch (step.verifier) {
    case "right":
      return [["code_verifier", verifierOf(authorize)]]
    case "wrong":
      return [["code_verifier", challengeOf(verifierOf(authorize))]]
    case "short":
      return [["code_verifier", verifierOf(authorize).slice(0, 42)]]
    case "missing":
      return []
  }
}

const redeeming = (scene: Scene, step: Redeem): HttpRequest => {
  const authorize = scene.scenario.authorize(scene.scenario.decide(step.code)?.page ?? 0)
  const registered = scene.scenario.register(authorize?.client ?? 0)?.redirects ?? []
  const redirect = redirectText(registered, authorize?.redirect ?? 0, authorize?.twist ?? "as registered")
  return posted(scene, "/oauth/token", step, [
    ["grant_type", "authorization_code"],
    ["code", scene.ledger.get(`code#${step.code}`) ?? ""],
    ...(step.redirect === "missing"
      ? []
      : optional("redirect_uri", step.redirect === "other" ? `${redirect}/other` : redirect)),
    ...verifierParameter(step, authorize?.id ?? 0),
    ...each("resource", resourceText(step.resource, scene.world, workspaceOf(scene, step.by)))
  ])
}

const bearing = (scheme: "Bearer" | "DPoP", text: string | undefined): Pairs =>
  text === undefined ? [] : [["authorization", `${scheme} ${text}`]]

const unsigned = (request: HttpRequest): Sending => ({ request, signedIn: null })

/** The HTTP request of a step; nothing where the step is not asked over HTTP. */
export const requestOf = (scene: Scene, step: Step): Sending | null => {
  const { ledger, world } = scene
  switch (step._tag) {
    case "Register":
      return unsigned(registering(scene, step))
    case "Authorize":
      return {
        request: authorizing(scene, step),
        signedIn: { workspace: workspaceOf(scene, step.client), user: step.user }
      }
    case "Push":
      return unsigned(posted(scene, "/oauth/par", { ...step, by: step.client }, askedFor(scene, step)))
    case "AskDevice":
      return unsigned(
        posted(scene, "/oauth/device_authorization", { ...step, by: step.client }, [
          ...optional("scope", step.scope),
          ...each("resource", resourceText(step.resource, world, workspaceOf(scene, step.client)))
        ])
      )
    case "Poll":
      return unsigned(
        posted(scene, "/oauth/token", step, [
          ["grant_type", deviceGrant],
          ["device_code", polledWith(scene, step)],
          ...each("resource", resourceText(step.resource, world, workspaceOf(scene, step.by)))
        ])
      )
    case "Exchange":
      return unsigned(
        posted(scene, "/oauth/token", step, [
          ["grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"],
          ["subject_token", presentedText(ledger, step.token)],
          ["subject_token_type", accessTokenType],
          ...optional("scope", step.scope),
          ...each("resource", resourceText(step.resource, world, workspaceOf(scene, step.by)))
        ])
      )
    case "Bring":
      return unsigned(
        posted(scene, "/oauth/token", step, [
          ["grant_type", assertionGrant],
          ["assertion", ledger.get(`assertion#${step.assertion}`) ?? ""],
          ...optional("scope", step.scope),
          ...each("resource", resourceText(step.resource, world, workspaceOf(scene, step.by)))
        ])
      )
    case "Visit":
      return visiting(scene, step)
    case "Decide":
      return answering(scene, step)
    case "Redeem":
      return unsigned(redeeming(scene, step))
    case "Refresh":
      return unsigned(
        posted(scene, "/oauth/token", step, [
          ["grant_type", "refresh_token"],
          ["refresh_token", presentedText(ledger, step.token)],
          ...optional("scope", step.scope),
          ...each("resource", resourceText(step.resource, world, workspaceOf(scene, step.by)))
        ])
      )
    case "ClientCredentials":
      return unsigned(
        posted(scene, "/oauth/token", step, [
          ["grant_type", "client_credentials"],
          ...optional("scope", step.scope),
          ...each("resource", resourceText(step.resource, world, workspaceOf(scene, step.by)))
        ])
      )
    case "OwnGrant":
      return unsigned(
        posted(scene, "/oauth/token", step, [["grant_type", step.grantType], ...Object.entries(step.fields)])
      )
    case "Revoke":
      return unsigned(
        posted(scene, "/oauth/revoke", step, [
          ["token", presentedText(ledger, step.token)],
          ...optional("token_type_hint", step.hint)
        ])
      )
    case "Introspect":
      return unsigned(posted(scene, "/oauth/introspect", step, [["token", presentedText(ledger, step.token)]]))
    case "Check": {
      const text = step.token === null ? undefined : presentedText(ledger, step.token)
      const path = step.at === "userinfo" ? "/oauth/userinfo" : "/rest/companies"
      const headers = bearing(step.key === undefined ? "Bearer" : "DPoP", text)
      return unsigned(
        provenBy(scene, step.workspace, step, requestTo(scene, step.workspace, "GET", path, { headers }), text)
      )
    }
    case "Rekey":
      return unsigned(rekeying(scene, step))
    case "DeleteClient": {
      const token = step.with === null ? "made-up" : (ledger.get(`registration#${step.with}`) ?? "")
      const path = `/oauth/register/${ledger.get(`client#${step.client}`) ?? ""}`
      return unsigned(
        requestTo(scene, workspaceOf(scene, step.client), "DELETE", path, {
          headers: [["authorization", `Bearer ${token}`]]
        })
      )
    }
    default:
      return null
  }
}
