import { Effect, Layer, Redacted, Result, Schema } from "effect"
import type { Storage, StorageScan } from "../core/ports/Storage.ts"

/** The store is unusable, or outdated until it is migrated. `message` holds no password. */
export class StorageRefused extends Schema.TaggedError<StorageRefused>()("StorageRefused", {
  reason: Schema.Literals(["unusable", "outdated"]),
  message: Schema.String
}) {}

/** Options of a store that the caller sets beside its URL. */
export interface Opening {
  /** Milliseconds within which every call is answered. Default: the store's own deadline. */
  readonly deadline?: number | undefined
  /** `check`: an outdated store is refused unchanged, whatever its URL says. */
  readonly migrations?: "check"
}

/** Migrations by hand. */
interface Migrator {
  /** Whether a server's start migrates too. */
  readonly atStart: boolean
  readonly plan: Effect.Effect<
    { readonly pending: ReadonlyArray<string>; readonly sql: string },
    { readonly message: string }
  >
  readonly run: Effect.Effect<ReadonlyArray<string>, { readonly message: string }>
}

/** The store that a URL names. */
export interface Store {
  readonly kind: StoreKind
  /** Shown to operators; holds no password. */
  readonly described: string
  /** Equal for two URLs of one store. */
  readonly location: string
  /** The store's file, if it is one: seal keys lie beside it. */
  readonly file?: string
  readonly open: (opening: Opening) => Layer.Layer<Storage | StorageScan, StorageRefused>
  readonly migrate?: (opening: Opening) => Migrator
}

/** A kind of store: a row of the table in `stores.ts`. No row loads a driver before its store is opened. */
export interface StoreKind {
  readonly schemes: ReadonlyArray<string>
  /** An example of its URLs, for the error on an unknown one. */
  readonly looks: string
  /** Whether processes on several machines can share it; they then need the same seal keys. */
  readonly shared: boolean
  /** Whether other processes, and later ones, see its records. */
  readonly lasts: boolean
  /** The entry of the package, `tessera/storage/NAME`. */
  readonly entry?: string
  /** The package that a host installs for it. */
  readonly driver?: string
  /** The error never repeats the URL, which may hold a password. */
  readonly at: (url: string) => Result.Result<Store, string>
}

const isMissing = (thrown: unknown, driver: string | undefined): boolean =>
  driver !== undefined &&
  thrown instanceof Error &&
  "code" in thrown &&
  thrown.code === "ERR_MODULE_NOT_FOUND" &&
  thrown.message.includes(`'${driver}'`)

/** Loads an adapter, whose driver the package of ours does not bring. */
export const loadAdapter = <A>(
  described: string,
  driver: string | undefined,
  load: () => Promise<A>
): Effect.Effect<A, StorageRefused> =>
  Effect.tryPromise({ try: load, catch: (thrown) => thrown }).pipe(
    Effect.catch((thrown) =>
      isMissing(thrown, driver)
        ? Effect.fail(
            new StorageRefused({
              reason: "unusable",
              message: `${described}: the package ${driver} is not installed; run: npm install ${driver}`
            })
          )
        : Effect.die(thrown)
    )
  )

/** Loads an adapter and opens its store. Adapters write their messages for operators. */
export const openLazily = <E extends { readonly _tag: string; readonly message: string }>(
  described: string,
  load: () => Promise<Layer.Layer<Storage | StorageScan, E>>,
  driver?: string
): Layer.Layer<Storage | StorageScan, StorageRefused> =>
  Layer.unwrap(
    Effect.map(loadAdapter(described, driver, load), (opened) =>
      Layer.catch(opened, ({ _tag, message }) =>
        Layer.effectContext(
          Effect.fail(
            new StorageRefused({
              reason: _tag === "MigrationsPending" ? "outdated" : "unusable",
              message: `${described}: ${message}`
            })
          )
        )
      )
    )
  )

export interface Parameter<A> {
  readonly expected: string
  readonly read: (text: string) => A | undefined
}

export const wordOf = <const Word extends string>(...words: ReadonlyArray<Word>): Parameter<Word> => ({
  expected: words.join(" or "),
  read: (text) => words.find((word) => word === text)
})

export const switchOf: Parameter<boolean> = {
  expected: "true or false",
  read: (text) => (text === "true" ? true : text === "false" ? false : undefined)
}

export const countOf = (least: number, most: number): Parameter<number> => ({
  expected: `a whole number from ${least} to ${most}`,
  read: (text) => (/^\d{1,9}$/.test(text) && Number(text) >= least && Number(text) <= most ? Number(text) : undefined)
})

export const textOf = (expected: string, pattern: RegExp): Parameter<string> => ({
  expected,
  read: (text) => (pattern.test(text) ? text : undefined)
})

type Parameters = Readonly<Record<string, Parameter<unknown>>>
type Given<P extends Parameters> = { readonly [name in keyof P]?: P[name] extends Parameter<infer A> ? A : never }

/** Parses a query. Unknown, repeated and invalid parameters are refused, because a typo must not be ignored. */
export const readParameters = <P extends Parameters>(query: string, known: P): Result.Result<Given<P>, string> => {
  const given: Record<string, unknown> = {}
  for (const [name, text] of new URLSearchParams(query)) {
    const parameter = Object.hasOwn(known, name) ? known[name] : undefined
    if (parameter === undefined) {
      // After an unencoded ? in a password, the rest of the password is read as a parameter.
      return Result.fail(
        query.includes("@")
          ? "has an unknown parameter: write %3F for a ? in the password"
          : `has the unknown parameter ${name}`
      )
    }
    if (Object.hasOwn(given, name)) return Result.fail(`has the parameter ${name} twice`)
    const value = parameter.read(text)
    if (value === undefined) return Result.fail(`has a parameter ${name} that is not ${parameter.expected}`)
    given[name] = value
  }
  // Each value was read by the parameter of its name.
  return Result.succeed(given as Given<P>)
}

const host = /^(?:\[[0-9a-f:.]+\]|[^:@,[\]]*)(?::\d+)?$/i

/**
 * A URL without its password and options. An unencoded `?`, `#`, `/` or `@` in a password makes pieces of it look
 * like other parts; then only the scheme is shown.
 */
export const withoutSecrets = (url: Redacted.Redacted<string>): string => {
  const text = Redacted.value(url)
  const [, scheme = "", hosts = "", path = ""] =
    /^([a-z+]+):\/\/(?:[^@/?#]*@)?([^@/?#]*)(\/[^@?#]*)?(?:\?[^@#]*)?$/.exec(text) ?? []
  const isWhole = scheme !== "" && hosts.split(",").every((one) => host.test(one))
  return isWhole ? `${scheme}://${hosts}${path}` : `${/^[a-z+]*/.exec(text)?.[0] ?? ""}://…`
}
