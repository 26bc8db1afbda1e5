import { Result, Schema } from "effect"
import { InvalidScope } from "./Refusal.ts"

/** RFC 6749 §3.3: printable ASCII without space, quote and backslash. */
const scopeName = /^[\x21\x23-\x5b\x5d-\x7e]{1,64}$/

export const ScopeName = Schema.String.check(Schema.isPattern(scopeName)).pipe(Schema.brand("ScopeName"))
export type ScopeName = typeof ScopeName.Type

export const isScopeName = (name: unknown): name is ScopeName => typeof name === "string" && scopeName.test(name)

/** Scopes that exist, each once, in the registry's order. Only a registry makes them from what a client asked. */
export const Scopes = Schema.Array(ScopeName)
  .check(Schema.makeFilter((names: ReadonlyArray<string>) => new Set(names).size === names.length))
  .pipe(Schema.brand("Scopes"))
export type Scopes = typeof Scopes.Type

export const ScopeDefinition = Schema.Struct({
  name: ScopeName,
  /** What it lets an application do, in words for the consent page: "Read and change your data". */
  meaning: Schema.NonEmptyString,
  /** Speaks of a person, so a grant without one cannot have it. */
  needsUser: Schema.Boolean,
  /** Granted where a client asks for none. */
  byDefault: Schema.Boolean
})
export type ScopeDefinition = typeof ScopeDefinition.Type

/** A client registers for so much (RFC 7591), and a token has to carry it. */
const longestScope = 2048

/** The scopes that a server knows. */
export const ScopeRegistry = Schema.NonEmptyArray(ScopeDefinition).check(
  Schema.makeFilter((scopes) => scopes.map(({ name }) => name).join(" ").length <= longestScope, {
    expected: `names of at most ${longestScope} characters together`
  })
)
export type ScopeRegistry = typeof ScopeRegistry.Type

export const standardScopes: ScopeRegistry = ScopeRegistry.make([
  {
    name: ScopeName.make("api"),
    meaning: "Read and change data through the API",
    needsUser: false,
    byDefault: true
  },
  { name: ScopeName.make("profile"), meaning: "See your name and email", needsUser: true, byDefault: false }
])

const pick = (registry: ScopeRegistry, wanted: (scope: ScopeDefinition) => boolean): Scopes => {
  const names: Array<ScopeName> = []
  for (const scope of registry) if (wanted(scope)) names.push(scope.name)
  // The registry's names are distinct and in its order, which is all that the brand says.
  return names as ReadonlyArray<ScopeName> as Scopes
}

export const allScopes = (registry: ScopeRegistry): Scopes => pick(registry, () => true)

/** Just these; `undefined` where there are none, or nobody knows one of them. */
export const scopesNamed = (registry: ScopeRegistry, names: ReadonlyArray<string>): Scopes | undefined => {
  const found = pick(registry, ({ name }) => names.includes(name))
  return found.length > 0 && isWithin(names, found) ? found : undefined
}

export const noScopes: Scopes = Scopes.make([])

/** What a machine without a person may have: of all, or of those that it registered for. */
export const scopesWithoutUser = (registry: ScopeRegistry, among?: ReadonlyArray<string>): Scopes =>
  pick(registry, ({ name, needsUser }) => !needsUser && (among === undefined || among.includes(name)))

export const isWithin = (inner: ReadonlyArray<string>, outer: ReadonlyArray<string>): boolean => {
  for (const name of inner) if (!outer.includes(name)) return false
  return true
}

/** RFC 6749 §3.3: the order says nothing and a repeat adds nothing. */
export const namesIn = (text: string): ReadonlyArray<string> => text.split(" ").filter((name) => name !== "")

/**
 * What a client gets for what it asked, out of what it may have: names that are not to be had are dropped beside
 * names that are; only such names is a refusal; no names at all means the default ones.
 */
export const grantScopes = (
  registry: ScopeRegistry,
  available: Scopes,
  asked: string | undefined
): Result.Result<Scopes, InvalidScope> => {
  const names = asked === undefined ? [] : namesIn(asked)
  const granted =
    names.length === 0
      ? pick(registry, (scope) => scope.byDefault && available.includes(scope.name))
      : pick(registry, (scope) => names.includes(scope.name) && available.includes(scope.name))
  return granted.length === 0 ? Result.fail(new InvalidScope({ reason: "none_to_be_had" })) : Result.succeed(granted)
}

/** RFC 6749 §6: a refresh may ask for less than was granted, never for more. Names nobody knows are dropped. */
export const narrowScopes = (
  registry: ScopeRegistry,
  granted: Scopes,
  asked: string | undefined
): Result.Result<Scopes, InvalidScope> => {
  const names = asked === undefined ? [] : namesIn(asked)
  if (names.length === 0) return Result.succeed(granted)
  const known = pick(registry, (scope) => names.includes(scope.name))
  if (known.length === 0) return Result.fail(new InvalidScope({ reason: "none_to_be_had" }))
  return isWithin(known, granted)
    ? Result.succeed(known)
    : Result.fail(new InvalidScope({ reason: "wider_than_granted" }))
}

/** The same scopes written in a token, read back. */
export const readScopes = (text: string): Result.Result<Scopes, Schema.SchemaError> => decodeScopes(namesIn(text))

const decodeScopes = Schema.decodeUnknownResult(Scopes)

export const formatScopes = (scopes: Scopes): string => {
  const [only] = scopes
  return only !== undefined && scopes.length === 1 ? only : scopes.join(" ")
}
