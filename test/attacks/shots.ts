import { Effect, Redacted } from "effect"
import type { HttpRequest, HttpResponse } from "../../core/http/Http.ts"
import { jwtBearer } from "../../core/oauth/grants/jwtBearer.ts"
import { tokenExchange } from "../../core/oauth/grants/tokenExchange.ts"
import { Email } from "../../core/people/Account.ts"
import type { Accounts } from "../../core/people/Accounts.ts"
import { ClientId } from "../../core/rules/Id.ts"
import { Resource } from "../../core/rules/Resource.ts"
import type { Tessera } from "../../core/Tessera.ts"
import { WorkspaceId } from "../../core/workspace/Workspace.ts"
import {
  challenge,
  form,
  formHeaders,
  header,
  hiddenFields,
  jsonHeaders,
  jsonOf,
  returned,
  text,
  verifier
} from "../given/flow.ts"
import type { Shot } from "./Mutation.ts"

export const redirectUri = "https://app.example.org/callback"

const home = WorkspaceId.make("home")
const person = { email: "ada@example.com", password: "correct horse battery" }

export const requestOf = ({ method, target, headers, body }: Shot): HttpRequest => {
  const question = target.indexOf("?")
  const path = question === -1 ? target : target.slice(0, question)
  return {
    method,
    path: path === "" ? "/" : path,
    query: question === -1 ? "" : target.slice(question + 1),
    headers: { get: (name) => headers[name] ?? null },
    body: method === "GET" || method === "HEAD" ? "" : body,
    peer: "192.0.2.1"
  }
}

const get = (target: string, headers: Shot["headers"] = {}): Shot => ({ method: "GET", target, headers, body: "" })

const post = (target: string, fields: Readonly<Record<string, string>>, headers: Shot["headers"] = {}): Shot => ({
  method: "POST",
  target,
  headers: { ...formHeaders, ...headers },
  body: form(fields)
})

const metadata = {
  client_name: "Ledger",
  redirect_uris: [redirectUri, "http://127.0.0.1:8080/cb", "com.example.app:/cb"],
  grant_types: ["authorization_code", "refresh_token", "client_credentials"],
  response_types: ["code"],
  token_endpoint_auth_method: "client_secret_post",
  scope: "api profile",
  client_uri: "https://app.example.org",
  contacts: ["a@example.org"],
  software_id: "x",
  application_type: "web"
}

/** Requests that are right, endpoint by endpoint, with sessions, clients and tokens that are there. */
export const arrange = Effect.fnUntraced(function* (
  tessera: Tessera["Service"],
  accounts: Accounts["Service"]
): Effect.fn.Return<ReadonlyMap<string, ReadonlyArray<Shot>>> {
  const send = (shot: Shot): Effect.Effect<HttpResponse> => tessera.handle(requestOf(shot))
  const draft = { email: person.email, name: "Ada", role: "owner", password: Redacted.make(person.password) } as const
  // The second time it is there already.
  yield* Effect.ignore(accounts.open(home, draft))

  const loginPage = yield* send(get("/login"))
  const formCookie = (header(loginPage, "set-cookie") ?? "").split(";", 1)[0] ?? ""
  const loginFields = hiddenFields(loginPage.body)
  const signedIn = yield* send(post("/login", { ...loginFields, ...person }, { cookie: formCookie }))
  const session = (signedIn.headers.find(([, value]) => value.includes("_session"))?.[1] ?? "").split(";", 1)[0] ?? ""
  const as = { cookie: session }
  const at = /^\/~\/[\w-]+/.exec(header(signedIn, "location") ?? "")?.[0] ?? ""

  const registered = jsonOf(
    yield* send({ method: "POST", target: "/oauth/register", headers: jsonHeaders, body: JSON.stringify(metadata) })
  )
  const client = { client_id: text(registered.client_id), client_secret: text(registered.client_secret) }
  // What an owner gives, and no client registers for.
  const given = tessera.services.clients.change(home, ClientId.make(client.client_id), (stored) => ({
    ...stored,
    grantTypes: [...stored.grantTypes, tokenExchange.name, jwtBearer.name],
    serves: Resource.make("http://127.0.0.1:3000")
  }))
  yield* Effect.orDie(given)
  const own = { authorization: `Bearer ${text(registered.registration_access_token)}` }
  const basic = { authorization: `Basic ${btoa(`${client.client_id}:${client.client_secret}`)}` }
  const authorize = (fields: Readonly<Record<string, string>> = {}) =>
    `/oauth/authorize?${form({
      response_type: "code",
      client_id: client.client_id,
      redirect_uri: redirectUri,
      code_challenge: challenge,
      code_challenge_method: "S256",
      scope: "api profile",
      state: "st",
      resource: "http://127.0.0.1:3000",
      ...fields
    })}`

  const consentFields = Effect.map(send(get(at + authorize(), as)), ({ body }) => hiddenFields(body))
  const approved = yield* send(post(`${at}/consent`, { ...(yield* consentFields), decision: "approve" }, as))
  const code = {
    grant_type: "authorization_code",
    code: text(returned(approved).get("code")),
    redirect_uri: redirectUri,
    code_verifier: verifier
  }
  const tokens = jsonOf(yield* send(post("/oauth/token", { ...client, ...code })))
  const [access, refresh] = [text(tokens.access_token), text(tokens.refresh_token)]
  const again = yield* send(post(`${at}/consent`, { ...(yield* consentFields), decision: "approve" }, as))
  const fresh = { ...code, code: text(returned(again).get("code")) }
  const exchanging = {
    grant_type: tokenExchange.name,
    subject_token: access,
    subject_token_type: "urn:ietf:params:oauth:token-type:access_token"
  }
  const bearing = { authorization: `Bearer ${access}` }

  const csrf = hiddenFields((yield* send(get(`${at}/settings/profile`, as))).body).csrf ?? ""
  // Whose places are given and taken: the person whose consent is asked keeps none.
  yield* Effect.ignore(accounts.open(home, { ...draft, email: "bea@example.com", role: "member" }))
  const found = accounts.book.byEmail(home, Email.make("bea@example.com"))
  const bea = yield* Effect.orDie(Effect.flatMap(found, Effect.fromNullishOr))
  const invited = yield* send(post(`${at}/settings/members`, { csrf, action: "invite", email: "", role: "member" }, as))
  const invite = /invite\?token=([\w-]+)/.exec(invited.body)?.[1] ?? ""
  const inviteForm = yield* send(get(`/invite?token=${invite}`))
  const inviteCookie = { cookie: (header(inviteForm, "set-cookie") ?? "").split(";", 1)[0] ?? "" }

  return new Map<string, ReadonlyArray<Shot>>([
    [
      "metadata",
      [
        get("/.well-known/oauth-authorization-server"),
        get("/.well-known/oauth-protected-resource/rest/x"),
        get("/openapi.json")
      ]
    ],
    ["register", [{ method: "POST", target: "/oauth/register", headers: jsonHeaders, body: JSON.stringify(metadata) }]],
    [
      "registration",
      [
        get(`/oauth/register/${client.client_id}`, own),
        {
          method: "PUT",
          target: `/oauth/register/${client.client_id}`,
          headers: { ...jsonHeaders, ...own },
          body: JSON.stringify({ ...metadata, ...client })
        }
      ]
    ],
    [
      "authorize",
      [
        get(at + authorize(), as),
        get(authorize()),
        get(at + authorize({ scope: "api" }), as),
        get(authorize({ scope: "openid api", claims: '{"id_token":{"name":null}}', login_hint: person.email }))
      ]
    ],
    [
      "device",
      [
        post("/oauth/device_authorization", { ...client, scope: "api" }),
        get(`${at}/device?user_code=WDJB-MJHT`, as),
        get("/device?user_code=WDJB-MJHT"),
        post(`${at}/device`, { csrf: `${csrf}x`, user_code: "wdjb mjht" }, as),
        get("/device/code?user_code=WDJB-MJHT")
      ]
    ],
    ["par", [post("/oauth/par", { ...client, ...Object.fromEntries(new URLSearchParams(authorize().split("?")[1])) })]],
    [
      "token",
      [
        post("/oauth/token", { ...client, ...fresh }),
        post("/oauth/token", { ...client, grant_type: "refresh_token", refresh_token: refresh, scope: "api" }),
        post("/oauth/token", { grant_type: "client_credentials", scope: "api" }, basic),
        post("/oauth/token", { ...client, ...exchanging, scope: "api", audience: "http://127.0.0.1:3000" }),
        post("/oauth/token", { grant_type: jwtBearer.name, assertion: "eyJ0eXAiOiJKV1QifQ.eyJpc3MiOiJhIn0.eA" }, basic)
      ]
    ],
    ["revoke", [post("/oauth/revoke", { ...client, token: `${access}x`, token_type_hint: "access_token" })]],
    [
      "introspect",
      [post("/oauth/introspect", { token: access }, basic), post("/oauth/introspect", { ...client, token: refresh })]
    ],
    ["userinfo", [get("/oauth/userinfo", bearing), post("/oauth/userinfo", {}, bearing)]],
    ["companies", [get("/rest/companies", bearing)]],
    [
      "consent",
      [post(`${at}/consent`, { ...(yield* consentFields), decision: "approve" }, as), get(`${at}/consent`, as)]
    ],
    [
      "login",
      [
        post("/login", { ...loginFields, ...person, return_to: authorize() }, { cookie: formCookie }),
        get(`/login?return_to=${encodeURIComponent(authorize())}&login_hint=${encodeURIComponent(person.email)}`)
      ]
    ],
    ["logout", [get(`${at}/logout`, as), post(`${at}/logout`, { csrf: `${csrf}x` }, as)]],
    [
      "set-up",
      [
        get(`/set-up?token=${invite}`),
        post("/set-up", { ...loginFields, token: invite, name: "A", ...person }, { cookie: formCookie })
      ]
    ],
    [
      "invite",
      [
        get(`/invite?token=${invite}`),
        post(
          "/invite",
          { ...hiddenFields(inviteForm.body), name: "B", email: "b@example.com", password: "b" },
          inviteCookie
        )
      ]
    ],
    [
      "home",
      [
        get(`${at}/`, as),
        get(`${at}/settings`, as),
        get("/healthz"),
        get("/readyz"),
        get("/nowhere", { accept: "text/html" })
      ]
    ],
    [
      "profile",
      [
        get(`${at}/settings/profile?done=profile`, as),
        post(`${at}/settings/profile`, { csrf, action: "profile", name: "Ada" }, as),
        post(`${at}/settings/profile`, { csrf, action: "password", current_password: "x", new_password: "y" }, as),
        get(`${at}/settings/sessions`, as),
        post(`${at}/settings/sessions`, { csrf, action: "end", id: "x" }, as)
      ]
    ],
    [
      "members",
      [
        get(`${at}/settings/members?after=x`, as),
        post(`${at}/settings/members`, { csrf, action: "invite", email: "c@example.com", role: "member" }, as),
        post(`${at}/settings/members`, { csrf, action: "remove", id: "x" }, as),
        post(`${at}/settings/members`, { csrf, action: "withdraw", id: "x" }, as),
        get(`${at}/settings/members?of=${bea.id}&done=place-set`, as),
        post(
          `${at}/settings/members`,
          { csrf, action: "set-place", id: bea.id, place: "acme", label: "Acme", detail: "a", "scope.api": "yes" },
          as
        ),
        post(`${at}/settings/members`, { csrf, action: "remove-place", id: bea.id, place: "acme" }, as)
      ]
    ],
    [
      "apps",
      [get(`${at}/settings/apps?after=x`, as), post(`${at}/settings/apps`, { csrf, action: "revoke", id: "x" }, as)]
    ],
    [
      "keys",
      [
        get(`${at}/settings/keys?after=x`, as),
        post(`${at}/settings/keys`, { csrf, action: "create", name: "k", expires: "30d" }, as),
        post(`${at}/settings/keys`, { csrf, action: "rotate", id: "x" }, as)
      ]
    ],
    [
      "clients",
      [
        get(`${at}/settings/clients?q=led&after=x`, as),
        post(`${at}/settings/clients?q=led`, { csrf, action: "disable", id: "x" }, as)
      ]
    ],
    [
      "resources",
      [
        get(`${at}/settings/resources?after=x`, as),
        post(`${at}/settings/resources`, { csrf, action: "add", at: "https://api.example.com" }, as),
        post(`${at}/settings/resources`, { csrf, action: "remove", at: "x" }, as)
      ]
    ],
    [
      "documents and issuers",
      [
        get(`${at}/settings/documents?after=x`, as),
        post(`${at}/settings/documents`, { csrf, action: "take", takes: "some", hosts: "claude.ai" }, as),
        post(`${at}/settings/documents`, { csrf, action: "block", host: "evil.example" }, as),
        get(`${at}/settings/issuers?change=x`, as),
        post(`${at}/settings/issuers`, { csrf, action: "remove", issuer: "x" }, as)
      ]
    ]
  ])
})
