import { Effect, type Exit, Layer, Option } from "effect"
import { coalesce } from "../../adapters/batching/coalesce.ts"
import { layer } from "../../adapters/memory/Memory.ts"
import { Conflict, type NewRecord, Storage, type StorageUnavailable } from "../../core/ports/Storage.ts"

type Verbs = Storage["Service"]

interface Replacement {
  readonly expected: number
  readonly record: NewRecord
}

type Answers = ReadonlyArray<Exit.Exit<void, Conflict | StorageUnavailable>>
type SendBatch = (sound: Verbs, batch: ReadonlyArray<Replacement>) => Effect.Effect<Answers>

const inOrder = (
  batch: ReadonlyArray<Replacement>,
  one: (replacement: Replacement) => Effect.Effect<void, Conflict | StorageUnavailable>
): Effect.Effect<Answers> => Effect.forEach(batch, (replacement) => Effect.exit(one(replacement)))

/** A swap that goes by a rule of its own about the version, in place of "the same". */
const where =
  (mayReplace: (stored: number, expected: number, batch: ReadonlyArray<Replacement>) => boolean): SendBatch =>
  (sound, batch) =>
    inOrder(batch, ({ expected, record }) =>
      Effect.flatMap(sound.get(record), (found) => {
        const stored = Option.getOrUndefined(found)?.version
        const may = stored !== undefined && mayReplace(stored, expected, batch)
        return may ? sound.replace(stored, record) : new Conflict()
      })
    )

const soundly: SendBatch = (sound, batch) => inOrder(batch, ({ expected, record }) => sound.replace(expected, record))

/** Batches as an author of an adapter might send them after a quick look at the port. */
export const hastyBatches: Readonly<Record<string, SendBatch>> = {
  "looks at no version": where(() => true),
  "takes every version that is not newer": where((stored, expected) => stored >= expected),
  "takes every version that is not older": where((stored, expected) => stored <= expected),
  "takes what any of the batch expects": where((stored, _, batch) => batch.some(({ expected }) => expected === stored)),
  "answers as its first replacement was answered": (sound, batch) =>
    Effect.map(soundly(sound, batch), (answers) => answers.flatMap(() => answers.slice(0, 1))),
  "gives the answers in the order of the ids": (sound, batch) => {
    const sorted = [...batch].sort((a, b) => (a.record.id < b.record.id ? -1 : 1))
    return soundly(sound, sorted)
  },
  "looks records up by their id alone": (sound, batch) => {
    const byId = new Map<string, NewRecord>()
    for (const { record } of batch) if (!byId.has(record.id)) byId.set(record.id, record)
    return soundly(
      sound,
      batch.map(({ expected, record }) => ({
        expected,
        record: { ...record, ...keyOf(byId.get(record.id) ?? record) }
      }))
    )
  },
  "brings back what was removed": (sound, batch) =>
    inOrder(batch, ({ expected, record }) =>
      Effect.flatMap(sound.get(record), (found) =>
        Option.isSome(found) ? sound.replace(expected, record) : sound.insert(record)
      )
    ),
  "answers rightly and stores the body of another": (sound, batch) =>
    inOrder(batch, ({ expected, record }) =>
      sound.replace(expected, { ...record, body: batch[0]?.record.body ?? record.body })
    ),
  "brings back what was removed, and says that it did not": (sound, batch) =>
    inOrder(batch, ({ expected, record }) =>
      Effect.flatMap(sound.get(record), (found) =>
        Option.isSome(found)
          ? sound.replace(expected, record)
          : Effect.andThen(sound.insert(record), Effect.fail(new Conflict()))
      )
    ),
  "keeps the expiry that it finds": (sound, batch) =>
    inOrder(batch, ({ expected, record }) =>
      Effect.flatMap(sound.get(record), (found) =>
        sound.replace(expected, { ...record, expiresAt: Option.getOrUndefined(found)?.expiresAt ?? null })
      )
    ),
  "sends no more than its first hundred": (sound, batch) =>
    Effect.map(soundly(sound, batch.slice(0, 100)), (answers) => [
      ...answers,
      ...answers.slice(0, 1).flatMap((first) => batch.slice(100).map(() => first))
    ])
}

/** The same, where swaps of one record meet in a batch. */
export const hastyWithSwapsOfOne: Readonly<Record<string, SendBatch>> = {
  "goes by the versions from before the batch": (sound, batch) =>
    Effect.gen(function* () {
      const found = yield* Effect.orDie(Effect.forEach(batch, ({ record }) => sound.get(record)))
      return yield* inOrder(batch, ({ expected, record }) =>
        Effect.flatMap(sound.get(record), (now) => {
          const before = Option.getOrUndefined(found[batch.findIndex((one) => one.record === record)] ?? Option.none())
          return before?.version === expected && Option.isSome(now)
            ? sound.replace(now.value.version, record)
            : new Conflict()
        })
      )
    }),
  "takes the last for a record where any of them is right": (sound, batch) =>
    inOrder(batch, ({ record }) =>
      Effect.flatMap(sound.get(record), (found) => {
        const ofRecord = batch.filter((one) => isOf(record, one.record))
        const stored = Option.getOrUndefined(found)?.version
        const isTaken = ofRecord.at(-1)?.record === record && ofRecord.some(({ expected }) => expected === stored)
        return isTaken && stored !== undefined ? sound.replace(stored, record) : new Conflict()
      })
    ),
  "refuses all for a record where one of them is behind": (sound, batch) =>
    Effect.gen(function* () {
      const found = yield* Effect.orDie(Effect.forEach(batch, ({ record }) => sound.get(record)))
      const isBehind = ({ expected }: Replacement, at: number) =>
        expected < (Option.getOrUndefined(found[at] ?? Option.none())?.version ?? 0)
      const behind = batch.filter(isBehind)
      return yield* inOrder(batch, ({ expected, record }) =>
        behind.some((one) => isOf(record, one.record)) ? new Conflict() : sound.replace(expected, record)
      )
    })
}

const keyOf = ({ id, kind, workspace }: NewRecord) => ({ id, kind, workspace })

const isOf = (one: NewRecord, other: NewRecord) => JSON.stringify(keyOf(one)) === JSON.stringify(keyOf(other))

/** The store in memory, behind an adapter that sends swaps that meet as one batch; a lone one is sent rightly. */
export const batchedStranger = (sendBatch: SendBatch, second: "together" | "wait"): Layer.Layer<Storage> =>
  Layer.effect(
    Storage,
    Effect.gen(function* () {
      const sound = yield* Storage
      const send = yield* coalesce<Replacement, void, Conflict | StorageUnavailable>({
        run: (batch) => (batch.length === 1 ? soundly(sound, batch) : sendBatch(sound, batch)),
        ...(second === "wait"
          ? { same: { identity: ({ record }) => JSON.stringify(keyOf(record)), second: "wait" as const } }
          : {}),
        size: 1000,
        underWay: 1,
        within: 5000,
        late: () => new Conflict()
      })
      return { ...sound, replace: (expected, record) => send({ expected, record }) }
    })
  ).pipe(Layer.provide(layer))

export const soundBatches = soundly
