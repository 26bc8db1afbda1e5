import { Effect, Option, Result, Schema } from "effect"
import { type BadIssuer, readIssuer } from "../../core/engine/administerWorkspace.ts"
import { standardPolicy } from "../../core/rules/Policy.ts"
import {
  AccessTokenFormat,
  mostResources,
  ResourceAddress,
  type ResourceDefinition,
  resourceOf,
  strangeScope
} from "../../core/rules/Resource.ts"
import { faultOfScopes, type ScopeDefinition, ScopeName, ScopeRegistry, signInScopes } from "../../core/rules/Scope.ts"
import { TrustedIssuer } from "../../core/rules/TrustedIssuer.ts"
import { Issuer, type Workspace, WorkspaceId } from "../../core/workspace/Workspace.ts"
import { type FileFault, readJson, readText } from "./JsonFile.ts"
import type { JsonLines } from "./JsonLines.ts"
import { durationOf, type Variable } from "./Variable.ts"

const falseWithout = Schema.Boolean.pipe(Schema.withDecodingDefaultKey(Effect.succeed(false)))

const texts = Schema.optionalKey(Schema.Array(Schema.String))

/** What the file holds. */
const File = Schema.Struct({
  resources: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({
        at: ResourceAddress,
        name: Schema.optionalKey(Schema.NonEmptyString.check(Schema.isMaxLength(200))),
        scopes: Schema.optionalKey(Schema.NonEmptyArray(ScopeName)),
        accessTokenFormat: Schema.optionalKey(AccessTokenFormat),
        accessTokenTtl: Schema.optionalKey(Schema.String)
      })
    ).check(Schema.isMaxLength(mostResources))
  ),
  scopes: Schema.optionalKey(
    Schema.NonEmptyArray(
      Schema.Struct({
        name: ScopeName,
        meaning: Schema.NonEmptyString,
        needsUser: falseWithout,
        byDefault: falseWithout,
        implies: Schema.optionalKey(Schema.Array(ScopeName))
      })
    )
  ),
  trustedIssuers: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({
        issuer: Schema.String,
        jwks: Schema.optionalKey(Schema.Unknown),
        jwksUri: Schema.optionalKey(Schema.String),
        clients: texts,
        scopes: texts,
        resources: texts,
        domains: texts,
        people: Schema.optionalKey(TrustedIssuer.fields.people),
        takes: TrustedIssuer.fields.takes
      })
    ).check(Schema.isMaxLength(50))
  )
})

/** What a workspace is told by it. */
export type Listed = Pick<Workspace, "resources" | "scopes" | "trustedIssuers">

type Lines = Pick<JsonLines, "lineOf">

const at = (line: number, why: string): Result.Result<never, string> => Result.fail(`line ${line}: ${why}`)

const scopesIn = (
  { lineOf }: Lines,
  scopes: ReadonlyArray<ScopeDefinition> | undefined
): Result.Result<ScopeRegistry | undefined, string> => {
  if (scopes === undefined) return Result.succeed(undefined)
  for (const index of scopes.keys()) {
    // Scopes imply ones that are named later, so of the whole list only what is wrong without those is told by its line.
    const twice = scopes.findIndex(({ name }) => name === scopes[index]?.name) < index
    if (twice) return at(lineOf(["scopes", index]), `the scope ${scopes[index]?.name} comes twice`)
  }
  const fault = faultOfScopes(scopes)
  if (fault !== undefined) return at(lineOf(["scopes"]), `the list of scopes ${fault}`)
  return Option.match(Schema.decodeUnknownOption(ScopeRegistry)(scopes), {
    onNone: () => at(lineOf(["scopes"]), "this is no list of scopes"),
    onSome: Result.succeed
  })
}

const life = durationOf("accessTokenTtl", 1000, standardPolicy.accessTtl)

const resourcesIn = (
  { lineOf }: Lines,
  resources: NonNullable<(typeof File.Type)["resources"]>,
  scopes: ScopeRegistry
): Result.Result<ReadonlyArray<ResourceDefinition>, string> => {
  const seen = new Set<string>()
  const all: Array<ResourceDefinition> = []
  for (const [index, { accessTokenTtl, name, ...one }] of resources.entries()) {
    const ttl = accessTokenTtl === undefined ? undefined : life.read(accessTokenTtl)
    if (ttl !== undefined && Option.isNone(ttl)) {
      return at(lineOf(["resources", index, "accessTokenTtl"]), `accessTokenTtl has to be ${life.expected}`)
    }
    const definition = {
      ...one,
      name: name ?? new URL(one.at).host,
      ...(ttl === undefined ? {} : { accessTokenTtl: ttl.value })
    }
    const strange = strangeScope(definition, scopes)
    if (strange !== undefined) {
      return at(lineOf(["resources", index, "scopes"]), `${strange} is none of the scopes that there are`)
    }
    if (seen.has(resourceOf(definition))) return at(lineOf(["resources", index]), `${one.at} comes twice`)
    seen.add(resourceOf(definition))
    all.push(definition)
  }
  return Result.succeed(all)
}

const whyNot: Readonly<Record<BadIssuer["reason"], string>> = {
  malformed: "has to have https addresses, clients by id or https address, and domains such as acme.example",
  keys: "has to have jwks, with public keys alone, or a jwksUri",
  scopes: "has scopes that are none of those that there are",
  resources: "has resources that do not stand in this file",
  trusted: "comes twice",
  full: "is one more than there can be"
}

/** Held to the APIs and scopes of the file. */
const issuersIn = (
  { lineOf }: Lines,
  issuers: NonNullable<(typeof File.Type)["trustedIssuers"]>,
  resources: ReadonlyArray<ResourceDefinition>,
  scopes: ScopeRegistry
): Result.Result<ReadonlyArray<TrustedIssuer>, string> => {
  const all: Array<TrustedIssuer> = []
  for (const [index, typed] of issuers.entries()) {
    const read = readIssuer(typed, { ...placeless, resources }, scopes)
    const wrong = (reason: BadIssuer["reason"]) =>
      at(lineOf(["trustedIssuers", index]), `the issuer ${index + 1} ${whyNot[reason]}`)
    if (Result.isFailure(read)) return wrong(read.failure.reason)
    if (all.some(({ issuer }) => issuer === read.success.issuer)) return wrong("trusted")
    all.push(read.success)
  }
  return Result.succeed(all)
}

/** The file is read before the server knows its issuer, whose address no resource of an issuer is. */
const placeless = { id: WorkspaceId.make("file"), issuer: Issuer.make("https://server.invalid"), name: "file" }

const faultText = (fault: FileFault | undefined): string => {
  const { line, says = "the file is wrong" } = fault ?? {}
  return line === undefined ? says : `line ${line}: ${says}`
}

/** Reads the text of such a file; what is wrong is told by its line. */
export const readListed = (text: string): Result.Result<Listed, string> =>
  Result.gen(function* () {
    const read = yield* Result.mapError(readJson(File, text), ([first]) => faultText(first))
    const { resources: typedResources = [], scopes: typedScopes, trustedIssuers: typed = [] } = read.value
    const scopes = yield* scopesIn(read, typedScopes)
    const resources = yield* resourcesIn(read, typedResources, scopes ?? signInScopes)
    const trustedIssuers = yield* issuersIn(read, typed, resources, scopes ?? signInScopes)
    return {
      ...(resources.length === 0 ? {} : { resources }),
      ...(scopes === undefined ? {} : { scopes }),
      ...(trustedIssuers.length === 0 ? {} : { trustedIssuers })
    }
  })

const readFile = (path: string): Result.Result<Listed, string> =>
  Result.flatMap(Result.mapError(readText(path), faultText), readListed)

/** The variable that names the file. */
export const resourcesVariable: Variable<Listed> = {
  name: "RESOURCES",
  expected: 'a file of JSON with "resources", "scopes" and "trustedIssuers"',
  read: (path) => Result.getSuccess(readFile(path)),
  wrong: (path) => Option.getOrUndefined(Result.getFailure(readFile(path))),
  fallback: {}
}
