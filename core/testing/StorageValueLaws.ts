import { Effect, Option } from "effect"
import { type Json, Storage } from "../ports/Storage.ts"
import { allPages, expect, expectListed, expectStored, freshKey, holds, listOf, recordAt } from "./StorageLaw.ts"
import { sameJson } from "./sameJson.ts"

const nested = (depth: number): Json =>
  depth === 0 ? "end" : depth % 2 === 0 ? [nested(depth - 1)] : { in: nested(depth - 1) }

/** Lone surrogates are not among them: a JSON text of them is not well-formed Unicode, and a store may refuse it. */
const texts: ReadonlyArray<string> = [
  "",
  " ",
  "\0",
  "a\0b",
  "\u0001\u001f\u007f\u0080",
  "\t\r\n\b\f",
  "\"'`\\/\\u0000\\x",
  "'; DROP TABLE grants; --",
  "{} $1 ? :name @name %s %00 %",
  "ä Ω 中 ～ \uFEFF \uFFFD \uFFFE \uFFFF",
  "👩‍👩‍👧‍👦 🏳️‍🌈 𝔘",
  "\u202Eright to left \u05D0\u0627\u200F",
  "line\u2028paragraph\u2029",
  "a\u0301 and \u00E1",
  "</script><!--",
  "null",
  '{"not":"parsed"}',
  "x".repeat(65536),
  "😀".repeat(16384)
]

const numbers: ReadonlyArray<number> = [
  0,
  -0,
  1,
  -1,
  0.1,
  -0.5,
  1e21,
  1e-7,
  1.7976931348623157e308,
  5e-324,
  2 ** 31,
  2 ** 32 + 1,
  2 ** 53 - 1,
  -(2 ** 53 - 1),
  4_102_444_800_000,
  0.1 + 0.2,
  123456789.12345679
]

/** An object with a key that assignment would lose. */
const withProto = (value: Json): Json => Object.defineProperty({}, "__proto__", { value, enumerable: true })

const bodies: ReadonlyArray<Json> = [
  null,
  true,
  false,
  [],
  {},
  [[]],
  [{}],
  { empty: [], none: {}, nothing: null },
  [null, [null], { a: null }],
  ...texts,
  ...numbers,
  [...texts],
  [...numbers],
  Object.fromEntries(texts.map((text, index) => [text, index])),
  { "": "", " ": " ", constructor: "c", hasOwnProperty: 1, toString: null, "a.b": 1, $a: 2, "0": "zero", "1": "one" },
  withProto(1),
  withProto({ polluted: true }),
  { inner: withProto([withProto("x")]) },
  nested(200),
  { wide: Array.from({ length: 2000 }, (_, index) => ({ index })) }
]

/** Without NUL, which no text column of PostgreSQL holds, and without lone surrogates. */
const names: ReadonlyArray<string> = [
  "a:b",
  ":",
  "::",
  "a/b?c#d&e=f",
  "%",
  "%25%00",
  "_",
  "*",
  "?",
  "'",
  '"',
  "`",
  "\\",
  "{}",
  "{a}b",
  "[a]",
  "$1",
  " ",
  " lead and trail ",
  " lead and trail",
  "a\nb\tc",
  "Mixed Case",
  "mixed case",
  "someone+tag@exämple.org",
  "ÄÖÜ",
  "a\u0301",
  "\u00E1",
  "中文",
  "😀",
  "\u202Ertl",
  "line\u2028",
  "__proto__",
  "constructor",
  "null",
  "undefined",
  "0",
  "00",
  "-1",
  "x".repeat(200),
  "中".repeat(200)
]

/** Tries to change everything in a value, as a careless caller would; a store may have frozen it. */
const vandalise = (value: unknown): void => {
  if (typeof value !== "object" || value === null) return
  for (const key of Object.keys(value)) {
    vandalise(Reflect.get(value, key))
    Reflect.set(value, key, "vandalised")
  }
  Reflect.set(value, "added", "vandalised")
}

/** What a store must hold and give back unchanged. */
export const valueLaws = [
  holds("every JSON value comes back the same, by get and by list, inserted or swapped in", (draw) =>
    Effect.gen(function* () {
      const store = yield* Storage
      const key = freshKey(draw)
      const record = (index: number, body: Json) =>
        recordAt({ ...key, id: `id-${String(index).padStart(3, "0")}` }, body)
      for (const [index, body] of bodies.entries()) {
        yield* store.insert(record(index, body))
        yield* expectStored(record(index, body), 1)
      }
      const listed = yield* allPages(listOf(recordAt(key)))
      for (const [index, body] of bodies.entries()) {
        const found = listed[index]
        yield* expect(found !== undefined && sameJson(found.body, body), () => `list changed body ${index}`)
      }
      const swapped = [...bodies].reverse()
      yield* Effect.forEach(swapped, (body, index) => store.replace(1, record(index, body)), { concurrency: 20 })
      for (const [index, body] of swapped.entries()) yield* expectStored(record(index, body), 2)
    })
  ),

  holds("ids and owners of any characters keep apart and come back the same", (draw) =>
    Effect.gen(function* () {
      const store = yield* Storage
      const key = freshKey(draw)
      for (const [index, name] of names.entries()) {
        yield* store.insert(recordAt({ ...key, id: name }, { index }, { owner: name }))
        yield* store.insert(recordAt({ ...key, kind: "client", id: name }, { index }))
      }
      for (const [index, name] of names.entries()) {
        const record = recordAt({ ...key, id: name }, { index }, { owner: name })
        yield* expectStored(record, 1)
        yield* expectListed(listOf(record), [name])
        yield* store.replace(1, record)
        yield* expectStored(record, 2)
      }
      yield* expectListed({ ...listOf(recordAt({ ...key, kind: "client" })), limit: 5 }, [...names].sort())
      for (const name of names) yield* store.remove({ ...key, id: name })
      for (const name of names) yield* expectListed(listOf(recordAt(key, null, { owner: name })), [])
    })
  ),

  holds("changing a body after it was given or taken never changes the store", (draw) =>
    Effect.gen(function* () {
      const store = yield* Storage
      const made = (): Json => ({ scopes: ["api", "profile"], by: { subject: "u1", deep: [{ n: 1 }] } })
      const record = recordAt(freshKey(draw), made())
      yield* store.insert(record)
      vandalise(record.body)
      yield* expectStored({ ...record, body: made() }, 1)
      vandalise(Option.getOrUndefined(yield* store.get(record))?.body)
      for (const found of yield* allPages(listOf(record))) vandalise(found.body)
      yield* expectStored({ ...record, body: made() }, 1)
      const next = made()
      yield* store.replace(1, { ...record, body: next })
      vandalise(next)
      yield* expectStored({ ...record, body: made() }, 2)
    })
  ),

  holds("expiries up to the end of what JavaScript counts exactly come back the same", (draw) =>
    Effect.gen(function* () {
      const store = yield* Storage
      for (const expiresAt of [2 ** 31, 2 ** 32, 4_102_444_800_000, 8.64e15, null]) {
        const record = recordAt(freshKey(draw), {}, { expiresAt })
        yield* store.insert(record)
        yield* expectStored(record, 1)
      }
    })
  )
]
