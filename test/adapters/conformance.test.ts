import { describe, expect, test } from "bun:test"
import { Effect, Layer, Option } from "effect"
import { layer } from "../../adapters/memory/Memory.ts"
import {
  Conflict,
  forEachKind,
  type Kind,
  kinds,
  type NewRecord,
  type RecordKey,
  Storage,
  StorageUnavailable,
  type StoredRecord,
  Taken
} from "../../core/ports/Storage.ts"
import { storageLaws } from "../../core/testing/StorageConformance.ts"
import { batchedStranger, hastyBatches, hastyWithSwapsOfOne, soundBatches } from "./batchedStranger.ts"
import { seed } from "./seed.ts"

type Verbs = Storage["Service"]

/** A store with one fault, over the one in memory. */
const faulty = (fault: (sound: Verbs) => Partial<Verbs>): Layer.Layer<Storage> =>
  Layer.effect(
    Storage,
    Effect.map(Storage, (sound) => ({ ...sound, ...fault(sound) }))
  ).pipe(Layer.provide(layer))

const changed = (change: (record: StoredRecord) => StoredRecord) => (sound: Verbs) => ({
  get: (key: Parameters<Verbs["get"]>[0]) => Effect.map(sound.get(key), Option.map(change))
})

const put = (sound: Verbs, record: NewRecord) => Effect.andThen(sound.remove(record), sound.insert(record))

const millisecondsNow = Effect.clockWith((clock) => clock.currentTimeMillis)

const leaping =
  (sound: Verbs): Verbs["replace"] =>
  (expected, record) =>
    Effect.gen(function* () {
      const found = Option.getOrUndefined(yield* sound.get(record))
      if (found?.version !== expected) return yield* new Conflict()
      yield* Effect.yieldNow
      const now = Option.getOrUndefined(yield* sound.get(record))
      if (now !== undefined) yield* sound.replace(now.version, record)
    })

const atAnyVersion =
  (sound: Verbs): Verbs["replace"] =>
  (_, record) =>
    Effect.flatMap(sound.get(record), (found) =>
      Option.isSome(found) ? sound.replace(found.value.version, record) : new Conflict()
    )

const faults: Readonly<Record<string, (sound: Verbs) => Partial<Verbs>>> = {
  "an insert that overwrites": (sound) => ({ insert: (record) => put(sound, record) }),
  "an insert that looks before it leaps": (sound) => ({
    insert: (record) =>
      Effect.gen(function* () {
        if (Option.isSome(yield* sound.get(record))) return yield* new Conflict()
        yield* Effect.yieldNow
        yield* put(sound, record)
      })
  }),
  "a replace that looks before it leaps": (sound) => ({
    replace: leaping(sound)
  }),
  "a replace at any version": (sound) => ({
    replace: atAnyVersion(sound)
  }),
  "a replace that makes what is not there": (sound) => ({
    replace: (expected, record) =>
      Effect.flatMap(sound.get(record), (found) =>
        Option.isSome(found) ? sound.replace(expected, record) : sound.insert(record)
      )
  }),
  "a replace that keeps the old expiry": (sound) => ({
    replace: (expected, record) =>
      Effect.flatMap(sound.get(record), (found) =>
        sound.replace(expected, { ...record, expiresAt: Option.getOrUndefined(found)?.expiresAt ?? null })
      )
  }),
  "a page that holds a hundred at most and says that it is the last": (sound) => ({
    list: (listing) =>
      Effect.map(sound.list({ ...listing, limit: Math.min(listing.limit, 100) }), (page) =>
        listing.limit > 100 ? { ...page, next: undefined } : page
      )
  }),
  "a lost write among many": (sound) => {
    let count = 0
    return { insert: (record) => (++count % 97 === 0 ? Effect.void : sound.insert(record)) }
  },
  "one answer for a whole batch": (sound) => ({
    replace: (expected, record) => Effect.catchTag(sound.replace(expected, record), "Conflict", () => Effect.void)
  }),
  "one answer for all who ask for one id at once": (sound) => {
    const asked = new Map<string, RecordKey>()
    return {
      get: (key) =>
        Effect.gen(function* () {
          const first = asked.get(key.id) ?? key
          asked.set(key.id, first)
          yield* Effect.yieldNow
          asked.delete(key.id)
          const found = yield* sound.get(first)
          return Option.map(found, (record) => ({ ...record, workspace: key.workspace, kind: key.kind }))
        })
    }
  },
  "a remove of what is not there that complains": (sound) => ({
    remove: (key) =>
      Effect.flatMap(sound.get(key), (found) => (Option.isSome(found) ? sound.remove(key) : Effect.die("not there")))
  }),
  "kinds that share their ids": (sound) => ({
    insert: (record) => sound.insert({ ...record, kind: "grant" }),
    get: (key) =>
      Effect.map(
        sound.get({ ...key, kind: "grant" }),
        Option.map((found) => ({ ...found, kind: key.kind }))
      )
  }),
  "lists over all owners that begin alike": (sound) => ({
    list: (listing) => sound.list({ ...listing, owner: listing.owner.toLowerCase() })
  }),
  "lists in the order of code points": (sound) => ({
    list: (listing) =>
      Effect.map(sound.list({ ...listing, limit: 1000, after: undefined }), ({ records }) => {
        const inOrder = [...records]
          .sort((a, b) => Buffer.compare(Buffer.from(a.id), Buffer.from(b.id)))
          .filter(({ id }) => listing.after === undefined || id > listing.after)
        const page = inOrder.slice(0, listing.limit)
        return { records: page, next: inOrder.length > page.length ? page.at(-1)?.id : undefined }
      })
  }),
  "pages that begin with the last record of the one before": (sound) => ({
    list: (listing) =>
      Effect.gen(function* () {
        const page = yield* sound.list(listing)
        if (listing.after === undefined) return page
        const last = yield* sound.get({ ...listing, id: listing.after })
        return Option.isSome(last) ? { ...page, records: [last.value, ...page.records].slice(0, listing.limit) } : page
      })
  }),
  "a store that is away now and then": (sound) => {
    let count = 0
    const away = new StorageUnavailable({ outcome: "not_done", message: "away" })
    return { get: (key) => (++count % 97 === 0 ? Effect.fail(away) : sound.get(key)) }
  },
  "a last page that promises another": (sound) => ({
    list: (listing) => Effect.map(sound.list(listing), (page) => ({ ...page, next: page.records.at(-1)?.id }))
  }),
  "a limit that is not kept": (sound) => ({ list: (listing) => sound.list({ ...listing, limit: listing.limit + 1 }) }),
  "a sweep without its limit": (sound) => ({ sweep: (before) => sound.sweep(before, 1000) }),
  "a sweep that spares what expires that moment": (sound) => ({
    sweep: (before, limit) => sound.sweep(before - 1, limit)
  }),
  "a sweep that takes too much": (sound) => ({ sweep: (before, limit) => sound.sweep(before + 1, limit) }),
  "a sweep that does nothing": () => ({ sweep: () => Effect.succeed(0) }),
  "expiry by a clock": (sound) => ({
    get: (key) =>
      Effect.flatMap(millisecondsNow, (now) =>
        Effect.map(
          sound.get(key),
          Option.filter(({ expiresAt }) => expiresAt === null || expiresAt > now)
        )
      )
  }),
  "numbers of 32 bits": changed((record) => ({
    ...record,
    body: typeof record.body === "number" && Number.isInteger(record.body) ? record.body | 0 : record.body
  })),
  "texts that end at NUL": changed((record) => ({
    ...record,
    body: typeof record.body === "string" ? (record.body.split("\0")[0] ?? "") : record.body
  })),
  "an empty list that becomes an object": changed((record) => ({
    ...record,
    body: Array.isArray(record.body) && record.body.length === 0 ? {} : record.body
  })),
  "ids in lower case": (sound) => ({
    insert: (record) => sound.insert({ ...record, id: record.id.toLowerCase() }),
    get: (key) =>
      Effect.map(
        sound.get({ ...key, id: key.id.toLowerCase() }),
        Option.map((found) => ({ ...found, id: key.id }))
      )
  }),
  "ids that are the same but for spaces at their end": (sound) => {
    const trimmed = <Key extends RecordKey>(key: Key): Key => ({ ...key, id: key.id.trimEnd() || key.id })
    return {
      insert: (record) => sound.insert(trimmed(record)),
      get: (key) =>
        Effect.map(
          sound.get(trimmed(key)),
          Option.map((found) => ({ ...found, id: key.id }))
        )
    }
  },
  "a cache that a slow get fills with what was replaced meanwhile": (sound) => {
    const kept = new Map<string, Option.Option<StoredRecord>>()
    const nameOf = ({ id, kind, workspace }: RecordKey) => JSON.stringify([workspace, kind, id])
    const forgetting = <A, E>(key: RecordKey, write: Effect.Effect<A, E>) =>
      Effect.tap(write, () => Effect.sync(() => kept.delete(nameOf(key))))
    return {
      get: Effect.fnUntraced(function* (key) {
        const known = kept.get(nameOf(key))
        if (known !== undefined) return known
        const found = yield* sound.get(key)
        yield* Effect.yieldNow
        yield* Effect.yieldNow
        if (Option.isSome(found)) kept.set(nameOf(key), found)
        return found
      }),
      insert: (record) => forgetting(record, sound.insert(record)),
      replace: (expected, record) => forgetting(record, sound.replace(expected, record)),
      remove: (key) => forgetting(key, sound.remove(key)),
      sweep: (before, limit) => Effect.tap(sound.sweep(before, limit), () => Effect.sync(() => kept.clear()))
    }
  },
  "a sweep that looks before it leaps": (sound) => {
    const { dueBy, insert } = expiring(sound)
    return {
      insert,
      sweep: Effect.fnUntraced(function* (before, limit) {
        const due = (yield* dueBy(before)).slice(0, limit)
        yield* Effect.yieldNow
        yield* Effect.yieldNow
        yield* Effect.forEach(due, (record) => sound.remove(record), { discard: true })
        return due.length
      })
    }
  },
  "a sweep that passes over a kind": (sound) =>
    sweptByKind(
      kinds.filter((kind) => kind !== "request"),
      (limit, already) => limit - already
    )(sound),
  "a sweep whose limit is for each kind": (sound) => sweptByKind(kinds, (limit) => limit)(sound),
  "a kind that is listed nowhere": (sound) =>
    inKind("link", () => ({ list: () => Effect.succeed({ records: [], next: undefined }) }))(sound),
  "a kind that is replaced at any version": (sound) =>
    inKind("signing", () => ({
      replace: (_, record) =>
        Effect.flatMap(sound.get(record), (found) =>
          Option.isSome(found) ? sound.replace(found.value.version, record) : new Conflict()
        )
    }))(sound),
  "a kind that is never removed": (sound) => inKind("account", () => ({ remove: () => Effect.void }))(sound),
  "replaced records that it does not tell of": (sound) => telling("remove", "sweep")(sound),
  "removed records that it does not tell of": (sound) => telling("replace", "sweep")(sound),
  "swept records that it does not tell of": (sound) => telling("replace", "remove")(sound),
  "versions from 0": changed((record) => ({ ...record, version: record.version - 1 }))
}

/** What was inserted and is to be swept one day, for a sweep that goes by a list of its own. */
const expiring = (sound: Verbs) => {
  const inserted = new Set<NewRecord>()
  return {
    insert: (record: NewRecord) =>
      Effect.tap(sound.insert(record), () =>
        Effect.sync(() => {
          if (record.expiresAt !== null && record.expiresAt < 1e12) inserted.add(record)
        })
      ),
    dueBy: (before: number) =>
      Effect.map(
        Effect.forEach(inserted, (record) => sound.get(record)),
        (found) => found.flatMap(Option.toArray).filter(({ expiresAt }) => expiresAt !== null && expiresAt <= before)
      )
  }
}

/** A sweep that looks at each kind for itself, as a store with a table for each does. */
const sweptByKind =
  (swept: ReadonlyArray<Kind>, limitOf: (limit: number, already: number) => number) =>
  (sound: Verbs): Partial<Verbs> => {
    const { dueBy, insert } = expiring(sound)
    return {
      insert,
      sweep: Effect.fnUntraced(function* (before, limit) {
        const due = yield* dueBy(before)
        let count = 0
        for (const kind of swept) {
          const here = due.filter((record) => record.kind === kind).slice(0, limitOf(limit, count))
          yield* Effect.forEach(here, (record) => sound.remove(record), { discard: true })
          count += here.length
        }
        return count
      })
    }
  }

/** One kind is served by other verbs than the rest. */
const inKind =
  (odd: Kind, fault: (sound: Verbs) => Partial<Verbs>) =>
  (sound: Verbs): Partial<Verbs> => {
    const other = { ...sound, ...fault(sound) }
    const by = ({ kind }: { readonly kind: Kind }) => (kind === odd ? other : sound)
    return {
      get: (key) => by(key).get(key),
      insert: (record) => by(record).insert(record),
      replace: (expected, record) => by(record).replace(expected, record),
      remove: (key) => by(key).remove(key),
      list: (listing) => by(listing).list(listing)
    }
  }

/** Tells what was written, of those verbs that are named. */
const telling =
  (...verbs: ReadonlyArray<"replace" | "remove" | "sweep">) =>
  (sound: Verbs): Partial<Verbs> => {
    const told = forEachKind((): { count: number; readonly last: Array<RecordKey> } => ({ count: 0, last: [] }))
    const { dueBy, insert } = expiring(sound)
    const tell = (verb: (typeof verbs)[number], key: RecordKey) =>
      Effect.sync(() => {
        if (!verbs.includes(verb)) return
        told[key.kind].count += 1
        told[key.kind].last.push(key)
      })
    return {
      insert,
      replace: (expected, record) => Effect.tap(sound.replace(expected, record), () => tell("replace", record)),
      remove: (key) => Effect.tap(sound.remove(key), () => tell("remove", key)),
      sweep: Effect.fnUntraced(function* (before, limit) {
        for (const record of yield* dueBy(before)) yield* tell("sweep", record)
        return yield* sound.sweep(before, limit)
      }),
      written: (kind) => told[kind]
    }
  }

/** With the verb that does two at once, here one after the other; each of its parts may be a faulty one. */
const inOneStep = (
  sound: Verbs,
  { added = (_, record) => sound.insert(record), replaced = sound.replace, told = (id) => id }: Partial<Steps> = {}
): Partial<Verbs> => ({
  insertAndReplace: (records, expected, record) =>
    Effect.gen(function* () {
      for (const [n, one] of records.entries()) {
        yield* Effect.mapError(added(n, one), (fault) =>
          fault._tag === "Conflict" ? new Taken({ id: told(one.id) }) : fault
        )
      }
      yield* replaced(expected, record)
    })
})

interface Steps {
  readonly added: (n: number, record: NewRecord) => ReturnType<Verbs["insert"]>
  readonly replaced: Verbs["replace"]
  readonly told: (id: string) => string
}

const stepFaults: Readonly<Record<string, (sound: Verbs) => Partial<Steps>>> = {
  "what is added and overwrites": (sound) => ({ added: (_, record) => put(sound, record) }),
  "only the first is added": (sound) => ({ added: (n, record) => (n > 0 ? Effect.void : sound.insert(record)) }),
  "nothing is added": () => ({ added: () => Effect.void }),
  "nothing is replaced": () => ({ replaced: () => Effect.void }),
  "a replacement at any version": (sound) => ({
    replaced: atAnyVersion(sound)
  }),
  "a replacement that looks before it leaps": (sound) => ({
    replaced: leaping(sound)
  }),
  "another id that is told of": () => ({ told: (id) => `${id}x` })
}

/** How many laws a store breaks, of which each has to name itself and the seed. */
const brokenBy = (store: Layer.Layer<Storage>): Promise<number> =>
  Effect.runPromise(
    Effect.forEach(storageLaws(seed), ({ law, name }) =>
      Effect.match(law, {
        onSuccess: () => 0,
        onFailure: ({ message }) => {
          expect(message).toContain(name)
          expect(message).toContain(`seed ${seed}`)
          return 1
        }
      })
    ).pipe(
      Effect.map((broken) => broken.reduce((sum, one) => sum + one, 0)),
      Effect.provide(store, { local: true })
    )
  )

describe("the conformance suite finds", () => {
  for (const [name, fault] of Object.entries(faults)) {
    test(name, async () => {
      expect(await brokenBy(faulty(fault)), `seed ${seed}`).toBeGreaterThan(0)
    })
  }
})

describe("of stores that tell what was written, the suite", () => {
  test("takes one that is sound", async () => {
    expect(await brokenBy(faulty(telling("replace", "remove", "sweep"))), `seed ${seed}`).toBe(0)
  })
})

describe("of stores that insert and replace in one step, the suite", () => {
  test("takes one that is sound", async () => {
    expect(await brokenBy(faulty(inOneStep)), `seed ${seed}`).toBe(0)
  })

  for (const [name, fault] of Object.entries(stepFaults)) {
    test(`refuses one with a fault: ${name}`, async () => {
      expect(await brokenBy(faulty((sound) => inOneStep(sound, fault(sound)))), `seed ${seed}`).toBeGreaterThan(0)
    })
  }

  test("refuses one that replaces whatever was taken", async () => {
    const heedless = (sound: Verbs): Partial<Verbs> => ({
      insertAndReplace: (records, expected, record) =>
        Effect.andThen(
          Effect.forEach(records, (one) => Effect.ignore(sound.insert(one)), { discard: true }),
          sound.replace(expected, record)
        )
    })
    expect(await brokenBy(faulty(heedless)), `seed ${seed}`).toBeGreaterThan(0)
  })
})

/** With two swaps of one record in a batch, and with the second in the next one. */
describe.each(["together", "wait"] as const)("of adapters that send swaps in batches (%s), the suite", (second) => {
  test("takes one that is sound", async () => {
    expect(await brokenBy(batchedStranger(soundBatches, second)), `seed ${seed}`).toBe(0)
  })

  const hasty = { ...hastyBatches, ...(second === "together" ? hastyWithSwapsOfOne : {}) }
  for (const [name, sendBatch] of Object.entries(hasty)) {
    test(`refuses one that ${name}`, async () => {
      expect(await brokenBy(batchedStranger(sendBatch, second)), `seed ${seed}`).toBeGreaterThan(0)
    })
  }
})
