import { Effect, Option } from "effect"
import { seeOther } from "../http/answer.ts"
import { fieldFor, requireOwn } from "../http/csrf.ts"
import { type Parameters, readForm } from "../http/form.ts"
import type { HttpResponse } from "../http/Http.ts"
import type { Call, Handler, Parts } from "../http/Route.ts"
import { lateFormNotice, returnUrlOfPage } from "../http/returnUrl.ts"
import type { Visitor } from "../pages/Layout.ts"
import type { Accounts, Here } from "../people/Accounts.ts"
import type { StorageUnavailable } from "../ports/Storage.ts"
import { OwnersOnly, type Refusal } from "../rules/Refusal.ts"

/** A call of somebody who is signed in. */
export interface Inside {
  readonly call: Call
  readonly here: Here
  /** For the forms of the page that answers. */
  readonly csrf: string
}

/** What every page of theirs is drawn with. */
export const visitorOf = ({ call, csrf, here }: Inside, said: Visitor["notice"]): Visitor => {
  const notice = said ?? lateFormNotice(call.request.query)
  return {
    account: here.account.email,
    role: here.account.role,
    csrf,
    now: call.now,
    ...(notice === undefined ? {} : { notice })
  }
}

type Answer = Effect.Effect<HttpResponse, Refusal | StorageUnavailable>

/** A page of settings: whoever is not signed in is sent to do so, whoever may not see it is told. */
export const insidePage = (
  parts: Parts,
  accounts: Accounts["Service"],
  who: "anybody" | "owners",
  answer: (inside: Inside) => Answer
): Handler =>
  Effect.fnUntraced(function* (call) {
    const here = Option.getOrUndefined(yield* accounts.here(call.workspace, call.request))
    if (here === undefined) return seeOther(parts.owner.signInAt(call.workspace, returnUrlOfPage(call)))
    if (who === "owners" && here.account.role !== "owner") return yield* new OwnersOnly()
    return yield* answer({ call, here, csrf: fieldFor(parts, call, here.session.id) })
  })

/** The same for its forms: only those count that were drawn for this very session. */
export const insideForm = (
  parts: Parts,
  accounts: Accounts["Service"],
  who: "anybody" | "owners",
  answer: (inside: Inside, form: Parameters) => Answer
): Handler =>
  insidePage(
    parts,
    accounts,
    who,
    Effect.fnUntraced(function* (inside) {
      const { call, here } = inside
      const form = yield* Effect.fromResult(readForm(call.request))
      yield* requireOwn(parts, call, here.session.id, form)
      return yield* answer(inside, form)
    })
  )
