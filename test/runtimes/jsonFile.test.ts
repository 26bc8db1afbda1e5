import { describe, expect, test } from "bun:test"
import { Result, Schema } from "effect"
import { readJson, readText } from "../../runtimes/server/JsonFile.ts"

const Shelf = Schema.Array(Schema.Struct({ name: Schema.String, books: Schema.Array(Schema.Int) }))

const faultsOf = (text: string) => {
  const read = readJson(Shelf, text)
  return Result.isFailure(read) ? read.failure : []
}
const linesOf = (text: string) => faultsOf(text).map(({ line }) => line)

describe("a file of JSON", () => {
  test("is read by its schema, and tells on which line a value stands", () => {
    const read = Result.getOrThrow(
      readJson(Shelf, '[\n  { "name": "a", "books": [] },\n\n  { "name": "b",\n "books": [1] }\n]')
    )
    expect(read.value).toEqual([
      { name: "a", books: [] },
      { name: "b", books: [1] }
    ])
    const places = [[], [0], [0, "name"], [1], [1, "books"], [1, "books", 0], [1, "nothing"], [7]]
    expect(places.map(read.lineOf)).toEqual([1, 2, 2, 4, 5, 5, 4, 1])
  })

  test("that is no JSON is told with the line where it goes wrong", () => {
    expect(linesOf('[\n  { "name": "a" \n "books": [] }]')).toEqual([3])
    expect(linesOf('[\n{ "name": "a", }]')).toEqual([2])
    expect(linesOf("[1,\n\n]")).toEqual([3])
    expect(linesOf("[")).toEqual([1])
    expect(linesOf("")).toEqual([1])
    expect(linesOf("[] []")).toEqual([1])
    expect(linesOf("\n\ntru")).toEqual([3])
    expect(linesOf('[\n"a\nb"]')).toEqual([2])
  })

  test("that is not as its schema wants it is told whole, each fault with its line", () => {
    const text = '[\n{ "name": 1,\n  "books": ["x"] },\n{ "name": "b",\n  "books": [],\n  "pages": 3 },\n{}]'
    expect(new Set(linesOf(text))).toEqual(new Set([2, 3, 6, 7]))
    expect(
      faultsOf(text)
        .map(({ says }) => says.split(":")[0])
        .toSorted()
    ).toEqual(["[0].books[0]", "[0].name", "[1].pages", "[2].books", "[2].name"])
  })

  test("says nothing of what stands in it", () => {
    const secret = "tsr_ak_secret"
    const texts = [`[{ "name": ["${secret}"], "books": ["${secret}"] }]`, `[${secret}]`, `["${secret}"`]
    for (const text of texts) expect(JSON.stringify(faultsOf(text))).not.toContain(secret)
  })

  test("of any depth is told, not died of", () => {
    const deep = "[".repeat(100_000)
    expect(linesOf(deep)).toEqual([1])
    expect(faultsOf(deep + "]".repeat(100_000)).length).toBeGreaterThan(0)
  })

  test("that is not there is a fault, too", () => {
    const read = readText("/nowhere/at/all.json")
    expect(Result.isFailure(read) && read.failure.line).toBeUndefined()
    expect(Result.isFailure(read) && read.failure.says).toContain("ENOENT")
  })
})
