import { describe, expect, test } from "bun:test"
import { Effect, Option, Schema } from "effect"
import * as Memory from "../../adapters/memory/Memory.ts"
import { RecordCache } from "../../core/engine/caches.ts"
import { makeRecords, type RecordKind } from "../../core/engine/Records.ts"
import { type Json, Storage, StorageUnavailable } from "../../core/ports/Storage.ts"
import { Instant } from "../../core/rules/Instant.ts"
import { WorkspaceId } from "../../core/workspace/Workspace.ts"

const home = WorkspaceId.make("home")

const Note = Schema.Struct({ id: Schema.String, words: Schema.String, ends: Schema.NullOr(Instant) })
type Note = typeof Note.Type

/** The third form of a note: it was `text`, then `body`, and is `words` now. */
const noteKind: RecordKind<Note> = {
  kind: "link",
  schema: Note,
  version: 3,
  upcast: [
    ({ text, ...rest }) => ({ ...rest, body: `${text ?? ""}!` }),
    ({ body, ...rest }) => ({ ...rest, words: `${body ?? ""}?` })
  ],
  id: (note) => note.id,
  owner: (note) => `of ${note.id}`,
  expiresAt: (note) => note.ends
}

const note = (id: string, ends: number | null = null): Note => ({
  id,
  words: "hello",
  ends: ends === null ? null : Instant.make(ends)
})

const inStore = <A, E>(
  body: (
    storage: Storage["Service"],
    notes: ReturnType<typeof makeRecords<Note>>,
    put: (id: string, stored: Json) => Effect.Effect<void>
  ) => Effect.Effect<A, E>
): Promise<A> =>
  Effect.runPromise(
    Effect.gen(function* () {
      const storage = yield* Storage
      const put = (id: string, stored: Json) =>
        Effect.orDie(
          storage.insert({ workspace: home, kind: "link", id, owner: "somebody", expiresAt: null, body: stored })
        )
      return yield* body(storage, makeRecords(storage, noteKind), put)
    }).pipe(Effect.provide(Memory.layer))
  )

const record = (storage: Storage["Service"], id: string) =>
  Effect.map(storage.get({ workspace: home, kind: "link", id }), Option.getOrUndefined)

describe("a record", () => {
  test("is stored as the value's own fields, its form's version and the write that made it", () =>
    inStore((storage, notes) =>
      Effect.gen(function* () {
        yield* notes.insert(home, note("a", 10), "first")
        // As a store writes it down.
        expect(JSON.parse(JSON.stringify(yield* record(storage, "a")))).toEqual({
          workspace: "home",
          kind: "link",
          id: "a",
          owner: "of a",
          expiresAt: 10,
          version: 1,
          body: { id: "a", words: "hello", ends: 10, _v: 3, _by: "first" }
        })
        yield* notes.replace(home, 1, { ...note("a"), words: "bye" }, "second")
        expect(yield* record(storage, "a")).toMatchObject({
          version: 2,
          expiresAt: null,
          body: { words: "bye", _v: 3, _by: "second" }
        })
      })
    ))

  test("is read as value, version and write, whether this process wrote it or another", () =>
    inStore((storage, notes) =>
      Effect.gen(function* () {
        yield* notes.insert(home, note("a"), "first")
        const kept = { value: note("a"), version: 1, command: "first" }
        expect(yield* notes.get(home, "a")).toEqual(kept)
        const elsewhere = makeRecords(storage, noteKind)
        expect(yield* elsewhere.get(home, "a")).toEqual(kept)
        expect(yield* elsewhere.get(home, "a")).toEqual(kept)
        expect(yield* notes.get(home, "b")).toBeUndefined()
        expect(yield* notes.get(WorkspaceId.make("other"), "a")).toBeUndefined()
      })
    ))

  test("is decoded once while its store gives the same body of the same version, where there is a cache", () =>
    Effect.runPromise(
      Effect.gen(function* () {
        const storage = yield* Storage
        const bodyWith = (words: string): Json => ({ id: "a", words, ends: null, _v: 3, _by: "x" })
        let found = { version: 1, body: bodyWith("hello") }
        const get: typeof storage.get = (key) =>
          Effect.sync(() => Option.some({ ...key, owner: "o", expiresAt: null, ...found }))
        const notes = makeRecords({ ...storage, get }, noteKind, new RecordCache(10))
        const first = yield* notes.get(home, "a")
        expect(first).toEqual({ value: note("a"), version: 1, command: "x" })
        expect(yield* notes.get(home, "a")).toBe(first)
        found = { ...found, version: 2 }
        expect(yield* notes.get(home, "a")).toEqual({ value: note("a"), version: 2, command: "x" })
        found = { version: 2, body: bodyWith("bye") }
        expect((yield* notes.get(home, "a"))?.value.words).toBe("bye")
      }).pipe(Effect.provide(Memory.layer))
    ))

  test("is inserted once, and replaced only at its version", () =>
    inStore((_storage, notes) =>
      Effect.gen(function* () {
        yield* notes.insert(home, note("a"), "first")
        expect(yield* Effect.flip(notes.insert(home, note("a"), "again"))).toMatchObject({ _tag: "Conflict" })
        expect(yield* Effect.flip(notes.replace(home, 2, note("a"), "late"))).toMatchObject({ _tag: "Conflict" })
        expect(yield* notes.get(home, "a")).toMatchObject({ version: 1, command: "first" })
      })
    ))

  test("is gone once removed, and only that one", () =>
    inStore((_storage, notes) =>
      Effect.gen(function* () {
        yield* notes.insert(home, note("a"), "first")
        yield* notes.insert(home, note("b"), "first")
        yield* notes.remove(home, "a")
        expect(yield* notes.get(home, "a")).toBeUndefined()
        expect(yield* notes.get(home, "b")).toBeDefined()
      })
    ))

  test("is listed by its owner, page by page", () =>
    inStore((storage, notes) =>
      Effect.gen(function* () {
        const kind = { ...noteKind, owner: () => "us" }
        const ours = makeRecords(storage, kind)
        for (const id of ["a", "b", "c"]) yield* ours.insert(home, note(id), "first")
        yield* notes.insert(home, note("d"), "first")
        const first = yield* ours.list(home, "us", { after: undefined, limit: 2 })
        expect(first).toEqual({ values: [note("a"), note("b")], next: "b" })
        const second = yield* ours.list(home, "us", { after: first.next, limit: 2 })
        expect(second).toEqual({ values: [note("c")], next: undefined })
      })
    ))
})

describe("a body of another release", () => {
  test("is read from each earlier form", () =>
    inStore((_storage, notes, put) =>
      Effect.gen(function* () {
        yield* put("one", { id: "one", text: "hello", ends: null, _v: 1, _by: "x" })
        yield* put("two", { id: "two", body: "hello", ends: null, _v: 2, _by: "x" })
        yield* put("three", { id: "three", words: "hello", ends: null, _v: 3, _by: "x" })
        const words = (id: string) => Effect.map(notes.get(home, id), (kept) => kept?.value.words)
        expect([yield* words("one"), yield* words("two"), yield* words("three")]).toEqual([
          "hello!?",
          "hello?",
          "hello"
        ])
      })
    ))

  test("is refused, never guessed at, where a later release or no release wrote it", () =>
    inStore((_storage, notes, put) =>
      Effect.gen(function* () {
        const sound = { id: "x", words: "hello", ends: null }
        const bodies: ReadonlyArray<readonly [Json, string]> = [
          [{ ...sound, _v: 4, _by: "x" }, "has version 4; this release reads up to 3"],
          [{ ...sound, _by: "x" }, "has no version"],
          [{ ...sound, _v: "3", _by: "x" }, "has no version"],
          [{ ...sound, _v: 3 }, "has no version"],
          [{ ...sound, words: 7, _v: 3, _by: "x" }, "does not fit version 3"],
          [{ id: "x", body: 7, _v: 3, _by: "x" }, "does not fit version 3"],
          [[sound], "is not an object"],
          [null, "is not an object"],
          ["x", "is not an object"]
        ]
        for (const [at, [body, fault]] of bodies.entries()) {
          yield* put(`odd${at}`, body)
          expect(yield* Effect.flip(notes.get(home, `odd${at}`))).toEqual(
            new StorageUnavailable({ outcome: "not_done", message: `a link record ${fault}` })
          )
        }
        expect(yield* Effect.flip(notes.list(home, "somebody", { after: undefined, limit: 20 }))).toMatchObject({
          _tag: "StorageUnavailable"
        })
      })
    ))
})
