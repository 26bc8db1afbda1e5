import { Schema, Struct } from "effect"
import { Client as ClientSchema, type StoredCredential } from "../client/Client.ts"
import { StoredSecret } from "../client/ClientSecret.ts"
import type { RegistrationRequest } from "../client/RegistrationRequest.ts"
import { Binding } from "../grant/Binding.ts"
import { Grant as GrantSchema } from "../grant/Grant.ts"
import type { Principal } from "../grant/Principal.ts"
import { StoredPublic } from "../oauth/clients/none.ts"
import { clientAuths } from "../oauth/clients/table.ts"
import { ClientId, GrantId, UserId } from "../rules/Id.ts"
import { Instant } from "../rules/Instant.ts"
import { type CodeChallenge, CodeVerifier } from "../rules/Pkce.ts"
import { Policy } from "../rules/Policy.ts"
import { RedirectTarget, RedirectUri } from "../rules/RedirectUri.ts"
import { Resource, ResourceAddress, ResourceRegistry, Resources } from "../rules/Resource.ts"
import { offlineAccess, ScopeName, ScopeRegistry, Scopes, standardScopes } from "../rules/Scope.ts"
import { Digest, digestOf } from "../rules/Secret.ts"
import { Actor, type Token } from "../token/Token.ts"
import { Issuer, WorkspaceId, Workspace as WorkspaceSchema } from "../workspace/Workspace.ts"
import { type Arbitrary, all, array, flatMap, map, ofSchema, oneOf } from "./forAll.ts"

/** Values of every kind that the core knows, made from the very schemas that check them. */

const word = (pattern: RegExp): Arbitrary<string> => ofSchema(Schema.String.check(Schema.isPattern(pattern)))

const label = word(/^[a-z][a-z0-9]{0,10}$/)
const host = map(all([label, label]), ([name, zone]) => `${name}.${zone}.example`)
const port = oneOf(
  map(word(/^[1-9][0-9]{0,3}$/), (digits) => `:${digits}`),
  ofSchema(Schema.Literal(""))
)
const path = map(array(word(/^[A-Za-z0-9._~-]{1,8}$/), { maxLength: 3 }), (parts) =>
  // A part of dots alone would be folded away by every URL parser.
  parts.map((part) => `/${part.replace(/^\.+$/, "dots")}`).join("")
)
const query = oneOf(
  ofSchema(Schema.Literal("")),
  map(all([label, word(/^[A-Za-z0-9]{1,8}$/)]), ([name, value]) => `?${name}=${value}`)
)

export const instant: Arbitrary<Instant> = map(
  ofSchema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 4_000_000_000_000 }))),
  (millis) => Instant.make(millis)
)

export const userId: Arbitrary<UserId> = ofSchema(UserId)
export const clientId: Arbitrary<ClientId> = ofSchema(ClientId)
// Only what 16 bytes can be: the last of the 22 characters has four bits to spare.
export const grantId: Arbitrary<GrantId> = map(word(/^[A-Za-z0-9_-]{21}[AQgw]$/), (text) => GrantId.make(text))
export const digest: Arbitrary<Digest> = ofSchema(Digest)
export const workspaceId: Arbitrary<WorkspaceId> = ofSchema(WorkspaceId)

export const issuer: Arbitrary<Issuer> = map(all([host, port, path]), ([name, at, below]) =>
  Issuer.make(new URL(`https://${name}${at}${below}`).href.replace(/\/$/, ""))
)

export const workspace: Arbitrary<typeof WorkspaceSchema.Type> = map(
  all([workspaceId, issuer, ofSchema(Schema.NonEmptyString)]),
  ([id, address, name]) => WorkspaceSchema.make({ id, issuer: address, name })
)

/** As the text that a client sends: any of the registry's names, in any order, with others among them or alone. */
export const scopeText: Arbitrary<string> = map(
  array(oneOf(ofSchema(Schema.Literals(["api", "profile"])), word(/^[!#-[\]-~]{1,12}$/)), { maxLength: 5 }),
  (names) => names.join(" ")
)

const scopeName: Arbitrary<ScopeName> = map(word(/^[!#-[\]-~]{1,12}$/), (name) => ScopeName.make(name))
const pickNumber: Arbitrary<number> = ofSchema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 4 })))

export const scopes: Arbitrary<Scopes> = map(ofSchema(Schema.Literals(["api", "profile", "api profile"])), (text) =>
  Schema.decodeSync(Scopes)(text.split(" "))
)

/** Of distinct names, where a scope may imply later ones. */
export const scopeRegistry: Arbitrary<ScopeRegistry> = map(
  array(
    all([scopeName, ofSchema(Schema.NonEmptyString), ofSchema(Schema.Boolean), array(pickNumber, { maxLength: 3 })]),
    {
      maxLength: 8
    }
  ),
  (drawn) => {
    const known = new Map(drawn.map(([name, ...terms]) => [name, terms]))
    known.delete(ScopeName.make(offlineAccess))
    const names = [...known.keys()]
    const rows = [...known].map(([name, [meaning, byDefault, below]], index) => ({
      name,
      meaning,
      needsUser: false,
      byDefault,
      implies: [...new Set(below.flatMap((number) => names[index + 1 + number] ?? []))]
    }))
    const [first = standardScopes[0], ...others] = rows
    return ScopeRegistry.make([first, ...others])
  }
)

export const policy: Arbitrary<Policy> = map(
  all([ofSchema(Schema.Struct(Struct.omit(Policy.fields, ["scopes"]))), scopeRegistry]),
  ([rest, registry]) => ({ ...rest, scopes: registry })
)

export const resource = (within: string): Arbitrary<Resource> => map(path, (below) => Resource.make(within + below))

/** A few, each once. */
export const resources = (within: string): Arbitrary<Resources> =>
  map(all([resource(within), array(resource(within), { maxLength: 2 })]), ([first, more]) =>
    Resources.make([first, ...new Set(more.filter((one) => one !== first))])
  )

/** Resources that a workspace lists, each at a host of its own. */
export const resourceRegistry: Arbitrary<ResourceRegistry> = map(
  array(all([host, path, array(scopeName, { maxLength: 3 })]), { maxLength: 4 }),
  (drawn) =>
    ResourceRegistry.make(
      drawn.map(([name, below, [first, ...others]], index) => ({
        at: ResourceAddress.make(`https://n${index}.${name}${below}`),
        name,
        ...(first === undefined ? {} : { scopes: [first, ...others] as const })
      }))
    )
)

/** One that may be registered: `https`, loopback, or an app's own scheme. */
export const redirectUri: Arbitrary<RedirectUri> = map(
  oneOf(
    map(all([host, port, path, query]), ([name, at, below, more]) => `https://${name}${at}${below || "/"}${more}`),
    map(
      all([ofSchema(Schema.Literals(["127.0.0.1", "[::1]", "localhost"])), port, path, query]),
      ([name, at, below, more]) => `http://${name}${at}${below || "/"}${more}`
    ),
    map(all([label, label, path]), ([first, second, below]) => `com.${first}.${second}:${below || "/"}`)
  ),
  (text) => RedirectUri.make(text.replace(":443/", ":444/").replace(":80/", ":81/"))
)

/** One that must not be registered, for one reason or another. */
export const hostileRedirectUri: Arbitrary<string> = oneOf(
  map(host, (name) => `http://${name}/cb`),
  map(all([redirectUri, label]), ([uri, part]) => `${uri}#${part}`),
  map(all([host, label]), ([name, user]) => `https://${user}@${name}/cb`),
  map(all([host, label]), ([name, user]) => `https://${name}:${user}@evil.example/cb`),
  map(all([host, label]), ([name, part]) => `https://${name}\\${part}`),
  map(all([host, label]), ([name, part]) => `https://${name}/${part}\r\nSet-Cookie: a=b`),
  map(all([host, label]), ([name, part]) => ` https://${name}/${part}`),
  map(label, (part) => `javascript:${part}()`),
  map(label, (part) => `data:text/html,${part}`),
  map(label, (part) => `${part}:/cb`),
  map(label, (part) => `/${part}`),
  map(host, (name) => `//${name}/cb`),
  map(host, (name) => `https://${name.toUpperCase()}%2e/cb`),
  map(label, (part) => `http://127.0.0.1.${part}.example/cb`),
  map(label, (part) => `http://localhost.${part}/cb`),
  map(label, () => "http://127.1/cb"),
  map(label, (part) => `https://ex\u202eample.${part}/cb`),
  map(label, () => "https:///cb"),
  map(label, () => "")
)

export const redirectTarget: Arbitrary<RedirectTarget> = map(redirectUri, (uri) => RedirectTarget.make(uri))

export interface PkcePair {
  readonly verifier: CodeVerifier
  readonly challenge: CodeChallenge
}

const verifier: Arbitrary<CodeVerifier> = flatMap(
  ofSchema(Schema.Int.check(Schema.isBetween({ minimum: 43, maximum: 128 }))),
  (length) => map(word(new RegExp(`^[A-Za-z0-9._~-]{${length}}$`)), (text) => CodeVerifier.make(text))
)

export const pkcePair: Arbitrary<PkcePair> = map(verifier, (text) => ({
  verifier: text,
  // A digest is 43 characters of base64url, which are unreserved ones.
  challenge: digestOf(text) as string as CodeChallenge
}))

/** What no verifier or challenge may be, even where a hash would fit (RFC 7636 §4.1). */
export const malformedVerifier: Arbitrary<string> = oneOf(
  word(/^[A-Za-z0-9._~-]{1,42}$/),
  word(/^[A-Za-z0-9._~-]{129,160}$/),
  map(
    all([verifier, ofSchema(Schema.Literals(["=", "+", "/", " ", "ü", "%", "\u0000"]))]),
    ([text, odd]) => `${text.slice(0, 60)}${odd}`
  )
)

/** Metadata that a client may register with. */
export const clientMetadata: Arbitrary<RegistrationRequest> = map(
  all([
    array(redirectUri, { minLength: 1, maxLength: 3 }),
    ofSchema(Schema.Literals(clientAuths.map(({ name }) => name))),
    ofSchema(Schema.Literals([0, 1, 2])),
    word(/^[A-Za-z0-9 ]{1,30}$/)
  ]),
  ([uris, method, more, name]) => ({
    redirect_uris: [...new Set(uris)],
    token_endpoint_auth_method: method,
    client_name: name,
    ...(more === 0
      ? {}
      : {
          grant_types:
            more === 1 || method === "none" ? ["authorization_code"] : ["authorization_code", "client_credentials"]
        }),
    ...(more === 2 ? { scope: "api profile" } : {})
  })
)

/** Bodies that must be refused at registration, and never with a 500. */
export const hostileClientMetadata: Arbitrary<string> = oneOf(
  map(hostileRedirectUri, (uri) => JSON.stringify({ redirect_uris: [uri] })),
  map(all([redirectUri, hostileRedirectUri]), (uris) => JSON.stringify({ redirect_uris: uris })),
  map(redirectUri, (uri) => JSON.stringify({ redirect_uris: uri })),
  map(all([redirectUri, label]), ([uri, method]) =>
    JSON.stringify({ redirect_uris: [uri], token_endpoint_auth_method: `${method}_x` })
  ),
  map(redirectUri, (uri) =>
    JSON.stringify({ redirect_uris: [uri], token_endpoint_auth_method: "none", grant_types: ["client_credentials"] })
  ),
  map(label, (text) => JSON.stringify([text])),
  map(label, (text) => `{"redirect_uris": ["https://${text}.example/cb"`),
  map(label, () => "null"),
  map(label, () => "")
)

/** What a client's record keeps of its method; of one that no row knows too. */
const credential: Arbitrary<StoredCredential> = oneOf<StoredCredential>(
  ofSchema(StoredPublic),
  ofSchema(StoredSecret),
  map(all([label, word(/^[a-z_]{1,20}$/)]), ([keys, method]) => ({ _tag: "Keys", method, keys: [{ kid: keys }] }))
)

/** A record of a registered client. */
export const client: Arbitrary<typeof ClientSchema.Type> = map(
  all([ofSchema(ClientSchema), array(redirectUri, { maxLength: 3 }), credential]),
  ([value, redirectUris, kept]) => ({ ...value, redirectUris, credential: kept })
)

/** A grant in any phase. */
export const grant: Arbitrary<typeof GrantSchema.Type> = ofSchema(GrantSchema)

export const principal: Arbitrary<Principal> = flatMap(
  all([workspaceId, scopes, grantId, clientId, userId, instant, issuer]),
  ([home, scope, id, by, user, expiresAt, address]) => {
    const common = { workspace: home, scope, grant: id, resources: null }
    return oneOf<Principal>(
      map(resources(address), (bound) => ({ _tag: "User", ...common, resources: bound, user, client: by, expiresAt })),
      map(label, () => ({ _tag: "Workspace", ...common, client: by, expiresAt })),
      map(label, (name) => ({ _tag: "ApiKey", ...common, name, use: "everything", expiresAt: null }))
    )
  }
)

const count = ofSchema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 0xffff_ffff })))

const Actors = Schema.Array(Actor).check(Schema.isMinLength(1), Schema.isMaxLength(4))

/** A token of any kind, unsealed. */
export const token: Arbitrary<Token> = flatMap(
  all([grantId, instant, count, issuer]),
  ([id, expiresAt, number, address]) =>
    oneOf<Token>(
      map(label, () => ({ kind: "code", grant: id, expiresAt })),
      map(label, () => ({ kind: "refresh", grant: id, expiresAt, generation: number })),
      map(
        all([word(/^[0-9a-f]{16}$/), scopes, resources(address), ofSchema(Binding), ofSchema(Actors)]),
        ([serial, scope, at, binding, actors]) => ({
          kind: "access",
          grant: id,
          expiresAt,
          epoch: number,
          serial,
          scope,
          resources: at,
          binding,
          actors
        })
      ),
      map(word(/^[0-9a-f]{16}$/), (serial) => ({
        kind: "access",
        grant: id,
        expiresAt,
        epoch: number,
        serial,
        scope: null,
        resources: null,
        binding: null,
        actors: null
      }))
    )
)
