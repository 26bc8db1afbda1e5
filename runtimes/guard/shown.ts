import { Effect } from "effect"
import { secretJson } from "../../core/http/answer.ts"
import type { HttpResponse } from "../../core/http/Http.ts"
import { readPresented } from "../../core/oauth/presented/guard.ts"
import { presentations } from "../../core/oauth/presented/table.ts"
import { Signatures } from "../../core/ports/Signatures.ts"
import { Instant } from "../../core/rules/Instant.ts"
import type { GuardedCall } from "./Check.ts"

/** What a call shows, by the rows of the core. None of them has an adapter here, so each is done at once. */
export const shownBy = ({ headers, method, path }: GuardedCall, base: string, now: number) =>
  Effect.runSyncExit(
    readPresented(presentations, { method, path, query: "", headers, body: "" }, base, Instant.make(now), {
      signatures: Signatures.none
    })
  )

/** Nobody could say, so nobody is admitted. */
export const notNow: HttpResponse = secretJson(
  503,
  { error: "temporarily_unavailable", error_description: "The token could not be checked. Try again." },
  [["retry-after", "2"]]
)
