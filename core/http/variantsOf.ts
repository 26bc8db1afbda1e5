import type { Schema } from "effect"
import type { Fields } from "./readerOf.ts"

interface Member<Key extends string> {
  readonly fields: Fields & { readonly [K in Key]: Schema.Literal<string> }
}

type Variants<M extends Member<Key>, Key extends string> = {
  // Renamed, not asserted: each member goes by its word.
  readonly [Each in M as Each["fields"][Key]["literal"]]: Each["fields"]
}

/** The fields of each member of a union, by the word in the field that tells the members apart. */
export const variantsOf = <const Key extends string, M extends Member<Key>>(
  union: { readonly members: ReadonlyArray<M> },
  key: Key
): Variants<M, Key> =>
  // Each member's fields stand under the member's own word, as the type has it.
  Object.fromEntries(union.members.map(({ fields }) => [fields[key].literal, fields])) as Variants<M, Key>
