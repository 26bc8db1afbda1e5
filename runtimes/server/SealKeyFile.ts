import { randomBytes } from "node:crypto"
import { closeSync, fsyncSync, linkSync, mkdirSync, openSync, readFileSync, rmSync, statSync, writeSync } from "node:fs"
import { dirname } from "node:path"
import { Effect, Redacted, Result, Schema } from "effect"
import { base64Url } from "../../core/rules/Base64Url.ts"
import { type KeyRing, parseKeyRing, sealKeyLength } from "../../core/token/KeyRing.ts"

/** The keys are there and can't be used, or can't be made. `message` says what to do. */
export class SealKeysRefused extends Schema.TaggedError<SealKeysRefused>()("SealKeysRefused", {
  message: Schema.String
}) {}

export interface FoundKeys {
  readonly ring: KeyRing
  readonly made: boolean
}

export const newSealKey = (): Redacted.Redacted<string> =>
  Redacted.make(base64Url(randomBytes(sealKeyLength)), { label: "seal key" })

export const sealKeyFileOf = (databasePath: string): string => `${databasePath}.keys`

const ownerOnly = 0o600

const codeOf = (thrown: unknown): string =>
  // Errors of the system carry their code beside what the language knows of them.
  thrown instanceof Error && "code" in thrown ? String(thrown.code) : ""

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
    if (codeOf(thrown) === "EEXIST") return false
    throw thrown
  } finally {
    rmSync(draft, { force: true })
  }
}

const readFile = (path: string): Result.Result<KeyRing, SealKeysRefused> => {
  const text = Redacted.make(readFileSync(path, "utf8").trim(), { label: "seal keys" })
  return Result.mapError(
    parseKeyRing(text),
    ({ message }) =>
      new SealKeysRefused({ message: `${path} holds no seal keys: ${message}. Restore it from a backup.` })
  )
}

/** The keys in the file, made there by the first who asks. */
export const sealKeysIn = (path: string): Effect.Effect<FoundKeys, SealKeysRefused> =>
  Effect.try({
    try: () => {
      const made = statSync(path, { throwIfNoEntry: false }) === undefined && makeFile(path)
      return Result.map(readFile(path), (ring) => ({ ring, made }))
    },
    catch: (thrown) =>
      new SealKeysRefused({
        message: `the seal keys can't be kept in ${path}: ${codeOf(thrown) || "unknown failure"}. Set SEAL_KEYS, or make the folder writable.`
      })
  }).pipe(Effect.flatMap(Effect.fromResult))
