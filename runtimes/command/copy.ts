import { Config, Console, Context, Effect, Layer, Redacted, Result } from "effect"
import { Command, Flag } from "effect/cli"
import { type Copied, copy as copyRecords, type Progress, type Side } from "../../adapters/copy/copy.ts"
import type { Opening, Store } from "../../adapters/StoreKind.ts"
import { expectedUrl, readStoreUrl, StoreKinds } from "../../adapters/stores.ts"
import { Storage, StorageScan } from "../../core/ports/Storage.ts"
import { sealKeyFileOf } from "../server/SealKeyFile.ts"
import { readOpening } from "../server/StorageSettings.ts"
import { lookAt } from "./administration.ts"
import {
  type CommandFailed,
  examples,
  failed,
  json,
  misused,
  notFound,
  print,
  refused,
  switchFlag,
  table
} from "./output.ts"
import { bringUpToDate } from "./upkeep.ts"

const store = (side: "from" | "to", description: string) =>
  Flag.Redacted(side).pipe(
    Flag.withDescription(
      `${description}: ${expectedUrl()}. COPY_${side.toUpperCase()} in the environment does the same, and no other user of the machine sees its password`
    ),
    Flag.withFallbackConfig(Config.Redacted(`COPY_${side.toUpperCase()}`))
  )

const overwrite = switchFlag(
  "overwrite",
  "Make the target what the source is, even if that changes or removes what it holds"
)

interface Place {
  readonly store: Store
  readonly opening: Opening
}

const placeOf = Effect.fnUntraced(function* (
  side: "from" | "to",
  url: Redacted.Redacted<string>,
  opening: Opening
): Effect.fn.Return<Place, CommandFailed> {
  const read = readStoreUrl(Redacted.value(url), yield* StoreKinds)
  if (Result.isFailure(read)) return yield* misused(`--${side}: ${read.failure}`)
  const store = read.success
  if (!store.kind.lasts) return yield* misused(`--${side}: a process's memory is its own`)
  // A copy reads its source and changes nothing there, not even the form of its tables.
  return { store, opening: side === "from" ? { ...opening, migrations: "check" } : opening }
})

const opened = ({ opening, store }: Place) =>
  Effect.map(
    Layer.build(Layer.fresh(store.open(opening))),
    (services): Side => ({ storage: Context.get(services, Storage), scan: Context.get(services, StorageScan).scan })
  ).pipe(
    Effect.mapError(({ message, reason }) =>
      failed(reason === "outdated" ? `${message}. ${bringUpToDate(store, opening)}` : message)
    )
  )

const isThere = (path: string): Effect.Effect<boolean, CommandFailed> =>
  lookAt(path).pipe(
    Effect.map((found) => found !== undefined),
    Effect.mapError(({ message }) => failed(message))
  )

/** Tokens are sealed with keys that no store holds: without them, all people would have to sign in again. */
const advice = Effect.fnUntraced(function* (from: Place, to: Place) {
  const file = from.store.file === undefined ? undefined : sealKeyFileOf(from.store.file)
  // The copy is done by now: a file that can't be looked at does not undo it.
  const there = file !== undefined && (yield* Effect.orElseSucceed(isThere(file), () => false))
  const keys = there ? file : "the SEAL_KEYS of the servers there"
  const place = to.store.file === undefined ? "SEAL_KEYS" : `${sealKeyFileOf(to.store.file)} or SEAL_KEYS`
  return `The seal keys do not travel: what stands in ${keys} has to stand in ${place} before a server starts there.`
})

const progressOf = ({ kind, seen, written }: Progress) =>
  Console.error(`${kind}: ${seen} records, ${written} of them written`)

const report = (from: Place, to: Place, copied: ReadonlyArray<Copied>, keys: string): ReadonlyArray<string> => [
  `${from.store.described} -> ${to.store.described}`,
  "",
  ...table(
    ["KIND", "RECORDS", "WRITTEN", "DIGEST OF BOTH"],
    copied.map(({ kind, tally, written }) => [kind, `${tally.count}`, `${written}`, tally.digest.slice(0, 16)])
  ),
  "",
  "Both hold the same, by count and digest.",
  keys
]

export const copy = Command.make(
  "copy",
  {
    from: store("from", "Where the records are"),
    to: store("to", "Where they go"),
    overwrite,
    json
  },
  (given) =>
    Effect.gen(function* () {
      const opening = yield* Effect.mapError(readOpening, misused)
      const from = yield* placeOf("from", given.from, opening)
      const to = yield* placeOf("to", given.to, opening)
      if (from.store.location === to.store.location) return yield* misused("--from and --to are the same.")
      const { file } = from.store
      if (file !== undefined && !(yield* isThere(file))) {
        return yield* notFound(`There is no ${file}.`)
      }
      const copied = yield* copyRecords(yield* opened(from), yield* opened(to), {
        overwrite: given.overwrite,
        onProgress: progressOf
      }).pipe(
        Effect.catchTags({
          TargetDiffers: ({ message }) =>
            Effect.fail(refused(`${message} Say --overwrite if that may be lost, or choose another target.`)),
          CopyDiffers: ({ message }) => Effect.fail(failed(message)),
          SourceEmpty: ({ message }) => Effect.fail(notFound(message)),
          StorageUnavailable: ({ message }) => Effect.fail(failed(`${message}. Run it again: it goes on where it was.`))
        })
      )
      yield* print(
        given.json,
        copied.map(({ kind, tally, written }) => ({ kind, written, ...tally })),
        report(from, to, copied, yield* advice(from, to))
      )
    }).pipe(Effect.scoped)
).pipe(
  Command.withDescription(
    "Copy everything from one storage to another, verified by counts and digests. Stop the servers first: a code or refresh token that is spent at the source after it was copied would be good again at the target. A copy that was interrupted goes on where it was when it is run again"
  ),
  examples("tessera copy --from sqlite:./data/tessera.db --to postgres://tessera@db.internal/tessera")
)
