import { Effect, Option } from "effect"
import { seeOther } from "../http/answer.ts"
import type { Call, Endpoint } from "../http/Call.ts"
import { type Parameters, readForm } from "../http/form.ts"
import type { HttpResponse } from "../http/Http.ts"
import { lateFormNotice, wayBack } from "../http/lateForm.ts"
import { occasionBy } from "../http/occasion.ts"
import type { Parts } from "../http/Parts.ts"
import { fieldFor, requireOwn } from "../http/sessionForm.ts"
import type { Visitor } from "../pages/Visitor.ts"
import { allowances } from "../ports/allowances.ts"
import type { SignedIn } from "../ports/ResourceOwner.ts"
import type { StorageUnavailable } from "../ports/Storage.ts"
import { OwnersOnly, type Refusal } from "../rules/Refusal.ts"
import type { OwnersOccasion } from "../server/Occasion.ts"
import { basePath } from "../workspace/Workspace.ts"
import { type NoticeCode, readNotice } from "./notices.ts"
import type { SettingsOptions } from "./SettingsOptions.ts"

export type Section = "apps" | "keys" | "clients"
export type Audience = "anybody" | "owners"

/** A call of somebody who is signed in, and may be where they are. */
export interface Inside {
  readonly call: Call
  readonly signedIn: SignedIn
  /** What every page of settings is drawn with. */
  readonly visitor: Visitor
}

type Answer = Effect.Effect<HttpResponse, Refusal | StorageUnavailable>

export const takeOfAccount = (parts: Parts, { call, signedIn }: Pick<Inside, "call" | "signedIn">) =>
  parts.limiter.take({ allowance: allowances.account, workspace: call.workspace.id, of: signedIn.user })

/** Whoever is not signed in is sent to do so and comes back; a member is told what is for owners. */
export const insidePage = (
  parts: Parts,
  options: SettingsOptions,
  audience: Audience,
  answer: (inside: Inside) => Answer
): Endpoint =>
  Effect.fnUntraced(function* (call) {
    const signedIn = Option.getOrUndefined(yield* parts.owner.current(call.workspace, call.request))
    if (signedIn === undefined) return seeOther(parts.owner.signInAt(call.workspace, wayBack(call)))
    if (audience === "owners" && signedIn.role !== "owner") return yield* new OwnersOnly()
    const notice = readNotice(call) ?? lateFormNotice(call.request.query)
    const visitor: Visitor = {
      account: signedIn.label,
      role: signedIn.role,
      csrf: fieldFor(parts, call, signedIn.session),
      now: call.now,
      accountsElsewhere: options.accountsElsewhere === true,
      ...(notice === undefined ? {} : { notice })
    }
    return yield* answer({ call, signedIn, visitor })
  })

/** The same for a form: only one counts that was drawn for this very session. */
export const insideForm = (
  parts: Parts,
  options: SettingsOptions,
  audience: Audience,
  answer: (inside: Inside, form: Parameters) => Answer
): Endpoint =>
  insidePage(
    parts,
    options,
    audience,
    Effect.fnUntraced(function* (inside) {
      const { call, signedIn } = inside
      const form = yield* Effect.fromResult(readForm(call.request))
      yield* takeOfAccount(parts, inside)
      yield* requireOwn(parts, call, signedIn.session, form)
      return yield* answer(inside, form)
    })
  )

/** Back to a section, which then says what was done. */
export const backTo = (call: Call, section: Section, done: NoticeCode, search?: string): HttpResponse => {
  const query = new URLSearchParams({ done, ...(search === undefined ? {} : { q: search }) })
  return seeOther(`${basePath(call.workspace.issuer)}/settings/${section}?${query}`)
}

/** What whoever is signed in does here. */
export const occasion = ({ call, signedIn }: Inside): OwnersOccasion => occasionBy(call, signedIn.user)
