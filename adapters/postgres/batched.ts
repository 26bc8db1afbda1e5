import { Effect, Exit, Option } from "effect"
import {
  Conflict,
  type Kind,
  type NewRecord,
  type RecordKey,
  type StorageUnavailable,
  Taken
} from "../../core/ports/Storage.ts"
import { toKeyText } from "../records/KeyText.ts"
import { isRowsFault } from "./outcome.ts"
import {
  bodiesOf,
  expiriesOf,
  idsOf,
  knownExpiriesOf,
  knownVersionsOf,
  numberArray,
  ownersOf,
  recordOf,
  workspacesOf
} from "./rows.ts"
import { type Session, type Trouble, told } from "./Session.ts"
import { type Addition, byKey, type Found, type Replacement } from "./single.ts"
import { insertAndReplaceOf } from "./statements.ts"

type Answers<A, E> = ReadonlyArray<Exit.Exit<A, E | StorageUnavailable>>

/** A verb of the port, for one item or for several of one kind. */
export interface Verb<Item, A, E> {
  readonly writes: boolean
  readonly keyOf: (item: Item) => RecordKey
  readonly one: (item: Item, until: number) => Effect.Effect<A, E | StorageUnavailable>
  readonly several: (kind: Kind, items: ReadonlyArray<Item>, until: number) => Effect.Effect<Answers<A, E>, Trouble>
}

const nothing: Exit.Exit<Found> = Exit.succeed(Option.none())

/** One statement for several calls. `alone`: all are of one workspace, as the statements then require. */
export const makeBatched = ({ caches, read, statements, write }: Session, schema: string, alone: boolean) => {
  const where = (keys: ReadonlyArray<RecordKey>) => (alone ? toKeyText(keys[0]?.workspace ?? "") : workspacesOf(keys))

  const textOf = new Map<string, string>()
  /** Made for the few kinds that ever meet. */
  const insertAndReplaceText = (added: Kind, kind: Kind): string => {
    const kinds = `${added} ${kind}`
    const text = textOf.get(kinds) ?? insertAndReplaceOf(schema, added, kind)
    textOf.set(kinds, text)
    return text
  }

  /** All that is added is of one kind. No two items have one id, and nothing is added twice. */
  const insertAndReplace = (
    kind: Kind,
    items: ReadonlyArray<Addition>,
    until: number
  ): Effect.Effect<Answers<void, Taken | Conflict>, Trouble> => {
    const sorted = [...items].sort((a, b) => byKey(a.record, b.record))
    const records = sorted.map(({ record }) => record)
    const added = sorted.flatMap((one) => one.added).sort(byKey)
    const [first] = added
    if (first === undefined) return Effect.die(new Error("nothing is added"))
    const inserted = [workspacesOf(added), idsOf(added), ownersOf(added), expiriesOf(added), bodiesOf(added)]
    const versions = numberArray(sorted.map(({ expected }) => expected))
    const replaced = [workspacesOf(records), idsOf(records), versions, expiriesOf(records), bodiesOf(records)]
    const needs = JSON.stringify(sorted.map((one) => one.added.map(({ id }) => toKeyText(id))))
    const parameters = [...inserted, ...replaced, sorted.length, needs]
    return Effect.map(write(insertAndReplaceText(first.kind, kind), parameters, until), (rows) => {
      const isNew = new Set(rows.map(([id]) => id))
      const written = new Set(rows.map(([, n]) => sorted[Number(n) - 1]))
      return items.map((addition) => {
        const taken = addition.added.find(({ id }) => !isNew.has(toKeyText(id)))
        if (taken !== undefined) return Exit.fail(new Taken({ id: taken.id }))
        return written.has(addition) ? Exit.void : Exit.fail(new Conflict())
      })
    })
  }

  return {
    get: (kind: Kind, keys: ReadonlyArray<RecordKey>, until: number) => {
      const known = keys.map((key) => caches[kind]?.last(key))
      const parameters = [where(keys), idsOf(keys), keys.length, knownVersionsOf(known), knownExpiriesOf(known)]
      return Effect.map(read(statements[kind].getMany, parameters, until), (rows) => {
        const answers = keys.map(() => nothing)
        for (const row of rows) {
          const at = Number(row[0]) - 1
          const key = keys[at]
          if (key !== undefined) answers[at] = Exit.succeed(Option.some(recordOf(key, row, 1, caches[kind], known[at])))
        }
        return answers
      })
    },

    insert: (kind: Kind, records: ReadonlyArray<NewRecord>, until: number) => {
      const sorted = [...records].sort(byKey)
      const parameters = [where(sorted), idsOf(sorted), ownersOf(sorted), expiriesOf(sorted), bodiesOf(sorted)]
      return Effect.map(write(statements[kind].insertMany, parameters, until), (rows) => {
        // A batch has no two items of one id (`Verb`), so the id tells which were written.
        const written = new Set(rows.map(([id]) => id))
        return records.map(({ id }) => (written.has(toKeyText(id)) ? Exit.void : Exit.fail(new Conflict())))
      })
    },

    replace: (kind: Kind, replacements: ReadonlyArray<Replacement>, until: number) => {
      const sorted = [...replacements].sort((a, b) => byKey(a.record, b.record))
      const records = sorted.map(({ record }) => record)
      const versions = numberArray(sorted.map(({ expected }) => expected))
      const values = [idsOf(records), versions, expiriesOf(records), bodiesOf(records)]
      const parameters = [where(records), ...values, sorted.length]
      return Effect.map(write(statements[kind].replaceMany, parameters, until), (rows) => {
        const written = new Set(rows.map(([n]) => sorted[Number(n) - 1]))
        return replacements.map((replacement) => (written.has(replacement) ? Exit.void : Exit.fail(new Conflict())))
      })
    },

    insertAndReplace,

    insertAndReplaceOne: (item: Addition, until: number): Effect.Effect<void, Taken | Conflict | StorageUnavailable> =>
      Effect.flatMap(
        Effect.mapError(insertAndReplace(item.record.kind, [item], until), told(true)),
        ([answer]) => answer ?? unanswered
      )
  }
}

/** Whether one statement can tell what becomes of each of these. */
export const areApart = (items: ReadonlyArray<Addition>): boolean => {
  const added = items.flatMap((one) => one.added)
  return new Set(added.map(({ id }) => id)).size === added.length && new Set(added.map(({ kind }) => kind)).size === 1
}

export const apart = <Item, A, E>(
  verb: Verb<Item, A, E>,
  items: ReadonlyArray<Item>,
  until: number
): Effect.Effect<Answers<A, E>> =>
  Effect.forEach(items, (item) => Effect.exit(verb.one(item, until)), { concurrency: "unbounded" })

/** Sends one statement. If one row may have made it fail, and nothing was written, each item is sent alone. */
export const sendBatch = <Item, A, E>(
  verb: Verb<Item, A, E>,
  kind: Kind,
  items: ReadonlyArray<Item>,
  until: number
): Effect.Effect<Answers<A, E>, StorageUnavailable> =>
  items.length === 1 && items[0] !== undefined
    ? Effect.map(Effect.exit(verb.one(items[0], until)), (exit) => [exit])
    : verb.several(kind, items, until).pipe(
        Effect.catchIf(
          (trouble) => trouble._tag === "Unanswered" && isRowsFault(trouble.failure),
          () => apart(verb, items, until)
        ),
        Effect.mapError(told(verb.writes))
      )

/** The same with one statement for each workspace. */
export const sendBatchPerWorkspace = <Item, A, E>(
  verb: Verb<Item, A, E>,
  kind: Kind,
  items: ReadonlyArray<Item>,
  until: number
): Effect.Effect<Answers<A, E>> => {
  const groups = new Map<string, Array<Item>>()
  for (const item of items) {
    const { workspace } = verb.keyOf(item)
    const group = groups.get(workspace)
    if (group === undefined) groups.set(workspace, [item])
    else group.push(item)
  }
  const answers = new Map<Item, Exit.Exit<A, E | StorageUnavailable>>()
  const sendGroup = (group: ReadonlyArray<Item>) =>
    Effect.map(Effect.exit(sendBatch(verb, kind, group, until)), (exit) => {
      for (const [i, item] of group.entries()) {
        answers.set(item, Exit.isFailure(exit) ? Exit.failCause(exit.cause) : (exit.value[i] ?? unanswered))
      }
    })
  return Effect.map(Effect.forEach(groups.values(), sendGroup, { concurrency: "unbounded", discard: true }), () =>
    items.map((item) => answers.get(item) ?? unanswered)
  )
}

const unanswered = Exit.die(new Error("a call was left without an answer"))
