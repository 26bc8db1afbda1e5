import type { Kind } from "../../core/ports/Storage.ts"

/** A table for each kind keeps the records of one kind together on their pages. */
export const tables: { readonly [kind in Kind]: string } = {
  client: "clients",
  grant: "grants",
  usage: "usages",
  account: "accounts",
  login: "logins",
  session: "sessions",
  link: "links",
  limit: "limits"
}
