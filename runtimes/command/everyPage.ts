import { Effect } from "effect"
import type { Listed } from "../../core/server/Records.ts"

const pageSize = 200

/** All of a list, page by page. */
export const everyPage = Effect.fnUntraced(function* <A, E>(
  list: (page: { readonly after: string | undefined; readonly limit: number }) => Effect.Effect<Listed<A>, E>
) {
  const all: Array<A> = []
  let after: string | undefined
  do {
    const page = yield* list({ after, limit: pageSize })
    all.push(...page.values)
    after = page.next
  } while (after !== undefined)
  return all
})
