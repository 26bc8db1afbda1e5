import { type Kind, kinds } from "../../core/ports/Storage.ts"

const names: Readonly<Record<Kind, string>> = {
  client: "clients",
  grant: "grants",
  usage: "usages",
  account: "accounts",
  login: "logins",
  session: "sessions",
  link: "links",
  limit: "limits"
}

/** Quoted, so that a schema may be called anything. */
export const identifier = (name: string): string => `"${name.replaceAll('"', '""')}"`

/** Always with its schema: through a pooler, a `search_path` is nobody's to set. */
export const tableOf = (schema: string, kind: Kind): string => `${identifier(schema)}.${names[kind]}`

export const forEachKind = <A>(make: (kind: Kind) => A): Readonly<Record<Kind, A>> =>
  // Every kind is in `kinds`, which is what `Kind` is made of.
  Object.fromEntries(kinds.map((kind) => [kind, make(kind)])) as Record<Kind, A>
