import { describe, expect, test } from "bun:test"
import { Option, Schema } from "effect"
import {
  type BroughtIdentifier,
  clientKey,
  DocumentAddress,
  hostOf,
  isBrought,
  isSealed,
  readClientIdentifier,
  readClientKey,
  readRegisteredIdentifier,
  readSealedIdentifier
} from "../../core/client/ClientIdentifier.ts"
import { ClientId, clientIdOf } from "../../core/rules/Id.ts"
import { hashOf } from "../../core/rules/Secret.ts"

const drawn = ClientId.make("c".repeat(22))
const document = "https://app.example/client.json"
const sealed = `tsr_c_${"A".repeat(64)}`

const addresses: ReadonlyArray<readonly [text: string, isTaken: boolean]> = [
  [document, true],
  ["https://app.example/a/", true],
  ["https://app.example:8443/a", true],
  ["https://app.example/a?b=c", true],
  ["https://.app.example/a", true],
  [`https://app.example/${"a".repeat(1004)}`, true],
  [`https://app.example/${"a".repeat(1005)}`, false],
  [`https://app.example/a?${"b".repeat(512)}`, true],
  [`https://app.example/a?${"b".repeat(513)}`, false],
  ["https://app.example/", false],
  ["https://app.example/?a", false],
  ["https://app.example", false],
  ["https://app.example./a", false],
  ["https://app.example/a#b", false],
  ["https://app.example/a#", false],
  ["https://ada@app.example/a", false],
  ["https://ada:b@app.example/a", false],
  ["https://:b@app.example/a", false],
  // Another writing of an address that would be taken.
  ["https://app.example:443/a", false],
  ["https://App.example/a", false],
  ["https://app.example/a/../b", false],
  ["https://app.example/%2e%2e/b", false],
  ["https://app.example/ä", false],
  ["https://app.example/a b", false],
  ["HTTPS://app.example/a", false],
  ["https://[/a", false],
  ["http://app.example/a", false],
  ["http://127.0.0.1/a", false],
  ["http://127.0.0.1:8080/a", false],
  ["http://[::1]:8080/a", false],
  ["http://localhost/a", false],
  ["http://localhost:8080/a", false],
  ["ftp://app.example/a", false],
  ["https:app.example/a", false],
  ["app.example/a", false],
  ["", false]
]

test.each(addresses)("the address of a document: %s", (text, isTaken) => {
  expect(Schema.is(DocumentAddress)(text)).toBe(isTaken)
  // The same where what a client goes by is read, the first time and once it is known.
  expect(Option.isSome(readClientIdentifier(text))).toBe(isTaken)
  expect(Option.isSome(readClientKey(text))).toBe(isTaken)
  expect(readClientKey(text)).toEqual(isTaken ? Option.some(clientIdOf(hashOf(text).subarray(0, 16))) : Option.none())
  expect(Option.isSome(readRegisteredIdentifier(text))).toBe(false)
})

const others: ReadonlyArray<readonly [text: string, kind: "drawn" | "sealed" | undefined]> = [
  [drawn, "drawn"],
  ["A".repeat(22), "drawn"],
  ["c".repeat(21), undefined],
  ["c".repeat(23), undefined],
  [`${"c".repeat(21)}:`, undefined],
  [`${"c".repeat(21)}é`, undefined],
  [sealed, "sealed"],
  [sealed.slice(1), undefined],
  [sealed.slice(0, -1), undefined],
  [`tsr_c_${"A".repeat(694)}`, "sealed"],
  [`tsr_c_${"A".repeat(695)}`, undefined],
  [`${sealed.slice(0, -1)}+`, undefined],
  [`x${sealed}`, undefined],
  [sealed.replace("tsr_c_", "tsr_a_"), undefined]
]

test.each(others)("what a registration gives out: %s", (text, kind) => {
  expect(Option.isSome(readRegisteredIdentifier(text))).toBe(kind !== undefined)
  expect(Option.isSome(readSealedIdentifier(text))).toBe(kind === "sealed")
  expect(Option.isSome(readClientIdentifier(text))).toBe(kind !== undefined)
})

describe("the id of a client's record", () => {
  const read = (text: string) => Option.getOrThrow(readClientIdentifier(text))

  test("is what was drawn, or made of the whole text that it brings", () => {
    expect(clientKey(drawn)).toBe(drawn)
    expect([drawn, document, sealed].map((text) => isBrought(read(text)))).toEqual([false, true, true])
    const keys = [document, `${document}?`, `${document}x`, sealed, `${sealed}A`].map((text) => clientKey(read(text)))
    expect(new Set(keys).size).toBe(5)
    for (const key of keys) expect(Schema.is(ClientId)(key)).toBe(true)
    expect(clientKey(read(document))).toBe(keys[0] as ClientId)
  })

  test("of an address that is as long as what is drawn is none of those", () => {
    const short = "https://a.example/bcde"
    expect(short).toHaveLength(22)
    expect([isBrought(read(short)), clientKey(read(short)) === (short as string)]).toEqual([true, false])
  })
})

test("an identifier holds a registration, or says where the client's document is, and at whose host", () => {
  const brought = [document, sealed, "https://app.example:8443/a"].map(
    (text) => Option.getOrThrow(readClientIdentifier(text)) as BroughtIdentifier
  )
  expect(brought.map(isSealed)).toEqual([false, true, false])
  expect(hostOf(DocumentAddress.make(document))).toBe("app.example")
  expect(hostOf(DocumentAddress.make("https://app.example:8443/a"))).toBe("app.example:8443")
})
