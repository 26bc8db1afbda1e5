import { describe, expect, test } from "bun:test"
import { Result, Schema } from "effect"
import { onceKind } from "../../core/engine/Once.ts"
import { clientKind, decodeBody, encodeBody, grantKind, type RecordKind } from "../../core/engine/Records.ts"
import { usageKind } from "../../core/engine/Usage.ts"
import { limitKind } from "../../core/limits/SharedLimiter.ts"
import { accountKind, loginKind } from "../../core/people/Account.ts"
import { linkKind } from "../../core/people/Links.ts"
import { sessionKind } from "../../core/people/Sessions.ts"
import { type Json, kinds } from "../../core/ports/Storage.ts"
import { requestKind } from "../../core/request/AuthorizationRequest.ts"
import { standardPolicy } from "../../core/rules/Policy.ts"
import { client } from "../../core/testing/Arbitraries.ts"
import { type Arbitrary, all, ofSchema } from "../../core/testing/forAll.ts"
import { sameJson } from "../../core/testing/sameJson.ts"
import { lawOf } from "./law.ts"
import written from "./records.json" with { type: "json" }

/** As a store that keeps text gives it back. */
const throughText = (body: Json): Json => JSON.parse(JSON.stringify(body)) as Json

const reads = <A>(kind: RecordKind<A>, value: A): boolean => {
  const read = decodeBody(kind)(throughText(encodeBody(kind, value, "by this write")))
  return (
    Result.isSuccess(read) &&
    read.success.command === "by this write" &&
    sameJson(read.success.value as Json, value as Json)
  )
}

/** What is read of a body, as JSON; or why it is not. */
type Read = (body: Json) => Result.Result<Json, string>

const readOf = <A>(kind: RecordKind<A>): Read => {
  const decode = decodeBody(kind)
  return (body) => Result.map(decode(body), ({ value }) => value as Json)
}

const readers = new Map<string, { readonly read: Read; readonly version: number }>()

const holdsFor = <A>(kind: RecordKind<A>, values: Arbitrary<A> = ofSchema(kind.schema)): void => {
  readers.set(kind.kind, { read: readOf(kind), version: kind.version })
  lawOf(`a ${kind.kind} record reads as what was written`, values, (value) => reads(kind, value))
}

holdsFor(clientKind, client)
holdsFor(grantKind(standardPolicy))
holdsFor(usageKind)
holdsFor(limitKind)
holdsFor(accountKind)
holdsFor(loginKind)
holdsFor(linkKind)
holdsFor(sessionKind)
holdsFor(requestKind)
holdsFor(onceKind)

test("every kind of record is looked at here", () => {
  expect([...readers.keys()].sort()).toEqual([...kinds].sort())
})

/** Bodies as each version of each kind's form was really written. A release that changes a form adds to them. */
describe("a record that an older release wrote", () => {
  for (const [kind, { read, version }] of readers) {
    const bodies = (written as Record<string, ReadonlyArray<Json>>)[kind] ?? []

    test(`${kind}: there is one of every version`, () => {
      const versions = new Set(bodies.map((body) => (body as { _v: number })._v))
      expect([...versions].sort()).toEqual(Array.from({ length: version }, (_, index) => index + 1))
    })

    for (const [index, body] of bodies.entries()) {
      test(`${kind} ${index + 1} still reads`, () => {
        const { _v, _by, ...fields } = body as Record<string, Json>
        const found = read(body)
        expect(Result.isSuccess(found)).toBe(true)
        if (_v === version) expect(found).toEqual(Result.succeed(fields))
      })

      test(`${kind} ${index + 1} is refused, not guessed at, where a newer release wrote it`, () => {
        expect(Result.isFailure(read({ ...(body as Record<string, Json>), _v: version + 1 }))).toBe(true)
      })
    }
  }
})

/** A form that changed twice: `name` became `label`, and `size` came. */
const grown: RecordKind<{ readonly id: string; readonly label: string; readonly size: number }> = {
  kind: "usage",
  schema: Schema.Struct({ id: Schema.String, label: Schema.String, size: Schema.Int }),
  version: 3,
  upcast: [({ name = "", ...rest }) => ({ ...rest, label: name }), (body) => ({ ...body, size: 0 })],
  id: ({ id }) => id,
  owner: () => "nobody",
  expiresAt: () => null
}

lawOf(
  "a form that grew reads what each of its versions wrote",
  all([ofSchema(Schema.String), ofSchema(Schema.String)]),
  ([id, text]) => {
    const value = { id, label: text, size: 0 }
    const older: ReadonlyArray<Json> = [
      { id, name: text, _v: 1, _by: "w" },
      { id, label: text, _v: 2, _by: "w" },
      { ...value, _v: 3, _by: "w" }
    ]
    const read = readOf(grown)
    return older.every((body) => {
      const found = read(body)
      return Result.isSuccess(found) && sameJson(found.success, value)
    })
  }
)
