import { Result, Schema, SchemaAST } from "effect"
import type { Fault, FaultClass } from "./contract/Contract.ts"

/** Enough values of a field to see everything that a fault's answer may depend on: each word, both truths. */
const valuesOf = (ast: SchemaAST.AST): ReadonlyArray<unknown> => {
  if (SchemaAST.isLiteral(ast)) return [ast.literal]
  if (SchemaAST.isUnion(ast)) return ast.types.flatMap(valuesOf)
  if (SchemaAST.isBoolean(ast)) return [true, false]
  if (SchemaAST.isNumber(ast)) return [1]
  if (SchemaAST.isArrays(ast)) return [[]]
  return [""]
}

/** The faults that a class has: one for each of its reasons. */
export const everyFault = (faults: FaultClass): ReadonlyArray<Fault> => {
  const read = Schema.decodeUnknownResult(faults)
  const all = Object.entries(faults.fields).reduce<ReadonlyArray<Readonly<Record<string, unknown>>>>(
    (made, [name, field]) => made.flatMap((fault) => valuesOf(field.ast).map((value) => ({ ...fault, [name]: value }))),
    [{}]
  )
  return all.map((fault) => Result.getOrThrow(read(fault)))
}
