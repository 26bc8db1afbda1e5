import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { type BadIssuer, changeIssuer, removeIssuer, trustIssuer } from "../../core/engine/administerWorkspace.ts"
import { namesIn } from "../../core/rules/Scope.ts"
import { keysTypedOf, type TrustedIssuer } from "../../core/rules/TrustedIssuer.ts"
import { administer, opened, soon, WorkspaceFlag } from "./administration.ts"
import { readJsonFile } from "./client.ts"
import { examples, json, misused, notFound, print, refused, switchFlag, table, textFlag } from "./output.ts"

const described = ({ clients, domains, issuer, keys, people, resources, scopes, takes }: TrustedIssuer) => ({
  issuer,
  keys: keys._tag === "Fetched" ? keys.jwksUri : `${keys.keys.length} given`,
  clients: clients ?? null,
  scopes: scopes ?? null,
  resources: resources ?? null,
  domains: domains ?? null,
  people,
  takes: takes ?? "id-jag"
})

const address = Argument.String("issuer").pipe(
  Argument.withDescription("As it stands in iss, such as https://login.acme.example")
)

const several = (name: string, description: string) =>
  Flag.String(name).pipe(Flag.withDescription(`${description}; may be given more than once`), Flag.atLeast(0))

const whyNot: Readonly<Record<Exclude<BadIssuer["reason"], "trusted" | "full">, string>> = {
  malformed: "The issuer and its jwks-uri have to be https addresses, clients ids, and domains such as acme.example.",
  keys: "Give either --jwks, a file with public keys for signatures, or --jwks-uri.",
  scopes: "Not every scope of these is one of the workspace's.",
  resources: "Not every resource of these is one of the workspace's: see `tessera resource list`."
}

/** Of both commands: how far it is trusted. */
const terms = {
  jwks: textFlag("jwks", "A file with the public keys that it signs with"),
  jwksUri: textFlag("jwks-uri", "The https address where these keys are, instead of --jwks"),
  client: several("client", "A client that may bring its assertions; all that may use them, without any"),
  scope: textFlag("scope", "The most that it can grant"),
  resource: several("resource", "An API that it can grant access to; all, without any"),
  domain: several("domain", "A domain of the addresses that it speaks for, such as acme.example; all, without any"),
  makePeople: switchFlag(
    "make-people",
    "Make an account for each person that it names who has none; without it, they are refused"
  ),
  any: switchFlag(
    "any-assertion",
    "Take also assertions that are made for no client (RFC 7523), not identity assertions alone"
  )
}

interface Given {
  readonly address: string
  readonly jwks: Option.Option<string>
  readonly jwksUri: Option.Option<string>
  readonly client: ReadonlyArray<string>
  readonly scope: Option.Option<string>
  readonly resource: ReadonlyArray<string>
  readonly domain: ReadonlyArray<string>
  readonly makePeople: boolean
  readonly any: boolean
}

const typedOf = Effect.fnUntraced(function* (given: Given) {
  return {
    issuer: given.address,
    ...(Option.isNone(given.jwks) ? {} : { jwks: yield* readJsonFile(given.jwks.value) }),
    jwksUri: Option.getOrUndefined(given.jwksUri),
    clients: given.client,
    scopes: namesIn(Option.getOrElse(given.scope, () => "")),
    resources: given.resource,
    domains: given.domain,
    people: given.makePeople ? ("made" as const) : ("known" as const),
    ...(given.any ? { takes: "any" as const } : {})
  }
})

const refusedAs = ({ reason }: BadIssuer) =>
  reason === "trusted" || reason === "full"
    ? refused(reason === "full" ? "There are as many as there can be." : "It is trusted already.")
    : Effect.fail(misused(whyNot[reason]))

const add = Command.make("add", { address, ...terms, json }, (given) =>
  administer(function* (administration) {
    const { auditContext, services } = administration
    const typed = yield* typedOf(given)
    const made = yield* Effect.catchTag(
      trustIssuer(services, auditContext, yield* opened(administration), typed),
      "BadIssuer",
      refusedAs
    )
    yield* print(given.json, described(made), [
      `Assertions of ${made.issuer} are taken, from clients that registered for them: tessera client create --grant-type urn:ietf:params:oauth:grant-type:jwt-bearer`
    ])
  })
).pipe(
  Command.withDescription("Trust an issuer's assertions about people (RFC 7523, ID-JAG)"),
  examples(
    "tessera issuer add https://login.acme.example --jwks-uri https://login.acme.example/keys --domain acme.example"
  )
)

const notTrusted = notFound("No owner has trusted it. What is configured stays.")

const change = Command.make("change", { address, ...terms, json }, (given) =>
  administer(function* (administration) {
    const { auditContext, services } = administration
    const workspace = yield* opened(administration)
    const before = workspace.trustedIssuers?.find(({ issuer }) => issuer === given.address)
    if (before?.since === undefined) return yield* notTrusted
    const typed = yield* typedOf(given)
    const keepsKeys = typed.jwks === undefined && typed.jwksUri === undefined
    const changed = yield* Effect.catchTag(
      changeIssuer(services, auditContext, workspace, keepsKeys ? { ...typed, ...keysTypedOf(before) } : typed),
      "BadIssuer",
      refusedAs
    )
    if (changed === undefined) return yield* notTrusted
    yield* print(given.json, described(changed), [
      `${given.address} is trusted as far as was said now. ${keepsKeys ? "What it brought goes on" : "With other keys, what it brought has ended"}. ${soon({ services })}`
    ])
  })
).pipe(
  Command.withDescription("Say anew how far an issuer is trusted; its keys stay where none are given"),
  examples("tessera issuer change https://login.acme.example --scope api --make-people")
)

const list = Command.make("list", { json }, (given) =>
  administer(function* (administration) {
    const { trustedIssuers = [] } = yield* opened(administration)
    yield* print(
      given.json,
      trustedIssuers.map(described),
      trustedIssuers.length === 0
        ? ["None is trusted."]
        : table(
            ["ISSUER", "KEYS", "PEOPLE", "SCOPES", "CLIENTS"],
            trustedIssuers
              .map(described)
              .map((one) => [
                one.issuer,
                one.keys,
                one.people,
                one.scopes?.join(" ") ?? "all",
                one.clients?.join(" ") ?? "all"
              ])
          )
    )
  })
).pipe(Command.withDescription("List the issuers whose assertions are taken"))

const remove = Command.make("remove", { address, json }, (given) =>
  administer(function* (administration) {
    const { auditContext, services } = administration
    const removed = yield* removeIssuer(services, auditContext, yield* opened(administration), given.address)
    if (!removed) return yield* notTrusted
    yield* print(given.json, { issuer: given.address, removed }, [
      `No assertion of ${given.address} is taken any more, and what it brought has ended. ${soon({ services })}`
    ])
  })
).pipe(Command.withDescription("Take no more assertions of an issuer"))

export const issuer = Command.make("issuer").pipe(
  Command.withDescription("Look after the issuers whose assertions about people are taken"),
  Command.withSubcommands([add, change, list, remove]),
  Command.withGlobalFlags([WorkspaceFlag])
)
