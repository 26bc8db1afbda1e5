import { Duration, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { addResource, removeResource } from "../../core/engine/administerWorkspace.ts"
import { AccessTokenFormat, type ResourceDefinition } from "../../core/rules/Resource.ts"
import { namesIn } from "../../core/rules/Scope.ts"
import { administer, opened, soon, WorkspaceFlag } from "./administration.ts"
import { examples, json, notFound, print, table, textFlag } from "./output.ts"

const described = (one: ResourceDefinition, configured: boolean) => ({
  at: one.at,
  name: one.name,
  scopes: one.scopes ?? null,
  access_token_format: one.accessTokenFormat ?? "opaque",
  access_token_ttl: one.accessTokenTtl === undefined ? null : one.accessTokenTtl / 1000,
  configured
})

const at = Argument.String("address").pipe(Argument.withDescription("Its address, such as https://api.example.com"))

const add = Command.make(
  "add",
  {
    at,
    name: textFlag("name", "What people read on the consent page; its host where this is left out"),
    scope: textFlag("scope", 'The scopes that it takes, such as "orders:read"; all where this is left out'),
    accessTokens: Flag.Literals("access-tokens", AccessTokenFormat.literals).pipe(
      Flag.withDescription("jwt: it verifies them itself, by the keys of /oauth/jwks; opaque: it asks this server"),
      Flag.optional
    ),
    accessTokenTtl: Flag.String("access-token-ttl").pipe(
      Flag.withDescription('The longest that access tokens for it last, such as "5 minutes"; ACCESS_TTL is the most'),
      Flag.withSchema(Schema.DurationFromString),
      Flag.optional
    ),
    json
  },
  (given) =>
    administer(function* (administration) {
      const { auditContext, services } = administration
      const added = yield* addResource(services, auditContext, yield* opened(administration), {
        at: given.at,
        name: Option.getOrElse(given.name, () => ""),
        scopes: namesIn(Option.getOrElse(given.scope, () => "")),
        accessTokenFormat: Option.getOrUndefined(given.accessTokens),
        accessTokenTtl: Option.getOrUndefined(Option.map(given.accessTokenTtl, Duration.toMillis))
      })
      yield* print(given.json, described(added, false), [`Tokens can be for ${added.at} now. ${soon({ services })}`])
    })
).pipe(
  Command.withDescription("List an API that tokens can be for, wherever it is"),
  examples(
    'tessera resource add https://mcp.example.com --name "Tools" --scope "tools:read tools"',
    'tessera resource add https://api.example.com --access-tokens jwt --access-token-ttl "5 minutes"'
  )
)

const list = Command.make("list", { json }, (given) =>
  administer(function* (administration) {
    const { listed = [], resources = [] } = yield* opened(administration)
    const shown = resources.map((one) => described(one, !listed.includes(one)))
    yield* print(
      given.json,
      shown,
      shown.length === 0
        ? [`None is listed: tokens are for ${administration.workspace.issuer} and everything below it.`]
        : table(
            ["ADDRESS", "NAME", "SCOPES", "TOKENS", "FROM"],
            shown.map((one) => [
              one.at,
              one.name,
              one.scopes?.join(" ") ?? "all",
              one.access_token_format,
              one.configured ? "configuration" : "owners"
            ])
          )
    )
  })
).pipe(Command.withDescription("List the APIs that tokens can be for"))

const remove = Command.make("remove", { at, json }, (given) =>
  administer(function* (administration) {
    const { auditContext, services } = administration
    const removed = yield* removeResource(services, auditContext, yield* opened(administration), given.at)
    if (!removed) return yield* notFound("No owner has listed it. What is configured stays.")
    yield* print(given.json, { at: given.at, removed }, [
      `No new token is for ${given.at}. ${soon({ services })} Those that are out go on until they expire.`
    ])
  })
).pipe(Command.withDescription("Take an API off the list"))

export const resource = Command.make("resource").pipe(
  Command.withDescription("Look after the APIs that tokens can be for"),
  Command.withSubcommands([add, list, remove]),
  Command.withGlobalFlags([WorkspaceFlag])
)
