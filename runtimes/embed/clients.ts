import { Effect, Option, Redacted, Schema } from "effect"
import { authMethodOf, type Client, displayName, identifierOf, isKnown, makerOf } from "../../core/client/Client.ts"
import { readClientIdentifier, readClientKey } from "../../core/client/ClientIdentifier.ts"
import { liveSecrets, longestKept } from "../../core/client/ClientSecret.ts"
import { checkRegistration, type RegistrationRequest } from "../../core/client/RegistrationRequest.ts"
import { addressTooLong } from "../../core/client/register.ts"
import { asksForWorkspace, type WorkspaceStanding, workspaceStanding } from "../../core/client/workspaceAccess.ts"
import type { Members } from "../../core/codec/Json.ts"
import {
  answerByIdentifier,
  deleteClient,
  dropSecret,
  findByIdentifier,
  makeSecret,
  registerClient,
  setAccessTokenFormat,
  setClientEnabled,
  setServedResource
} from "../../core/engine/administerClients.ts"
import { blockClientHost, unblockClientHost } from "../../core/engine/administerWorkspace.ts"
import type { ClientId } from "../../core/rules/Id.ts"
import { currentInstant } from "../../core/rules/Instant.ts"
import { AccessTokenFormat } from "../../core/rules/Resource.ts"
import { servicesAt } from "../../core/workspace/Workspace.ts"
import type { NamesOf } from "../serve/options.ts"
import { type Administration, namesKnown, type PageOf, type Paging, pageAsked } from "./Administration.ts"
import { badArgument } from "./Options.ts"

/** A registered application. */
export interface RegisteredClient {
  readonly id: string
  /** What it calls itself; its id where it gave no name. */
  readonly name: string
  readonly redirectUris: ReadonlyArray<string>
  /** By their names; a client may have registered for one that this program does not serve. */
  readonly grantTypes: ReadonlyArray<string>
  /** As RFC 7591 calls it: `client_secret_basic`, `client_secret_post`, `none` … */
  readonly authMethod: string
  /** The most that it may be granted; one that registered itself may ask a person for more. */
  readonly scopes: ReadonlyArray<string>
  /**
   * `itself`: by registering. `owner`: by one of yours, who answers for it. `document`: by no registration, and `id`
   * is the address of its metadata document.
   */
  readonly madeBy: Client["madeBy"] | "document"
  readonly disabled: boolean
  /** What `setAccessTokenFormat` chose; `undefined`: opaque, unless a resource asks for JWTs. */
  readonly accessTokenFormat: AccessTokenFormat | undefined
  /** The API that `allowExchange` said that it is; `undefined`: it exchanges no tokens. */
  readonly serves: string | undefined
  /** Whether it may act for the workspace itself, or why not; `undefined` where it did not register for that. */
  readonly workspaceAccess: WorkspaceStanding | undefined
  /** The secrets that work, the newer one first; none where it proves itself otherwise. Never their text. */
  readonly secrets: ReadonlyArray<{ readonly mark: string; readonly until: Date | undefined }>
  readonly createdAt: Date
  readonly lastUsedAt: Date | undefined
}

/**
 * As RFC 7591 calls them: `client_name`, `redirect_uris`, `grant_types`, `token_endpoint_auth_method`, `scope` …; and as
 * features do: `jwks`, `id_token_signed_response_alg`, `post_logout_redirect_uris`, `backchannel_logout_uri` …
 */
export type ClientMetadata = RegistrationRequest & Members

export interface NewClient {
  readonly client: RegisteredClient
  /** Shown this once; `undefined` where the client is a public one. */
  readonly secret: string | undefined
}

interface NewSecretOptions {
  readonly keepFor?: number
}

/** Promises reject with the tagged errors of the core: `StorageUnavailable`, `Contended`, and what `register` names. */
export interface ClientsApi {
  /** Rejects with `InvalidClientMetadata` or `InvalidRedirectUri` where the registration endpoint would refuse it. */
  readonly register: (metadata: ClientMetadata) => Promise<NewClient>
  readonly list: (paging?: Paging) => Promise<PageOf<RegisteredClient>>
  readonly get: (id: string) => Promise<RegisteredClient | undefined>
  /** Refuses the client and all its tokens, until it is enabled again. `false`: there is no such client. */
  readonly disable: (id: string) => Promise<boolean>
  readonly enable: (id: string) => Promise<boolean>
  /**
   * With `workspaceAccess: "approved"`: lets a client that registered for it act for the workspace itself. `false`: there
   * is none, or it did not ask. With `registrationRows: "at_consent"` the answer writes the client that its id holds.
   */
  readonly approve: (id: string) => Promise<boolean>
  /** Refuses that, also to one that was approved: its tokens of that kind end. */
  readonly refuse: (id: string) => Promise<boolean>
  /**
   * Another secret, shown this once. The present one works for `keepFor` milliseconds beside it; 0, which is the default,
   * ends it now, and 90 days are the most. Rejects with `SecretRefused` where two work already, or it has none.
   * `undefined`: there is no such client.
   */
  readonly newSecret: (id: string, options?: NewSecretOptions) => Promise<string | undefined>
  /**
   * Ends the older of two secrets now, or the `newer`, if its text was lost: the older one then goes on without an end.
   * `false`: there is no such client. Rejects with `BadOption` for any other.
   */
  readonly dropSecret: (id: string, which?: "older" | "newer") => Promise<boolean>
  /**
   * `jwt`: access tokens that others can verify by the keys of `/oauth/jwks` (RFC 9068), from the next one on. Where they
   * are checked without asking, a revoked one works until it expires. `false`: there is no such client. Rejects with
   * `BadOption` for another format.
   */
  readonly setAccessTokenFormat: (id: string, format: AccessTokenFormat) => Promise<boolean>
  /**
   * Says which API a client is, by its address: access tokens that were sent there it may exchange for narrower ones, to
   * call another API (RFC 8693). `false`: there is no such client. Rejects with `BadOption` where no token is for that
   * address, the client is public, or the address is too long beside all that it registered.
   */
  readonly allowExchange: (id: string, resource: string) => Promise<boolean>
  /** Takes that back, and what it got so far is not accepted any more. `false`: there is no such client. */
  readonly endExchange: (id: string) => Promise<boolean>
  /** With it goes all that it was granted. `false`: there is no such client. */
  readonly delete: (id: string) => Promise<boolean>
  /**
   * Takes no metadata document of this host any more (`app.example`, or `*.example.com`), and deletes the clients that came
   * from there; tells how many. Rejects with `BadOption` where it is no host.
   */
  readonly blockHost: (host: string) => Promise<number>
  /** Takes them again. `false`: it was not blocked. */
  readonly unblockHost: (host: string) => Promise<boolean>
  readonly blockedHosts: () => Promise<ReadonlyArray<string>>
}

const secretNames: NamesOf<NewSecretOptions> = { keepFor: true }

/** A misspelt name would end the present secret. */
const readKeepFor = Effect.fnUntraced(function* (options: NewSecretOptions) {
  yield* namesKnown("clients.newSecret", options, secretNames)
  const keepFor: unknown = options.keepFor ?? 0
  return typeof keepFor === "number" && keepFor >= 0 && keepFor <= longestKept
    ? keepFor
    : yield* badArgument("clients.newSecret keepFor", "has to be milliseconds, of 90 days at most")
})

const isFormat = Schema.is(AccessTokenFormat)

export const clientsApi = (administration: Administration): ClientsApi => {
  const { auditContext, services, run, steps, workspace } = administration

  const told = (client: Client) =>
    Effect.gen(function* () {
      const now = yield* currentInstant
      const at = yield* services.usage.lastUse("client", workspace.id, client.id)
      return {
        id: identifierOf(client),
        name: displayName(client),
        redirectUris: [...client.redirectUris],
        grantTypes: [...client.grantTypes],
        authMethod: authMethodOf(client),
        scopes: [...client.scope],
        madeBy: makerOf(client),
        disabled: client.disabled,
        accessTokenFormat: client.accessTokenFormat,
        serves: client.serves,
        workspaceAccess: asksForWorkspace(client, services.grantTypes.values())
          ? workspaceStanding(client, services.policy)
          : undefined,
        secrets: liveSecrets(client, now).map(({ mark, until }) => ({
          mark,
          until: until === null ? undefined : new Date(until)
        })),
        createdAt: new Date(client.createdAt),
        lastUsedAt: at === undefined ? undefined : new Date(at)
      } satisfies RegisteredClient
    })

  /** `false`: there is no such client. */
  const done = <E>(id: string, act: (id: ClientId) => Effect.Effect<string, E>) =>
    Option.match(readClientKey(id), {
      onNone: () => Effect.succeed(false),
      onSome: (clientId) => Effect.map(act(clientId), (outcome) => outcome !== "unknown")
    })

  const answering = (id: string, change: "approved" | "refused") =>
    Option.match(readClientIdentifier(id), {
      onNone: () => Effect.succeed(false),
      onSome: (identifier) =>
        Effect.map(
          answerByIdentifier(services, auditContext, workspace, identifier, change),
          (outcome) => outcome !== "unknown" && outcome !== "not_asked"
        )
    })

  return {
    register: (metadata) =>
      steps(function* () {
        // Held to what is asked of a client that registers itself.
        const registration = yield* Effect.fromResult(checkRegistration(services, metadata))
        const made = yield* registerClient(servicesAt(services, workspace), auditContext, registration)
        const secret = made.secret && Redacted.value(made.secret)
        return { client: yield* told(made.client), secret }
      }),
    list: (paging = {}) =>
      steps(function* () {
        const page = yield* services.clients.list(workspace.id, yield* pageAsked("clients.list", paging))
        const now = yield* currentInstant
        const known = page.values.filter((client) => isKnown(client, now))
        return { items: yield* Effect.forEach(known, told), next: page.next }
      }),
    get: (id) =>
      steps(function* () {
        const identifier = readClientIdentifier(id)
        const client = Option.isNone(identifier)
          ? undefined
          : yield* findByIdentifier(services, workspace, identifier.value)
        return client !== undefined && isKnown(client, yield* currentInstant) ? yield* told(client) : undefined
      }),
    disable: (id) => run(done(id, (client) => setClientEnabled(services, auditContext, client, "disabled"))),
    enable: (id) => run(done(id, (client) => setClientEnabled(services, auditContext, client, "enabled"))),
    approve: (id) => run(answering(id, "approved")),
    refuse: (id) => run(answering(id, "refused")),
    newSecret: (id, options = {}) =>
      steps(function* () {
        const keepFor = yield* readKeepFor(options)
        const clientId = readClientKey(id)
        if (Option.isNone(clientId)) return undefined
        const made = yield* makeSecret(services, auditContext, clientId.value, keepFor)
        return made === "unknown" ? undefined : Redacted.value(made.text)
      }),
    dropSecret: (id, which = "older") =>
      steps(function* () {
        if (which !== "older" && which !== "newer") {
          return yield* badArgument("clients.dropSecret", "ends the older secret, or the newer")
        }
        return yield* done(id, (client) => dropSecret(services, auditContext, client, which))
      }),
    setAccessTokenFormat: (id, format) =>
      isFormat(format)
        ? run(done(id, (client) => setAccessTokenFormat(services, auditContext, client, format)))
        : run(Effect.fail(badArgument("clients.setAccessTokenFormat format", "has to be jwt or opaque"))),
    allowExchange: (id, resource) =>
      steps(function* () {
        const opened = yield* services.openings.open(workspace)
        const client = readClientKey(id)
        if (Option.isNone(client)) return false
        const outcome = yield* setServedResource(services, auditContext, opened, client.value, resource)
        if (outcome === "no_resource") {
          return yield* badArgument(
            "clients.allowExchange resource",
            "has to be the address of an API of the workspace"
          )
        }
        if (outcome === "too_long") {
          return yield* badArgument("clients.allowExchange resource", addressTooLong)
        }
        if (outcome === "public") {
          return yield* badArgument("clients.allowExchange id", "has to be a client with a secret or keys of its own")
        }
        return outcome !== "unknown"
      }),
    endExchange: (id) => run(done(id, (client) => setServedResource(services, auditContext, workspace, client, null))),
    delete: (id) => run(done(id, (client) => deleteClient(services, auditContext, client))),
    blockHost: (host) =>
      run(
        Effect.catchTag(blockClientHost(services, auditContext, workspace, String(host)), "BadHost", ({ reason }) =>
          Effect.fail(
            badArgument(
              "clients.blockHost host",
              reason === "host"
                ? "has to be a host, as app.example or *.example.com"
                : "is one too many: 1000 are blocked"
            )
          )
        )
      ),
    unblockHost: (host) => run(unblockClientHost(services, auditContext, workspace, String(host))),
    blockedHosts: () => run(services.openings.blockedHosts(workspace.id))
  }
}
