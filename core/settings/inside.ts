import { Effect, Option } from "effect"
import type { OwnerAuditContext } from "../engine/AuditContext.ts"
import { seeOther } from "../http/answer.ts"
import { auditContextBy } from "../http/audit.ts"
import { fieldFor, requireOwn } from "../http/csrf.ts"
import { type Parameters, readForm, readParameters } from "../http/form.ts"
import type { HttpResponse } from "../http/Http.ts"
import type { Call, Handler, Parts } from "../http/Route.ts"
import { lateFormNotice, returnUrlOfPage } from "../http/returnUrl.ts"
import type { Notice, Visitor } from "../pages/Layout.ts"
import { allowances } from "../ports/Limiter.ts"
import type { SignedIn } from "../ports/ResourceOwner.ts"
import type { StorageUnavailable } from "../ports/Storage.ts"
import { OwnersOnly, type Refusal } from "../rules/Refusal.ts"
import { basePath } from "../workspace/Workspace.ts"

export interface SettingsOptions {
  /** A host with accounts of its own says so, and no page leads to those that are built in. */
  readonly accountsElsewhere?: boolean
  /** The home page alone, which then leads to no settings. */
  readonly homeOnly?: boolean
}

/** What a form did, by the code that stands in the address of the page after it. The words are never in an address. */
const notices = {
  "app-revoked": { kind: "done", text: "Access is revoked. Whatever the application held stopped working." },
  "app-gone": { kind: "problem", text: "No such application is connected to your account. Nothing was changed." },
  "key-revoked": { kind: "done", text: "The key is revoked. It stopped working." },
  // Of two clicks, the answer to the second is the one that is seen, and the first may have done it all.
  "key-gone": {
    kind: "problem",
    text: "This key was replaced or revoked already. If you replaced it and never saw the new one, look for it in the list by when it was created, and rotate that one."
  },
  "client-disabled": { kind: "done", text: "The client is disabled. Its tokens stopped working." },
  "client-enabled": { kind: "done", text: "The client is enabled. What people allowed it counts again." },
  "client-deleted": { kind: "done", text: "The client is deleted, with everything that people allowed it." },
  "client-gone": {
    kind: "problem",
    text: "This client is not registered any more. If you just deleted it, that worked."
  }
} as const satisfies { readonly [code: string]: Notice }
type NoticeCode = keyof typeof notices

const isCode = (code: string): code is NoticeCode => Object.hasOwn(notices, code)

/** Only where a page is looked at: the form on it is about to say something else. */
const readNotice = (call: Call): Notice | undefined => {
  if (call.request.method === "POST" || call.request.query === "") return undefined
  const code = readParameters(call.request.query).parameters.get("done")
  return code !== undefined && isCode(code) ? notices[code] : undefined
}

type Section = "apps" | "keys" | "clients"
type Audience = "anybody" | "owners"

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
): Handler =>
  Effect.fnUntraced(function* (call) {
    const signedIn = Option.getOrUndefined(yield* parts.owner.current(call.workspace, call.request))
    if (signedIn === undefined) return seeOther(parts.owner.signInAt(call.workspace, returnUrlOfPage(call)))
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
): Handler =>
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
export const auditContext = ({ call, signedIn }: Inside): OwnerAuditContext => auditContextBy(call, signedIn.user)
