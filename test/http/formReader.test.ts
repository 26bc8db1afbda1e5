import { describe, expect, test } from "bun:test"
import { Effect, Result, Schema, SchemaGetter } from "effect"
import { asItCame, readerOf, refusedAs, Sent, sentForm, sentQuery, severalOf } from "../../core/http/form.ts"
import { InvalidRequest } from "../../core/rules/Refusal.ts"
import { formHeaders } from "../given/flow.ts"
import { requestOf } from "../given/World.ts"

const sent = (parameters: Readonly<Record<string, string>>) => new Sent(new Map(Object.entries(parameters)))

const missing = (name: string) =>
  Result.fail(new InvalidRequest({ reason: "missing_parameter", message: `The parameter ${name} is missing.` }))

const malformed = (name: string) =>
  Result.fail(
    new InvalidRequest({ reason: "malformed_parameter", message: `The parameter ${name} is not well-formed.` })
  )

const Letters = Schema.String.check(Schema.isPattern(/^[a-z]+$/))

describe("a reader", () => {
  test("does what the fields say, and something else where they say something else", () => {
    const asked = sent({ a: "x", b: "12", other: "y" })
    expect(readerOf({ a: Schema.String, b: Schema.String })(asked)).toEqual(Result.succeed({ a: "x", b: "12" }))
    expect(readerOf({ a: Schema.Literal("x"), b: Schema.FiniteFromString })(asked)).toEqual(
      Result.succeed({ a: "x", b: 12 })
    )
    expect(readerOf({ a: Schema.Literal("z"), b: Schema.String })(asked)).toEqual(malformed("a"))
    expect(readerOf({ a: Letters, b: Letters })(asked)).toEqual(malformed("b"))
    expect(readerOf({ a: Schema.String, c: Schema.String })(asked)).toEqual(missing("c"))
    expect(readerOf({ a: Schema.String, c: Schema.FiniteFromString })(asked)).toEqual(missing("c"))
    expect(readerOf({ a: Schema.FiniteFromString })(asked)).toEqual(malformed("a"))
    expect(readerOf({ b: Schema.Literal("12").check(Schema.makeFilter(() => false)) })(asked)).toEqual(malformed("b"))
  })

  test("leaves out what may be left out, and puts in what stands for it", () => {
    const byDefault = Schema.String.pipe(Schema.withDecodingDefaultKey(Effect.succeed("d")))
    const read = readerOf({ a: Schema.optionalKey(Letters), b: byDefault, c: Schema.optional(Letters) })
    expect(read(sent({}))).toStrictEqual(Result.succeed({ b: "d" }))
    expect(read(sent({ a: "x", b: "y", c: "z" }))).toStrictEqual(Result.succeed({ a: "x", b: "y", c: "z" }))
    expect(read(sent({ a: "1" }))).toEqual(malformed("a"))
    const afterAll = Schema.optionalKey(Schema.String).pipe(
      Schema.decodeTo(Schema.String, { decode: SchemaGetter.required(), encode: SchemaGetter.passthrough() })
    )
    expect(readerOf({ a: afterAll })(sent({}))).toEqual(missing("a"))
    expect(readerOf({ a: afterAll })(sent({ a: "x" }))).toEqual(Result.succeed({ a: "x" }))
  })

  test("tells the first that is wrong, in the order of the fields, as the Schema has it told", () => {
    const refusal = new InvalidRequest({ reason: "verifier_malformed", message: "Letters, please." })
    const read = readerOf({
      a: Schema.String,
      b: Schema.optionalKey(Letters.annotate({ description: "letters", ...refusedAs(refusal) })),
      c: Letters
    })
    expect(read(sent({ b: "1", c: "1" }))).toEqual(missing("a"))
    expect(read(sent({ a: "x", b: "1", c: "1" }))).toEqual(Result.fail(refusal))
    expect(read(sent({ a: "x", c: "1" }))).toEqual(malformed("c"))
  })

  test("takes all values of what may come more than once (RFC 8707 §2), and no other parameter twice", () => {
    const fields = {
      one: Schema.optionalKey(Schema.String),
      many: Schema.Array(Schema.String),
      more: Schema.optionalKey(Schema.Array(Schema.String))
    }
    const several = severalOf(fields)
    expect([...several]).toEqual(["many", "more"])
    const twice = Result.fail("repeated_parameter" as const)
    const rows: ReadonlyArray<readonly [string, unknown]> = [
      ["many=a", Result.succeed({ many: ["a"] })],
      ["many=a&one=x&many=b&many=a", Result.succeed({ one: "x", many: ["a", "b", "a"] })],
      ["more=&many=a&more=c&many=&more=&more=d", Result.succeed({ many: ["a"], more: ["c", "d"] })],
      ["many=a&more=c&more=", Result.succeed({ many: ["a"], more: ["c"] })],
      ["one=x", Result.fail("missing_parameter")],
      ["many=", Result.fail("missing_parameter")],
      ["many=a&one=x&one=x", twice],
      ["many=a&many=b&other=1&other=2", twice]
    ]
    for (const [text, expected] of rows) {
      const posted = Result.flatMap(
        sentForm(requestOf("POST", "/", { headers: formHeaders, body: text }), several),
        readerOf(fields)
      )
      expect<unknown>([text, Result.mapError(posted, ({ reason }) => reason)]).toEqual([text, expected])
      const { repeated, sent } = sentQuery(text, several)
      expect([text, repeated.size > 0]).toEqual([text, expected === twice])
      if (expected === twice) continue
      const asked = Result.mapError(readerOf(fields)(sent), ({ reason }) => reason)
      expect<unknown>([text, asked]).toEqual([text, expected])
    }
    const none = sentForm(requestOf("POST", "/", { headers: formHeaders, body: "many=a&many=b" }))
    expect(Result.isFailure(none) && none.failure.reason).toBe("repeated_parameter")
    expect([...sentQuery("many=a&many=b").repeated]).toEqual(["many"])
  })

  test("is the only way to what was sent, but for a text that is told back", () => {
    expect(asItCame(sent({ a: "1" }), "a")).toBe("1")
    expect(asItCame(sent({ a: "1" }), "b")).toBeUndefined()
    expect(JSON.stringify(sent({ a: "1" }))).toBe("{}")
    // @ts-expect-error: an endpoint that asks for a parameter by its name does not compile
    expect(sent({ a: "1" }).get).toBeUndefined()
  })
})
