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
  byDefault: Schema.Boolean,
  /** An application with this one may do what these let it do: `api` implies `api:read`. */
  implies: Schema.optionalKey(Schema.Array(ScopeName))
})
export type ScopeDefinition = typeof ScopeDefinition.Type

/** A client registers for so much (RFC 7591), and a token has to carry it. */
const longestScope = 2048

/**
 * OpenID Connect Core §11: clients ask for it to get refresh tokens, which every client here gets that may refresh. So it
 * is taken and is in no grant; one of `openid` remembers it, to outlive its session.
 */
export const offlineAccess = "offline_access"

/** Why these cannot be the scopes of a server; `undefined` where they can. */
export const faultOfScopes = (scopes: ReadonlyArray<ScopeDefinition>): string | undefined => {
  const byName = new Map<string, ScopeDefinition>()
  for (const scope of scopes) {
    if (scope.name === offlineAccess) return `names ${offlineAccess}, which every server takes and no token has`
    if (byName.has(scope.name)) return `names ${scope.name} twice`
    byName.set(scope.name, scope)
  }
  if ([...byName.keys()].join(" ").length > longestScope) return `has names of more than ${longestScope} characters`
  for (const { implies = [], name } of scopes) {
    const stranger = implies.find((other) => !byName.has(other))
    if (stranger !== undefined) return `lets ${name} imply ${stranger}, which it does not name`
  }
  const reached = closuresOf(scopes)
  for (const { name, needsUser } of scopes) {
    const below = reached.get(name) ?? []
    if ([...below].some((other) => byName.get(other)?.implies?.includes(name))) return `lets ${name} imply itself`
    const personal = needsUser ? undefined : [...below].find((other) => byName.get(other)?.needsUser)
    if (personal !== undefined) return `lets ${name}, which needs no user, imply ${personal}, which does`
  }
  return undefined
}

/** For each scope, itself and all that it implies, however many steps away. */
const closuresOf = (scopes: ReadonlyArray<ScopeDefinition>): ReadonlyMap<string, ReadonlySet<string>> => {
  const implied = new Map<string, ReadonlyArray<string>>(scopes.map(({ implies = [], name }) => [name, implies]))
  const closure = (name: string): ReadonlySet<string> => {
    const found = new Set([name])
    // A set that grows is gone through to its new end, so a circle is met once.
    for (const one of found) for (const other of implied.get(one) ?? []) found.add(other)
    return found
  }
  return new Map([...implied.keys()].map((name) => [name, closure(name)]))
}

/** The scopes that a server knows. */
export const ScopeRegistry = Schema.NonEmptyArray(ScopeDefinition).check(
  Schema.makeFilter((scopes) => {
    const fault = faultOfScopes(scopes)
    return fault === undefined ? true : `a list of scopes that ${fault}`
  })
)
export type ScopeRegistry = typeof ScopeRegistry.Type

const closures = new WeakMap<ScopeRegistry, ReadonlyMap<string, ReadonlySet<string>> | null>()

/** `null` where no scope implies another, as in most registries. */
const closuresIn = (registry: ScopeRegistry): ReadonlyMap<string, ReadonlySet<string>> | null => {
  const known = closures.get(registry)
  if (known !== undefined) return known
  const found = registry.some(({ implies = [] }) => implies.length > 0) ? closuresOf(registry) : null
  closures.set(registry, found)
  return found
}

/** Whether scopes are enough for what is needed: each is there, or implied by one that is. */
export const reaches = (
  registry: ScopeRegistry,
  scope: ReadonlyArray<string>,
  needed: ReadonlyArray<string>
): boolean => {
  if (isWithin(needed, scope)) return true
  const closure = closuresIn(registry)
  return closure !== null && needed.every((name) => scope.some((one) => one === name || closure.get(one)?.has(name)))
}

/** What scopes imply beyond themselves. */
export const impliedBy = (registry: ScopeRegistry, scope: ReadonlyArray<string>): Scopes =>
  closuresIn(registry) === null
    ? noScopes
    : pick(registry, ({ name }) => !scope.includes(name) && reaches(registry, scope, [name]))

/** What of one set of scopes another one takes: what both reach, told by the widest names, or as it was granted. */
export const commonScopes = (registry: ScopeRegistry, granted: Scopes, taken: ReadonlyArray<string>): Scopes => {
  const isTaken = (name: ScopeName) => reaches(registry, taken, [name])
  if (granted.every(isTaken)) return granted
  const common = pick(registry, ({ name }) => isTaken(name) && reaches(registry, granted, [name]))
  const others = (name: ScopeName) => common.filter((other) => other !== name)
  return pick(
    registry,
    ({ name }) => common.includes(name) && (granted.includes(name) || !reaches(registry, others(name), [name]))
  )
}

export const standardScopes: ScopeRegistry = ScopeRegistry.make([
  {
    name: ScopeName.make("api"),
    meaning: "Read and change data through the API",
    needsUser: false,
    byDefault: true
  },
  { name: ScopeName.make("profile"), meaning: "See your name and email", needsUser: true, byDefault: false }
])

/** OpenID Connect Core §3.1.2.1: with it a request signs a person in, and without it nothing of OpenID Connect is met. */
export const openId = "openid"

/** The scopes of OpenID Connect, beside `profile`. */
export const openIdScopes: ReadonlyArray<ScopeDefinition> = [
  { name: ScopeName.make(openId), meaning: "Know you again when you sign in", needsUser: true, byDefault: false },
  { name: ScopeName.make("email"), meaning: "See your email address", needsUser: true, byDefault: false },
  { name: ScopeName.make("address"), meaning: "See your postal address", needsUser: true, byDefault: false },
  { name: ScopeName.make("phone"), meaning: "See your phone number", needsUser: true, byDefault: false }
]

/** Those of a server that signs, where no others are configured. */
export const signInScopes: ScopeRegistry = ScopeRegistry.make([...standardScopes, ...openIdScopes])

/** Whether a request or a token of these scopes signs a person in. */
export const signsIn = (scope: Scopes): boolean => scope.some((name) => name === openId)

/** Whether people can sign in by OpenID Connect. */
export const offersOpenId = (registry: ScopeRegistry): boolean => registry.some(({ name }) => name === openId)

/** Without `openid`, for a server that signs no ID tokens; a registry of nothing else stays as it is. */
export const withoutOpenId = (registry: ScopeRegistry): ScopeRegistry => {
  const [first, ...others] = registry.filter(({ name }) => name !== openId)
  return first === undefined || others.length + 1 === registry.length ? registry : [first, ...others]
}

/**
 * OpenID Connect Core §3.1.3.3: what resources take of scopes, and the sign-in beside it: an ID token is the client's,
 * whatever the access token is for. Where they take nothing, nothing is beside it.
 */
export const withSignIn = (registry: ScopeRegistry, granted: Scopes, taken: Scopes): Scopes =>
  taken.length === 0 || signsIn(taken) || !signsIn(granted)
    ? taken
    : pick(registry, ({ name }) => name === openId || taken.includes(name))

const pick = (registry: ScopeRegistry, wanted: (scope: ScopeDefinition) => boolean): Scopes => {
  const names: Array<ScopeName> = []
  for (const scope of registry) if (wanted(scope)) names.push(scope.name)
  // The registry's names are distinct and in its order, which is all that the brand says.
  return names as ReadonlyArray<ScopeName> as Scopes
}

export const allScopes = (registry: ScopeRegistry): Scopes => pick(registry, () => true)

/** Just these; `undefined` where there are none, or one of them is unknown. */
export const scopesNamed = (registry: ScopeRegistry, names: ReadonlyArray<string>): Scopes | undefined => {
  const found = pick(registry, ({ name }) => names.includes(name))
  return found.length > 0 && isWithin(names, found) ? found : undefined
}

/** The scopes that let a client use the API: those of OpenID Connect tell who a person is. */
export const apiScopes = (registry: ScopeRegistry): Scopes =>
  pick(registry, ({ name }) => !openIdScopes.some((scope) => scope.name === name))

export const noScopes: Scopes = Scopes.make([])

/** What a machine without a person may have: of all, or of those that it registered for. */
export const scopesWithoutUser = (registry: ScopeRegistry, among?: ReadonlyArray<string>): Scopes =>
  pick(registry, ({ name, needsUser }) => !needsUser && (among === undefined || among.includes(name)))

export const isWithin = (inner: ReadonlyArray<string>, outer: ReadonlyArray<string>): boolean => {
  for (const name of inner) if (!outer.includes(name)) return false
  return true
}

/** RFC 6749 §3.3: the order says nothing and a repeat adds nothing. */
export const namesIn = (text: string): ReadonlyArray<string> =>
  text.includes(" ") ? text.split(" ").filter((name) => name !== "") : text === "" ? [] : [text]

/** Whether what a client gets is left to the server. */
export const asksNoScope = (text: string | undefined): boolean => askedIn(text).length === 0

const askedIn = (text: string | undefined): ReadonlyArray<string> =>
  text === undefined ? [] : namesIn(text).filter((name) => name !== offlineAccess)

/**
 * What a client gets for what it asked, out of what it may have: names that are not to be had are dropped beside
 * names that are; only such names is a refusal; no names at all means the default ones.
 */
export const grantScopes = (
  registry: ScopeRegistry,
  available: Scopes,
  asked: string | undefined
): Result.Result<Scopes, InvalidScope> => {
  const names = askedIn(asked)
  const isToBeHad = (name: ScopeName) => available.includes(name) || reaches(registry, available, [name])
  const granted = pick(
    registry,
    ({ byDefault, name }) => (names.length === 0 ? byDefault : names.includes(name)) && isToBeHad(name)
  )
  return granted.length === 0 ? Result.fail(new InvalidScope({ reason: "none_to_be_had" })) : Result.succeed(granted)
}

/** RFC 6749 §6: a refresh may ask for less than was granted, never for more. Unknown names are dropped. */
export const narrowScopes = (
  registry: ScopeRegistry,
  granted: Scopes,
  asked: string | undefined
): Result.Result<Scopes, InvalidScope> => {
  const names = askedIn(asked)
  if (names.length === 0) return Result.succeed(granted)
  const known = pick(registry, (scope) => names.includes(scope.name))
  if (known.length === 0) return Result.fail(new InvalidScope({ reason: "none_to_be_had" }))
  return reaches(registry, granted, known)
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
