import { type Duration, Option, Result, Schema } from "effect"
import { type BadIssuer, readIssuer } from "../../core/engine/administerWorkspace.ts"
import {
  AccessTokenFormat,
  isResourceAddress,
  ResourceDefinition,
  ResourceRegistry,
  strangeScope
} from "../../core/rules/Resource.ts"
import { faultOfScopes, ScopeDefinition, ScopeRegistry } from "../../core/rules/Scope.ts"
import type { TrustedIssuer } from "../../core/rules/TrustedIssuer.ts"
import type { Workspace } from "../../core/workspace/Workspace.ts"
import { inUnits, isObject, type NamesOf, readMillis, strangerIn } from "../serve/options.ts"
import {
  type BadOption,
  badOption,
  type ResourceOption,
  type ScopeOption,
  type TrustedIssuerOption
} from "./Options.ts"

/** What a host says of the one workspace that it has, or of each of several. */
export type Checked<A> = Result.Result<A, BadOption>

export const bad = (option: string, why: string): Result.Result<never, BadOption> => Result.fail(badOption(option, why))

/** `within`: the option that has them, and a dot. */
export const knownNames = (given: object, known: object, within = ""): Checked<void> => {
  const stranger = strangerIn(given, known)
  return stranger === undefined ? Result.succeed(undefined) : bad(within + stranger, "is no option")
}

export const lifeOf = (
  option: string,
  given: Duration.Input | undefined,
  least = 1000
): Checked<number | undefined> => {
  if (given === undefined) return Result.succeed(undefined)
  const millis = readMillis(given)
  return millis !== undefined && millis >= least
    ? Result.succeed(millis)
    : bad(option, `has to be at least ${inUnits(least)}: milliseconds, or words such as "90 seconds"`)
}

const scopeNames: NamesOf<ScopeOption> = { name: true, meaning: true, needsUser: true, byDefault: true, implies: true }

/** `option`: what the list is called. */
export const readScopes = (option: string, scopes: ReadonlyArray<ScopeOption>): Checked<ScopeRegistry> => {
  if (!Array.isArray(scopes)) return bad(option, "has to be a list")
  for (const scope of scopes) {
    if (!isObject(scope)) return bad(option, "has to be a list of { name, meaning }")
    const known = knownNames(scope, scopeNames, `${option}.`)
    if (Result.isFailure(known)) return Result.fail(known.failure)
  }
  const given = Schema.decodeUnknownOption(Schema.Array(ScopeDefinition))(
    scopes.map(({ byDefault = false, meaning, name, needsUser = false, ...rest }) => ({
      byDefault,
      meaning,
      name,
      needsUser,
      ...rest
    }))
  )
  const fault = Option.isNone(given) ? undefined : faultOfScopes(given.value)
  if (fault !== undefined) return bad(option, fault)
  return Option.match(Option.flatMap(given, Schema.decodeUnknownOption(ScopeRegistry)), {
    onNone: () => bad(option, "has to be a list of at least one { name, meaning }, names without space"),
    onSome: Result.succeed
  })
}

const resourceNames: NamesOf<ResourceOption> = {
  at: true,
  name: true,
  scopes: true,
  accessTokenFormat: true,
  accessTokenTtl: true
}

export const readResources = (
  list: string,
  resources: ReadonlyArray<ResourceOption>,
  registry: ScopeRegistry
): Checked<ResourceRegistry> => {
  if (!Array.isArray(resources)) return bad(list, "has to be a list")
  const read: Array<ResourceDefinition> = []
  for (const [index, one] of resources.entries()) {
    const given: unknown = one
    const option = `${list}[${index}]`
    if (!isObject(given)) return bad(option, "has to be { at, name, scopes }")
    const known = knownNames(given, resourceNames, `${option}.`)
    if (Result.isFailure(known)) return Result.fail(known.failure)
    const { accessTokenFormat, accessTokenTtl, at, name, scopes } = one
    if (!isResourceAddress(at)) {
      return bad(`${option}.at`, "has to be an https URL (or http on this machine) as browsers write it, without query")
    }
    if (accessTokenFormat !== undefined && !Schema.is(AccessTokenFormat)(accessTokenFormat)) {
      return bad(`${option}.accessTokenFormat`, "has to be opaque or jwt")
    }
    const ttl = lifeOf(`${option}.accessTokenTtl`, accessTokenTtl)
    if (Result.isFailure(ttl)) return Result.fail(ttl.failure)
    const definition = Schema.decodeUnknownOption(ResourceDefinition)({
      at,
      name: name ?? new URL(at).host,
      ...(scopes === undefined ? {} : { scopes }),
      ...(accessTokenFormat === undefined ? {} : { accessTokenFormat }),
      ...(ttl.success === undefined ? {} : { accessTokenTtl: ttl.success })
    })
    if (Option.isNone(definition))
      return bad(option, "has to have a name that people can read, and at least one scope if any")
    const strange = strangeScope(definition.value, registry)
    if (strange !== undefined) return bad(`${option}.scopes`, `has ${strange}, which is none of the scopes`)
    read.push(definition.value)
  }
  return Option.match(Schema.decodeUnknownOption(ResourceRegistry)(read), {
    onNone: () => bad(list, "has to be a list in which no address comes twice"),
    onSome: Result.succeed
  })
}

const whyNotTrusted: Readonly<Record<BadIssuer["reason"], string>> = {
  malformed: "has to have https addresses, ids of clients, and domains such as acme.example",
  keys: "has to have jwks, with public keys alone, or a jwksUri",
  scopes: "has scopes that are none of the server's",
  resources: "has resources that are none of the server's",
  trusted: "is there twice",
  full: "is one more than there can be"
}

export const readTrusted = (
  list: string,
  given: ReadonlyArray<TrustedIssuerOption>,
  workspace: Workspace,
  registry: ScopeRegistry
): Checked<Workspace> => {
  if (!Array.isArray(given)) return bad(list, "has to be a list")
  const read: Array<TrustedIssuer> = []
  for (const [index, typed] of given.entries()) {
    const option = `${list}[${index}]`
    const object: unknown = typed
    if (!isObject(object)) return bad(option, "has to be { issuer, jwksUri, … }")
    const known = knownNames(object, trustedNames, `${option}.`)
    if (Result.isFailure(known)) return Result.fail(known.failure)
    const issuer = readIssuer(typed, workspace, registry)
    if (Result.isFailure(issuer)) return bad(option, whyNotTrusted[issuer.failure.reason])
    if (read.some((other) => other.issuer === typed.issuer)) return bad(option, whyNotTrusted.trusted)
    read.push(issuer.success)
  }
  return Result.succeed({ ...workspace, trustedIssuers: read })
}

const trustedNames: NamesOf<TrustedIssuerOption> = {
  issuer: true,
  jwks: true,
  jwksUri: true,
  clients: true,
  scopes: true,
  resources: true,
  domains: true,
  people: true,
  takes: true
}
