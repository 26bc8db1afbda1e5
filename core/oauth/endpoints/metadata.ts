import { Effect, Schema } from "effect"
import { LruMap } from "../../cache/LruMap.ts"
import { openIdAlgorithmsOf } from "../../client/openIdMembers.ts"
import { bindsAll } from "../../client/Profile.ts"
import { forAWhile, json } from "../../http/answer.ts"
import { oauthError } from "../../http/faults.ts"
import type { HttpResponse } from "../../http/Http.ts"
import {
  bound,
  type Call,
  type Contract,
  type Endpoint,
  type HandlerOf,
  type MetadataMember,
  offeredEndpoints,
  type Services
} from "../../http/Route.ts"
import { Signatures } from "../../ports/Signatures.ts"
import { StorageUnavailable } from "../../ports/Storage.ts"
import { Contended, NoSuchRoute } from "../../rules/Refusal.ts"
import { definitionAt, protectedResourcePath, type ResourceDefinition, withoutEndSlash } from "../../rules/Resource.ts"
import { allScopes, apiScopes, offersOpenId, offlineAccess } from "../../rules/Scope.ts"
import { basePath, endpointUrl, originOf, scopesOf, type Workspace } from "../../workspace/Workspace.ts"
import { listsOf } from "../presented/proofs.ts"

const Address = Schema.String.annotate({ format: "uri" })
const Words = Schema.Array(Schema.String)

/** RFC 8414 §2, as far as it does not depend on the endpoints at work. */
const common = {
  issuer: Address,
  scopes_supported: Words
}

/** RFC 8414 §2: what the endpoints at work add, by name. */
const membersOf = (services: Services): ReadonlyArray<readonly [name: string, MetadataMember]> =>
  offeredEndpoints(services).flatMap(({ metadata, path }) => [
    ...(metadata?.name === undefined ? [] : [[metadata.name, addressMember(path)] as const]),
    ...Object.entries(typeof metadata?.members === "function" ? metadata.members(services) : (metadata?.members ?? {}))
  ])

/** Where an endpoint of the workspace is. */
export const addressMember = (path: string): MetadataMember => ({
  schema: Address,
  value: (_, workspace) => endpointUrl(workspace, path)
})

/** A member that is there where this workspace's people can sign in by OpenID Connect. */
export const whereOpenId = ({ schema, value }: MetadataMember): MetadataMember => ({
  schema: Schema.optionalKey(schema),
  value: (services, workspace) =>
    offersOpenId(scopesOf(services.policy, workspace)) ? value(services, workspace) : undefined
})

/** RFC 9728 §2. */
const ResourceMetadata = Schema.Struct({
  resource: Schema.String,
  authorization_servers: Schema.Array(Address),
  scopes_supported: Words,
  bearer_methods_supported: Words,
  dpop_signing_alg_values_supported: Schema.optionalKey(Words),
  dpop_bound_access_tokens_required: Schema.optionalKey(Schema.Boolean),
  resource_name: Schema.String
}).annotate({ identifier: "ProtectedResourceMetadata" })
type ResourceMetadata = typeof ResourceMetadata.Type

const ofOpenId = (value: (services: Services) => unknown, schema: Schema.Top = Words): MetadataMember =>
  whereOpenId({ schema, value })

/** Of a workspace that has moved away nothing is told here. */
const shared = {
  heading: "Discovery",
  callers: [{ shows: "nothing" }],
  faults: [Contended, StorageUnavailable]
} as const

const serverMetadataContract = (services: Services) =>
  ({
    id: "authorizationServerMetadata",
    summary: "What this authorization server can do",
    description: "RFC 8414.",
    below: {
      name: "resource_path",
      schema: Schema.String,
      description: "Clients may put the path of the resource here, with its slashes. The answer is the same."
    },
    answers: [
      {
        description: "The metadata.",
        like: () => json(200, {}, forAWhile),
        body: Schema.Struct({
          ...common,
          ...Object.fromEntries(membersOf(services).map(([name, { schema }]) => [name, schema]))
        }).annotate({ identifier: "AuthorizationServerMetadata" })
      }
    ],
    ...shared
  }) as const satisfies Contract

const noSuchDocument = oauthError(new NoSuchRoute({ reason: "path" }))

const resourceMetadataContract = {
  id: "protectedResourceMetadata",
  summary: "Where a token for a resource comes from",
  description: "RFC 9728. Without more, the resource is the whole of the issuer.",
  below: {
    name: "resource_path",
    schema: Schema.String,
    description: "The path of the resource, with its slashes."
  },
  answers: [
    { description: "The metadata.", like: () => json(200, {}, forAWhile), body: ResourceMetadata },
    { description: "None of this server's resources.", like: () => noSuchDocument, below: true }
  ],
  ...shared
} as const satisfies Contract

/** Of so many workspaces at once: a document has 3 KB, and is written in less than a request takes. */
const documentsKept = 2048

/** A document is the same for every request to a workspace, so it is written once. */
export const remembered = (write: (workspace: Workspace) => HttpResponse): ((workspace: Workspace) => HttpResponse) => {
  const written = new LruMap<Workspace, HttpResponse>(documentsKept)
  return (workspace) => {
    const known = written.get(workspace)
    if (known !== undefined) return known
    const document = write(workspace)
    written.set(workspace, document)
    return document
  }
}

/** RFC 8414 §2: computed from the endpoints and rows at work, so that nothing is promised that is not there. */
const authorizationServerMetadata = (services: Services, workspace: Workspace): Readonly<Record<string, unknown>> => ({
  issuer: workspace.issuer,
  ...Object.fromEntries(membersOf(services).map(([name, { value }]) => [name, value(services, workspace)])),
  scopes_supported: [...allScopes(scopesOf(services.policy, workspace)), offlineAccess]
})

/** OpenID Connect Discovery §3: told where people can sign in, so that the documents of both specifications are one. */
const openIdMembers = {
  subject_types_supported: ofOpenId(() => ["public"]),
  id_token_signing_alg_values_supported: ofOpenId(({ policy }) => openIdAlgorithmsOf(policy)),
  userinfo_signing_alg_values_supported: ofOpenId(({ policy }) => openIdAlgorithmsOf(policy)),
  claim_types_supported: ofOpenId(() => ["normal"]),
  claims_supported: ofOpenId(({ claimScopes, owner: { claims: told } }) => {
    const covered = ["acr", "amr", ...claimScopes.flatMap(({ claims }) => claims)]
    return [...new Set(["sub", "auth_time", ...covered.filter((name) => told?.includes(name) !== false)])]
  }),
  claims_parameter_supported: ofOpenId(() => true, Schema.Boolean),
  // Left out, it would mean that they are taken.
  request_uri_parameter_supported: ofOpenId(() => false, Schema.Boolean)
}

const authorizationServerHandler = (services: Services): HandlerOf<ReturnType<typeof serverMetadataContract>> => {
  const document = remembered((workspace) => json(200, authorizationServerMetadata(services, workspace), forAWhile))
  return ({ now, workspace }) => Effect.mapEager(services.openings.asKnown(workspace, now), document)
}

/** RFC 8414 §3, with any path suffix: clients put the address of the resource that they want behind it. */
export const serverMetadataEndpoint: Endpoint = {
  path: "/.well-known/oauth-authorization-server",
  match: "suffix",
  methods: { GET: bound(serverMetadataContract, authorizationServerHandler) },
  errors: "oauth",
  storeless: true,
  cors: true
}

const discoveryContract = (services: Services) => {
  const { answers, below } = serverMetadataContract(services)
  return {
    id: "openIdConfiguration",
    summary: "What this server can do for those who sign people in",
    description: "OpenID Connect Discovery. The same document as the authorization server metadata.",
    below,
    answers: [
      ...answers,
      { description: "This workspace has no sign-in by OpenID Connect.", like: () => noSuchDocument }
    ],
    ...shared
  } as const satisfies Contract
}

const discoveryHandler = (services: Services): HandlerOf<ReturnType<typeof discoveryContract>> => {
  const document = authorizationServerHandler(services)
  return (call) =>
    offersOpenId(scopesOf(services.policy, call.workspace)) ? document(call) : Effect.succeed(noSuchDocument)
}

/** OpenID Connect Discovery §4: behind the issuer's path, and between host and path as RFC 8414 §5 has it. */
export const discoveryEndpoint: Endpoint = {
  path: "/.well-known/openid-configuration",
  match: "suffix",
  methods: { GET: bound(discoveryContract, discoveryHandler) },
  errors: "oauth",
  storeless: true,
  cors: true,
  present: ({ signatures }) => signatures !== Signatures.none,
  metadata: { members: openIdMembers }
}

/** RFC 9728 §2. */
const protectedResource = (
  services: Services,
  workspace: Workspace,
  resource: string,
  definition: ResourceDefinition | undefined
): HttpResponse =>
  json(
    200,
    {
      resource,
      authorization_servers: [workspace.issuer],
      // Clients such as MCP's ask for all that they read here.
      scopes_supported: definition?.scopes ?? apiScopes(scopesOf(services.policy, workspace)),
      bearer_methods_supported: ["header"],
      ...listsOf(services.presentations),
      ...(bindsAll(services.policy) ? { dpop_bound_access_tokens_required: true } : {}),
      resource_name: definition?.name ?? workspace.name
    } satisfies ResourceMetadata,
    forAWhile
  )

/** The address of a resource whose document is called, as it was written there; the issuer's path may stand before. */
const calledBy = ({ path, request, workspace: { issuer } }: Call): string =>
  request.path.startsWith(protectedResourcePath)
    ? originOf(issuer) + request.path.slice(protectedResourcePath.length)
    : issuer + path.slice(protectedResourcePath.length)

/**
 * RFC 9728 §3.1: what follows the well-known path is the path of the resource, and what is told is the very name that was
 * called (§3.3), slash or none; nothing is the whole workspace. Where resources are listed, others have no document.
 */
const protectedResourceHandler = (services: Services): HandlerOf<typeof resourceMetadataContract> => {
  const whole = remembered((workspace) => {
    const { issuer } = workspace
    const listed = definitionAt(workspace, issuer)
    // Only of a host alone does the address not say whether its name has a slash.
    return protectedResource(services, workspace, (basePath(issuer) === "" && listed?.at) || issuer, listed)
  })
  const documentOf = (call: Call, workspace: Workspace) => {
    const called = calledBy(call)
    const { issuer, resources = [] } = workspace
    const isWhole = withoutEndSlash(called) === issuer
    if (isWhole && (called === issuer || basePath(issuer) === "")) return whole(workspace)
    const definition = definitionAt(workspace, called)
    return resources.length > 0 && definition === undefined && !isWhole
      ? noSuchDocument
      : protectedResource(services, workspace, called, definition)
  }
  return (call: Call) =>
    Effect.mapEager(services.openings.asKnown(call.workspace, call.now), (workspace) => documentOf(call, workspace))
}

export const resourceMetadataEndpoint: Endpoint = {
  path: protectedResourcePath,
  match: "suffix",
  methods: { GET: bound(resourceMetadataContract, protectedResourceHandler) },
  errors: "oauth",
  storeless: true,
  cors: true,
  metadata: {
    members: {
      // RFC 9728 §4.
      protected_resources: {
        schema: Schema.Array(Address),
        value: (_, { issuer, resources = [] }) => [...new Set([issuer, ...resources.map(({ at }) => at)])]
      }
    }
  }
}
