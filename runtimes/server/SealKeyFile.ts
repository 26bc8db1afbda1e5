import { randomBytes } from "node:crypto"
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync
} from "node:fs"
import { dirname } from "node:path"
import { Effect, Option, Redacted, Result, Schema } from "effect"
import { base64Url } from "../../core/codec/Base64Url.ts"
import { type KeyRing, parseKeyRing, sealKeyLength } from "../../core/token/KeyRing.ts"
import { systemCode } from "../serve/defect.ts"
import type { Settings } from "./Settings.ts"

/** The keys are there and can't be used, or can't be made. `message` says what to do. */
export class SealKeysRefused extends Schema.TaggedError<SealKeysRefused>()("SealKeysRefused", {
  message: Schema.String
}) {}

interface FoundKeys {
  readonly ring: KeyRing
  readonly made: boolean
}

export const newSealKey = (): Redacted.Redacted<string> =>
  Redacted.make(base64Url(randomBytes(sealKeyLength)), { label: "seal key" })

export const sealKeyFileOf = (databasePath: string): string => `${databasePath}.keys`

const ownerOnly = 0o600

const synced = (path: string, flags: string, write: (file: number) => void): void => {
  const file = openSync(path, flags, ownerOnly)
  try {
    write(file)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** Whole or not at all, and never over another: of two processes that start at once, both read what the first made. */
const makeFile = (path: string): boolean => {
  const folder = dirname(path)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const draft = `${path}.${randomBytes(6).toString("hex")}`
  try {
    synced(draft, "wx", (file) => writeSync(file, `${Redacted.value(newSealKey())}\n`))
    linkSync(draft, path)
    if (process.platform !== "win32") synced(folder, "r", () => undefined)
    return true
  } catch (thrown) {
    if (systemCode(thrown) === "EEXIST") return false
    throw thrown
  } finally {
    rmSync(draft, { force: true })
  }
}

const refused = (trouble: string, thrown: unknown, advice: string): SealKeysRefused =>
  new SealKeysRefused({ message: `${trouble}: ${systemCode(thrown) ?? "unknown failure"}. ${advice}` })

/** Keys that are there are never given up for others: new keys would sign all people out. */
const unreadable = (path: string, thrown: unknown): SealKeysRefused =>
  refused(
    `the seal keys in ${path} can't be read`,
    thrown,
    "Give the file and its folder back to the user that the server runs as."
  )

const isThere = (path: string): Effect.Effect<boolean, SealKeysRefused> =>
  Effect.try({
    try: () => statSync(path, { throwIfNoEntry: false }) !== undefined,
    catch: (thrown) => unreadable(path, thrown)
  })

const make = (path: string): Effect.Effect<boolean, SealKeysRefused> =>
  Effect.try({
    try: () => makeFile(path),
    catch: (thrown) =>
      refused(
        `the seal keys can't be kept in ${path}`,
        thrown,
        "Make the folder writable for the user that the server runs as, or set SEAL_KEYS."
      )
  })

const readFile = (path: string): Effect.Effect<KeyRing, SealKeysRefused> =>
  Effect.try({
    try: () => Redacted.make(readFileSync(path, "utf8").trim(), { label: "seal keys" }),
    catch: (thrown) => unreadable(path, thrown)
  }).pipe(
    Effect.flatMap((text) => Effect.fromResult(parseKeyRing(text))),
    Effect.catchTag("BadSealKey", ({ message }) =>
      Effect.fail(new SealKeysRefused({ message: `${path} holds no seal keys: ${message}. Restore it from a backup.` }))
    )
  )

/** The keys in the file, made there by the first who asks. */
export const sealKeysIn = Effect.fnUntraced(function* (path: string): Effect.fn.Return<FoundKeys, SealKeysRefused> {
  const made = !(yield* isThere(path)) && (yield* make(path))
  return { ring: yield* readFile(path), made }
})

/** Other keys would end what applications hold, and these throw away what is refused. So they are the operator's to make. */
export const restoreKeys = (path: string): string =>
  `Restore it from a backup, or set SEAL_KEYS as it was. If the keys are lost, run: (umask 077; tessera seal-keys new > ${path}). Everybody has to sign in to their applications again then.`

export interface SealKeys {
  readonly ring: KeyRing
  /** Where they are, for people to read. */
  readonly place: string
  /** They were not there before. */
  readonly made: boolean
}

export const findSealKeys = (settings: Settings): Effect.Effect<SealKeys, SealKeysRefused> => {
  if (Option.isSome(settings.sealKeys)) {
    return Effect.succeed({ ring: settings.sealKeys.value, place: "SEAL_KEYS", made: false })
  }
  const { file } = settings.database
  if (file === undefined) {
    // What this process keeps in memory goes with it, so its keys may too. For shared stores the settings insist on keys.
    return Effect.sync(() => ({
      ring: Result.getOrThrow(parseKeyRing(newSealKey())),
      place: "this process's memory",
      made: true
    }))
  }
  const path = sealKeyFileOf(file)
  return Effect.gen(function* () {
    // The database first: who makes both makes the keys before it.
    if (existsSync(file) && !(yield* isThere(path))) {
      return yield* new SealKeysRefused({ message: `${path} is missing, and ${file} is there. ${restoreKeys(path)}` })
    }
    return { ...(yield* sealKeysIn(path)), place: path }
  })
}

/** The mode of the keys' file, in octal, where others than its owner may read it. */
export const modeForOthers = ({ mode }: { readonly mode: number }): string | undefined =>
  process.platform !== "win32" && (mode & 0o077) !== 0 ? (mode & 0o777).toString(8) : undefined

/** A start goes on: the file was read, and who is to read it besides, the operator may have said on purpose. */
export const warnOfReaders = ({ database: { file }, sealKeys }: Settings): Effect.Effect<void> =>
  Effect.suspend(() => {
    if (file === undefined || Option.isSome(sealKeys)) return Effect.void
    const path = sealKeyFileOf(file)
    const found = statSync(path, { throwIfNoEntry: false })
    const mode = found === undefined ? undefined : modeForOthers(found)
    return mode === undefined
      ? Effect.void
      : Effect.logWarning(`the seal keys in ${path} can be read by others (mode ${mode}). Run: chmod 600 ${path}`)
  })
