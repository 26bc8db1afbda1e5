import { expect } from "bun:test"
import { Effect, Result, Schema, SchemaGetter, SchemaIssue } from "effect"
import { type Fields, readerOf, Sent } from "../../core/http/form.ts"
import { law } from "./law.ts"

const Letters = Schema.String.check(Schema.isPattern(/^[a-z]+$/))

type Field = Schema.Decoder<unknown>

const schemas: readonly [Field, ...ReadonlyArray<Field>] = [
  Schema.String,
  Letters,
  Letters.pipe(Schema.brand("Letters")),
  Schema.Literal("a"),
  Schema.Literal("a").check(Schema.makeFilter((text) => text.length > 1)),
  Schema.Literals(["a", "12"]),
  Schema.Literal(12),
  Schema.FiniteFromString,
  Schema.Trim,
  Schema.UndefinedOr(Schema.String),
  Schema.Union([Schema.Literal("12"), Letters]),
  Schema.Number,
  Schema.Unknown
]

const presences: readonly [(schema: Field) => Field, ...ReadonlyArray<(schema: Field) => Field>] = [
  (schema) => schema,
  Schema.optionalKey,
  Schema.optional
]

const withDefaults: typeof schemas = [
  Schema.String.pipe(Schema.withDecodingDefaultKey(Effect.succeed("a"))),
  Schema.FiniteFromString.pipe(Schema.withDecodingDefaultKey(Effect.succeed("1"))),
  // May be left out, its Schema says, and then says that it may not.
  Schema.optionalKey(Schema.String).pipe(
    Schema.decodeTo(Schema.String, { decode: SchemaGetter.required(), encode: SchemaGetter.passthrough() })
  )
]

const names = ["a", "b", "c", "d"] as const
const texts = ["a", "b", "ab", "12", "1.5", " ", " a", "A", "é"] as const
const issuesOf = SchemaIssue.makeFormatterStandardSchemaV1()

law("a reader accepts what the struct of its fields decodes, reads the same, and refuses for the same field", (dice) =>
  Effect.sync(() => {
    const fields: Fields = Object.fromEntries(
      names
        // A struct without a field is anything at all.
        .filter((name) => name === "a" || dice.chance(70))
        .map((name) => [name, dice.chance(10) ? dice.pick(withDefaults) : dice.pick(presences)(dice.pick(schemas))])
    )
    const read = readerOf(fields)
    const decode = Schema.decodeUnknownResult(Schema.Struct(fields))
    for (let request = 0; request < 8; request++) {
      const parameters = Object.fromEntries(names.filter(() => dice.chance(75)).map((name) => [name, dice.pick(texts)]))
      const [ours, theirs] = [read(new Sent(new Map(Object.entries(parameters)))), decode(parameters)]
      if (Result.isSuccess(theirs)) expect(ours).toStrictEqual(Result.succeed(theirs.success))
      else {
        const name = String(issuesOf(theirs.failure.issue).issues[0]?.path?.[0])
        const reason = name in parameters ? "malformed_parameter" : "missing_parameter"
        expect(Result.isFailure(ours) ? [ours.failure.reason, ours.failure.message.split(" ")[2]] : ours).toEqual([
          reason,
          name
        ])
      }
    }
  })
)
