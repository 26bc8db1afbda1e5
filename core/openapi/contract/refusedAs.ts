import { SchemaAST } from "effect"
import type { InvalidRequest } from "../../rules/Refusal.ts"

const key = "tessera/refusedAs"

/** An annotation: what is told of a parameter whose value is not as the annotated Schema has it. */
export const refusedAs = (refusal: InvalidRequest) => ({ [key]: refusal })

export const refusalOf: (ast: SchemaAST.AST) => InvalidRequest | undefined = SchemaAST.resolveAt(key)
