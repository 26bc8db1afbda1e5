import { readFileSync } from "node:fs"
import { Duration, Effect, Option, Redacted, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { type Client, displayName, isKnown, makerOf, shownIdentifier } from "../../core/client/Client.ts"
import { type ClientIdentifier, clientKey, readClientIdentifier } from "../../core/client/ClientIdentifier.ts"
import { type LiveSecret, liveSecrets } from "../../core/client/ClientSecret.ts"
import { checkRegistration, registrationFields } from "../../core/client/RegistrationRequest.ts"
import { addressTooLong, clientInformation } from "../../core/client/register.ts"
import { asksForWorkspace, questionOf, workspaceStanding } from "../../core/client/workspaceAccess.ts"
import {
  answerByIdentifier,
  deleteClient,
  dropSecret,
  findByIdentifier,
  makeSecret,
  registerClient,
  setAccessTokenFormat,
  setClientEnabled,
  setSecurityProfile,
  setServedResource
} from "../../core/engine/administerClients.ts"
import { blockClientHost, unblockClientHost } from "../../core/engine/administerWorkspace.ts"
import { collectAll } from "../../core/engine/lists.ts"
import { isLongLived } from "../../core/grant/jwtAccessToken.ts"
import { clientAuths } from "../../core/oauth/clients/table.ts"
import { grantTypes } from "../../core/oauth/grants/table.ts"
import type { ClientId } from "../../core/rules/Id.ts"
import { currentInstant, minute } from "../../core/rules/Instant.ts"
import { type Policy, ProfileName } from "../../core/rules/Policy.ts"
import { AccessTokenFormat } from "../../core/rules/Resource.ts"
import { sanitizeName } from "../../core/rules/sanitizeName.ts"
import { servicesAt } from "../../core/workspace/Workspace.ts"
import { type Administration, administer, opened, soon, WorkspaceFlag } from "./administration.ts"
import {
  type CommandFailed,
  examples,
  facts,
  json,
  misused,
  notFound,
  print,
  refused,
  switchFlag,
  table,
  textFlag,
  timeText
} from "./output.ts"

const authMethods = clientAuths.map(({ name }) => name)

const id = Argument.String("client-id").pipe(Argument.withDescription("The client's client_id"))

const usual = grantTypes.flatMap(({ name, registers }) => (registers.byDefault === true ? [name] : [])).join(", ")

const unknown = notFound("There is no such client.")

const readIdentifier = (text: string): Effect.Effect<ClientIdentifier, typeof unknown> =>
  Option.match(readClientIdentifier(text), { onNone: () => Effect.fail(unknown), onSome: Effect.succeed })

export const readId = (text: string): Effect.Effect<ClientId, CommandFailed> =>
  Effect.map(readIdentifier(text), clientKey)

const lastUse = ({ services, workspace }: Administration, client: Client) =>
  Effect.map(services.usage.lastUse("client", workspace.id, client.id), (at) => at ?? null)

/** How it stands with access without a person; `null` for a client that did not register for it. */
const standingOf = ({ services }: Administration, client: Client) =>
  asksForWorkspace(client, services.grantTypes.values()) ? workspaceStanding(client, services.policy) : null

const described = (administration: Administration, client: Client, usedAt: number | null) => ({
  ...clientInformation(administration.services, client),
  made_by: makerOf(client),
  disabled: client.disabled,
  access_token_format: client.accessTokenFormat ?? null,
  serves: client.serves ?? null,
  workspace_access: standingOf(administration, client),
  ...questionShown(administration, client),
  last_used_at: usedAt === null ? null : new Date(usedAt).toISOString()
})

/** When and from where it asked, and whose answer it has, where it is for an owner to answer. */
const questionShown = ({ services }: Administration, client: Client) => {
  if (client.madeBy === "owner" || !asksForWorkspace(client, services.grantTypes.values())) return {}
  const { answer, askedAt, network } = questionOf(client)
  return {
    workspace_access_asked_at: new Date(askedAt).toISOString(),
    workspace_access_asked_from: network,
    workspace_access_answered_by: answer?.by ?? null
  }
}

const inWords = (shown: ReturnType<typeof described>): ReadonlyArray<string> => {
  const read = {
    ...shown,
    client_id_issued_at: timeText(shown.client_id_issued_at * 1000),
    last_used_at: shown.last_used_at ?? "-"
  }
  return facts(
    Object.entries(read).map(([name, value]) => [name, Array.isArray(value) ? value.join(" ") : String(value ?? "-")])
  )
}

const list = Command.make("list", { json }, (given) =>
  administer(function* (administration) {
    const { services, workspace } = administration
    const now = yield* currentInstant
    const clients = (yield* collectAll((page) => services.clients.list(workspace.id, page))).filter((client) =>
      isKnown(client, now)
    )
    const used = yield* Effect.forEach(clients, (client) =>
      Effect.map(lastUse(administration, client), (at) => ({ client, at }))
    )
    yield* print(
      given.json,
      used.map(({ client, at }) => described(administration, client, at)),
      table(
        ["CLIENT ID", "NAME", "MADE BY", "REGISTERED", "LAST USED", "STATE", "WITHOUT A PERSON"],
        used.map(({ client, at }) => [
          shownIdentifier(client),
          displayName(client),
          makerOf(client),
          timeText(client.createdAt),
          timeText(at),
          client.disabled ? "disabled" : "enabled",
          standingOf(administration, client) ?? "-"
        ])
      )
    )
  })
).pipe(Command.withDescription("List the registered clients"))

const show = Command.make("show", { id, json }, (given) =>
  administer(function* (administration) {
    const { services, workspace } = administration
    const client = yield* findByIdentifier(services, workspace, yield* readIdentifier(given.id))
    if (client === undefined || !isKnown(client, yield* currentInstant)) return yield* unknown
    const shown = described(administration, client, yield* lastUse(administration, client))
    yield* print(given.json, shown, inWords(shown))
  })
).pipe(Command.withDescription("Show one client"))

/** The registration judges what it holds. */
export const readJsonFile = (file: string): Effect.Effect<unknown, CommandFailed> =>
  Effect.try({
    try: (): unknown => JSON.parse(readFileSync(file, "utf8")),
    catch: () => misused(`The file ${file} cannot be read, or is no JSON.`)
  })

/** What flags of their own say. */
const flagged = [
  "client_name",
  "redirect_uris",
  "grant_types",
  "token_endpoint_auth_method",
  "scope",
  "jwks",
  "jwks_uri"
]

/** More of a registration. A name that is not known is left out where a client sends it; an owner has mistyped it. */
const readMembers = Effect.fnUntraced(function* (services: Administration["services"], file: string) {
  const read = yield* readJsonFile(file)
  if (typeof read !== "object" || read === null || Array.isArray(read)) {
    return yield* misused(`The file ${file} has to hold a JSON object.`)
  }
  const names = Object.keys(registrationFields(services)).filter((name) => !flagged.includes(name))
  const odd = Object.keys(read).find((name) => !names.includes(name))
  if (odd !== undefined) {
    const why = flagged.includes(odd) ? "for which there is a flag" : `which is none of these: ${names.join(", ")}`
    return yield* misused(`The file ${file} has the member ${odd}, ${why}.`)
  }
  return read
})

const create = Command.make(
  "create",
  {
    name: Flag.String("name").pipe(Flag.withDescription("What people read on the consent page")),
    redirectUri: Flag.String("redirect-uri").pipe(
      Flag.withDescription("Where the code goes; may be given more than once"),
      Flag.atLeast(0)
    ),
    grantType: Flag.Literals(
      "grant-type",
      grantTypes.map(({ name }) => name)
    ).pipe(Flag.withDescription(`May be given more than once; ${usual} where none is`), Flag.atLeast(0)),
    authMethod: Flag.Literals("auth-method", authMethods).pipe(
      Flag.withDescription(
        "How the client shows who it is; none makes it public. Without it, client_secret_basic, or private_key_jwt where FAPI2 is required"
      ),
      Flag.optional
    ),
    scope: textFlag("scope", "The most that it may be granted, separated by spaces"),
    jwks: textFlag("jwks", "A file with the public keys that it signs with, for --auth-method private_key_jwt"),
    jwksUri: textFlag("jwks-uri", "The https address where these keys are, instead of --jwks"),
    metadata: textFlag("metadata", "A JSON file with more of its registration, such as post_logout_redirect_uris"),
    json
  },
  (given) =>
    administer(function* ({ auditContext, services, workspace }) {
      // A client may register without a name; one of an owner's is to be known by it.
      if (sanitizeName(given.name, 1) === undefined)
        return yield* misused("Give the client a name that people can read.")
      const jwks = Option.isNone(given.jwks) ? {} : { jwks: yield* readJsonFile(given.jwks.value) }
      const request = {
        ...(Option.isNone(given.metadata) ? {} : yield* readMembers(services, given.metadata.value)),
        ...jwks,
        ...(Option.isNone(given.jwksUri) ? {} : { jwks_uri: given.jwksUri.value }),
        client_name: given.name,
        redirect_uris: given.redirectUri,
        ...(Option.isNone(given.authMethod) ? {} : { token_endpoint_auth_method: given.authMethod.value }),
        ...(given.grantType.length === 0 ? {} : { grant_types: given.grantType }),
        ...(Option.isNone(given.scope) ? {} : { scope: given.scope.value })
      }
      // Held to what is asked of a client that registers itself.
      const registration = yield* Effect.fromResult(checkRegistration(services, request))
      const made = yield* registerClient(servicesAt(services, workspace), auditContext, registration)
      const secret = made.secret === undefined ? undefined : Redacted.value(made.secret)
      const shown = {
        ...clientInformation(services, made.client),
        ...(secret === undefined ? {} : { client_secret: secret })
      }
      const lines = facts([
        ["client_id", made.client.id],
        ["scope", shown.scope],
        ...(secret === undefined ? [] : [["client_secret", secret] as const])
      ])
      yield* print(given.json, shown, [
        ...lines,
        ...(secret === undefined ? [] : ["", "The secret is shown this once."])
      ])
    })
).pipe(
  Command.withDescription("Register a client"),
  examples(
    'tessera client create --name "Nightly job" --grant-type client_credentials',
    "tessera client create --name App --redirect-uri https://app.example/callback --auth-method none",
    "tessera client create --name Billing --grant-type client_credentials --auth-method private_key_jwt --jwks keys.json",
    "tessera client create --name App --redirect-uri https://app.example/callback --metadata more.json"
  )
)

const switched = (name: "disable" | "enable", description: string) =>
  Command.make(name, { id, json }, (given) =>
    administer(function* ({ auditContext, services }) {
      const clientId = yield* readId(given.id)
      if ((yield* setClientEnabled(services, auditContext, clientId, `${name}d`)) === "unknown") return yield* unknown
      yield* print(given.json, { client_id: clientId, disabled: name === "disable" }, [
        `${clientId} is ${name}d, for every server that runs.`
      ])
    })
  ).pipe(Command.withDescription(description))

const format = Argument.Literals("format", AccessTokenFormat.literals).pipe(
  Argument.withDescription("jwt: others can verify them by the keys of /oauth/jwks; opaque: this server alone")
)

const accessTokens = Command.make("access-tokens", { id, format, json }, (given) =>
  administer(function* ({ auditContext, services, settings }) {
    const clientId = yield* readId(given.id)
    const outcome = yield* setAccessTokenFormat(services, auditContext, clientId, given.format)
    if (outcome === "unknown") return yield* unknown
    yield* print(given.json, { client_id: clientId, access_token_format: given.format }, [
      `${clientId} has ${given.format} access tokens from its next one on. ${soon({ services })}`,
      ...(given.format === "jwt" ? outlivingAdvice(settings.policy) : [])
    ])
  })
).pipe(
  Command.withDescription("Choose how a client's access tokens are written: for this server alone, or as JWTs"),
  examples("tessera client access-tokens 3hGTh17jXbC0aVd9kQ2LmA jwt")
)

const profileName = Argument.Literals("profile", ProfileName.literals).pipe(
  Argument.withDescription("fapi2: the FAPI 2.0 Security Profile; standard: what every client is held to")
)

const profile = Command.make("profile", { id, profile: profileName, json }, (given) =>
  administer(function* ({ auditContext, services }) {
    const clientId = yield* readId(given.id)
    const outcome = yield* setSecurityProfile(services, auditContext, clientId, given.profile)
    if (outcome === "unknown") return yield* unknown
    if (typeof outcome === "object") {
      return yield* refused(`It would break rules of the profile: ${outcome.broken.join(" ")}`)
    }
    yield* print(given.json, { client_id: clientId, security_profile: given.profile }, [
      `${clientId} is held to the profile ${given.profile}. ${soon({ services })}`
    ])
  })
).pipe(
  Command.withDescription("Choose what a client is held to; only an owner loosens it"),
  examples("tessera client profile CLIENT_ID fapi2")
)

const exchange = Command.make(
  "exchange",
  {
    id,
    resource: Argument.String("resource").pipe(
      Argument.withDescription("The API that the client is, such as https://orders.example.com; none takes it back")
    ),
    json
  },
  (given) =>
    administer(function* ({ auditContext, services, workspace }) {
      const clientId = yield* readId(given.id)
      const address = given.resource === "none" ? null : given.resource
      const whole = yield* opened({ services, workspace })
      const outcome = yield* setServedResource(services, auditContext, whole, clientId, address)
      if (outcome === "unknown") return yield* unknown
      if (outcome === "public") return yield* refused("A client without a secret or keys of its own may not exchange.")
      if (outcome === "no_resource") {
        return yield* refused(`No token is ever for ${given.resource}: see \`tessera resource list\`.`)
      }
      if (outcome === "too_long") {
        return yield* refused(`The address ${addressTooLong}.`)
      }
      yield* print(given.json, { client_id: clientId, serves: address }, [
        address === null
          ? `${clientId} exchanges no tokens any more, and those that it got are not accepted.`
          : `${clientId} may introspect the access tokens that are sent to ${address}, and exchange them for narrower ones.`
      ])
    })
).pipe(
  Command.withDescription(
    "Let an API introspect the access tokens that it is sent (RFC 7662), and exchange them to call another API (RFC 8693)"
  ),
  examples("tessera client exchange CLIENT_ID https://orders.example.com")
)

const outlivingAdvice = ({ accessTtl }: Policy): ReadonlyArray<string> =>
  isLongLived(accessTtl)
    ? [
        `Where an API does not ask this server, a revoked one works until it expires: up to ${accessTtl / minute} minutes (ACCESS_TTL).`
      ]
    : []

const answering = (name: "approve" | "refuse", change: "approved" | "refused", description: string) =>
  Command.make(name, { id, json }, (given) =>
    administer(function* (administration) {
      const { auditContext, services, workspace } = administration
      const identifier = yield* readIdentifier(given.id)
      const clientId = clientKey(identifier)
      const outcome = yield* answerByIdentifier(services, auditContext, workspace, identifier, change)
      if (outcome === "unknown") return yield* unknown
      if (outcome === "not_asked") {
        return yield* refused("It does not wait for an owner: an owner made it, or it never asked for such access.")
      }
      const client = yield* services.clients.findStored(workspace.id, clientId)
      if (client === undefined) return yield* unknown
      const standing = workspaceStanding(client, services.policy)
      yield* print(given.json, { client_id: clientId, workspace_access: standing }, [
        `${clientId} is ${change}, for every server that runs.`,
        ...withoutEffect(services.policy)
      ])
    })
  ).pipe(Command.withDescription(description))

const withoutEffect = ({ workspaceAccess }: Policy): ReadonlyArray<string> =>
  workspaceAccess === "approved"
    ? []
    : [`WORKSPACE_ACCESS is ${workspaceAccess} here; only where it is approved does the answer decide.`]

const secretLines = (live: ReadonlyArray<LiveSecret>): ReadonlyArray<string> =>
  table(
    ["SECRET", "WORKS"],
    live.map(({ mark, until }) => [mark, until === null ? "until it is replaced" : `until ${timeText(until)}`])
  )

const secretsShown = (live: ReadonlyArray<LiveSecret>) =>
  live.map(({ mark, until }) => ({ secret: mark, until: until === null ? null : new Date(until).toISOString() }))

const newSecret = Command.make(
  "new",
  {
    id,
    keep: Flag.String("keep").pipe(
      Flag.withDescription('How long the present secret works beside the new one, such as "7 days"'),
      Flag.withSchema(Schema.DurationFromString),
      Flag.withDefault(Duration.zero)
    ),
    json
  },
  (given) =>
    administer(function* ({ auditContext, services }) {
      const clientId = yield* readId(given.id)
      const made = yield* makeSecret(services, auditContext, clientId, Duration.toMillis(given.keep)).pipe(
        Effect.catchTag("SecretRefused", ({ message, reason }) =>
          Effect.fail(reason === "kept_too_long" ? misused(message) : refused(message))
        )
      )
      if (made === "unknown") return yield* unknown
      const text = Redacted.value(made.text)
      const shown = { client_id: clientId, client_secret: text, secrets: secretsShown(made.live) }
      yield* print(given.json, shown, [
        ...facts([
          ["client_id", clientId],
          ["client_secret", text]
        ]),
        "",
        "The secret is shown this once.",
        "",
        ...secretLines(made.live)
      ])
    })
).pipe(Command.withDescription("Make another secret"), examples('tessera client secret new CLIENT_ID --keep "7 days"'))

const listSecrets = Command.make("list", { id, json }, (given) =>
  administer(function* ({ services, workspace }) {
    const client = yield* services.clients.findStored(workspace.id, yield* readId(given.id))
    const now = yield* currentInstant
    if (client === undefined || !isKnown(client, now)) return yield* unknown
    const live = liveSecrets(client, now)
    yield* print(given.json, secretsShown(live), secretLines(live))
  })
).pipe(Command.withDescription("List the secrets that work; the audit stream tells which one a client of two shows"))

const drop = Command.make(
  "drop",
  {
    id,
    newer: switchFlag("newer", "The newer one, if nobody has seen it; the older one then goes on without an end"),
    json
  },
  (given) =>
    administer(function* ({ auditContext, services }) {
      const clientId = yield* readId(given.id)
      const which = given.newer ? "newer" : "older"
      const outcome = yield* dropSecret(services, auditContext, clientId, which)
      if (outcome === "unknown") return yield* unknown
      yield* print(given.json, { client_id: clientId, dropped: outcome === "done" }, [
        outcome === "done"
          ? `The ${which} secret has stopped working. ${soon({ services })}`
          : "This client has no older secret."
      ])
    })
).pipe(Command.withDescription("End one of two secrets now: the older, or the newer"))

const secret = Command.make("secret").pipe(
  Command.withDescription("Change a client's secret without a gap"),
  Command.withSubcommands([newSecret, listSecrets, drop])
)

const remove = Command.make("delete", { id, json }, (given) =>
  administer(function* ({ auditContext, services }) {
    const clientId = yield* readId(given.id)
    if ((yield* deleteClient(services, auditContext, clientId)) === "unknown") return yield* unknown
    yield* print(given.json, { client_id: clientId, deleted: true }, [
      `${clientId} is deleted, and nothing that it was granted is accepted any more.`
    ])
  })
).pipe(Command.withDescription("Delete a client, and with it all that it was granted"))

const host = Argument.String("host").pipe(
  Argument.withDescription("As addresses have it, such as app.example, or *.example.com for all below it")
)

const block = Command.make("block", { host, json }, (given) =>
  administer(function* ({ auditContext, services, workspace }) {
    const deleted = yield* blockClientHost(services, auditContext, workspace, given.host).pipe(
      Effect.catchTag("BadHost", ({ reason }) =>
        Effect.fail(reason === "host" ? misused("That is no host.") : refused("1000 hosts are blocked already."))
      )
    )
    yield* print(given.json, { host: given.host, deleted }, [
      `No document of ${given.host} is taken any more. ${soon({ services })}`,
      `Clients that came from there and are deleted, with all that they were granted: ${deleted}.`
    ])
  })
).pipe(
  Command.withDescription("Take no metadata document of a host any more, and end what its clients have"),
  examples("tessera client block app.example")
)

const unblock = Command.make("unblock", { host, json }, (given) =>
  administer(function* ({ auditContext, services, workspace }) {
    if (!(yield* unblockClientHost(services, auditContext, workspace, given.host))) {
      return yield* notFound("This host is not blocked.")
    }
    yield* print(given.json, { host: given.host, blocked: false }, [
      `Documents of ${given.host} are taken again, where CLIENT_DOCUMENTS takes them.`
    ])
  })
).pipe(Command.withDescription("Take metadata documents of a host again"))

const blocked = Command.make("blocked", { json }, (given) =>
  administer(function* ({ services, workspace }) {
    const hosts = yield* services.openings.blockedHosts(workspace.id)
    yield* print(given.json, hosts, hosts)
  })
).pipe(Command.withDescription("List the hosts whose metadata documents are not taken"))

export const client = Command.make("client").pipe(
  Command.withDescription("Look after the registered applications"),
  Command.withSubcommands([
    list,
    show,
    create,
    switched("disable", "Refuse a client and all its tokens until it is enabled again"),
    switched("enable", "Accept a client again"),
    accessTokens,
    profile,
    exchange,
    answering("approve", "approved", "Let a client that asked for it act for the workspace, without a person"),
    answering("refuse", "refused", "Refuse that to a client, also one that was approved; its tokens of that kind end"),
    secret,
    remove,
    block,
    unblock,
    blocked
  ]),
  Command.withGlobalFlags([WorkspaceFlag])
)
