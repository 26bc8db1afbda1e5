import { Effect, Option, Redacted } from "effect"
import type { OwnerAuditContext } from "../engine/AuditContext.ts"
import { seeOther } from "../http/answer.ts"
import { auditContextBy, noteOf } from "../http/audit.ts"
import { fieldFor, requireOwn } from "../http/csrf.ts"
import type { Fault } from "../http/Fault.ts"
import { type Parameters, readForm, readParameters } from "../http/form.ts"
import type { HttpRequest, HttpResponse } from "../http/Http.ts"
import type { Call, Handler, Services } from "../http/Route.ts"
import { lateFormNotice, returnUrlOf, returnUrlOfPage } from "../http/returnUrl.ts"
import type { Notice, Visitor } from "../pages/Layout.ts"
import type { Active } from "../people/Account.ts"
import type { Session } from "../people/Sessions.ts"
import { allowances } from "../ports/Limiter.ts"
import type { SignedIn } from "../ports/ResourceOwner.ts"
import type { StorageUnavailable } from "../ports/Storage.ts"
import { hasPassed, later, type Millis, minute } from "../rules/Instant.ts"
import { type Contended, ForgedForm, OwnersOnly } from "../rules/Refusal.ts"
import { inSession, pagesPath } from "../workspace/SessionPath.ts"
import { basePath, type OpenWorkspace } from "../workspace/Workspace.ts"
import { type PasswordPage, passwordField, passwordPage } from "./PasswordPage.ts"
import { isOwnersOnly, type SectionName } from "./SettingsLayout.ts"

export interface SettingsOptions {
  /** The host has accounts of its own: no page links to the built-in ones. */
  readonly accountsElsewhere?: boolean
  /** Only the home page, without a link to settings. */
  readonly homeOnly?: boolean
}

/** The source of visitors: the `ResourceOwner` port, or the built-in accounts, which know more of each. */
export interface Visitors<V extends SignedIn = SignedIn> {
  readonly current: (
    workspace: OpenWorkspace,
    request: HttpRequest
  ) => Effect.Effect<Option.Option<V>, StorageUnavailable>
  readonly accountsElsewhere: boolean
}

/** A person who signed in with a built-in account. */
export interface SignedInAccount extends SignedIn {
  readonly account: Active
  /** The session that they ask in. */
  readonly own: Session
}

/** A section of settings, and what its forms report on the page that they redirect to. */
export interface Section<Code extends string = string> {
  readonly name: SectionName
  /** By the code in that page's address: the address carries no words, since anyone can write a link. */
  readonly notices: { readonly [code in Code]: Notice }
}

/** A request for a section by a signed-in visitor who may see it. */
export interface Inside<V extends SignedIn = SignedIn> {
  readonly call: Call
  readonly signedIn: V
  /** The model that every page of settings is drawn with. */
  readonly visitor: Visitor
}

type Answer = Effect.Effect<HttpResponse, Fault>

/** Only for GET: the answer to a form reports that form, and not the one before. */
const noticeOf = ({ notices }: Section, { request }: Call): Notice | undefined => {
  if (request.method === "POST") return undefined
  const done = readParameters(request.query).parameters.get("done")
  return done !== undefined && Object.hasOwn(notices, done) ? notices[done] : lateFormNotice(request.query)
}

/** Takes one request from the account's share of the limiter. */
export const takeOfAccount = (services: Services, { call, signedIn }: Pick<Inside, "call" | "signedIn">) =>
  services.limiter.take({ allowance: allowances.account, workspace: call.workspace.id, of: signedIn.user })

/** A page of settings. Redirects to sign-in and back, and refuses members where a section is for owners. */
export const insidePage = <V extends SignedIn>(
  services: Services,
  visitors: Visitors<V>,
  section: Section,
  answer: (inside: Inside<V>) => Answer
): Handler =>
  Effect.fn(`settings.${section.name}`)(function* (call) {
    const current = yield* visitors.current(call.workspace, call.request)
    if (Option.isNone(current)) return seeOther(services.owner.signInAt(call.workspace, returnUrlOfPage(call)))
    const signedIn = current.value
    if (isOwnersOnly(section.name) && signedIn.role !== "owner") return yield* new OwnersOnly()
    const notice = noticeOf(section, call)
    const visitor: Visitor = {
      account: signedIn.label,
      role: signedIn.role,
      csrf: fieldFor(services, call, signedIn.session),
      now: call.now,
      accountsElsewhere: visitors.accountsElsewhere,
      ...(notice === undefined ? {} : { notice })
    }
    return yield* answer({ call, signedIn, visitor })
  })

/** A form of settings: rate limited per account, and bound to the session that it was drawn for. */
export const insideForm = <V extends SignedIn>(
  services: Services,
  visitors: Visitors<V>,
  section: Section,
  answer: (inside: Inside<V>, form: Parameters) => Answer
): Handler =>
  insidePage(
    services,
    visitors,
    section,
    Effect.fnUntraced(function* (inside) {
      const { call, signedIn } = inside
      const form = yield* Effect.fromResult(readForm(call.request))
      yield* takeOfAccount(services, inside)
      yield* requireOwn(services, call, signedIn.session, form)
      return yield* answer(inside, form)
    })
  )

/** How long a password that was given in a session stands for the person. */
const confirmedFor: Millis = 5 * minute

const isConfirmed = ({ call, signedIn: { confirmedAt } }: Inside): boolean =>
  confirmedAt !== undefined && !hasPassed(later(confirmedAt, confirmedFor), call.now)

/** Asks for the password, and keeps what was typed in the fields of the page that asks. */
const askPassword = (services: Services, { call, signedIn, visitor }: Inside, form: Parameters, problem?: string) => {
  const { csrf: _csrf, [passwordField]: _password, ...typed } = Object.fromEntries(form)
  const model: PasswordPage = {
    account: signedIn.label,
    action: inSession(call.workspace, returnUrlOf(call)),
    fields: { ...typed, csrf: visitor.csrf },
    cancel: pagesPath(call.workspace) + call.path,
    ...(problem === undefined ? {} : { problem })
  }
  return services.pages.show(call.workspace, 403, (place) => passwordPage(place, model))
}

/**
 * For a form that makes a key or decides who comes in, so that a session's cookie alone cannot: acts once the password
 * was given in the last five minutes of this session, and asks for it before. A form that carries a secret of its own
 * asks for the password itself.
 */
export const withPassword = Effect.fnUntraced(function* (
  services: Services,
  inside: Inside,
  form: Parameters,
  act: () => Answer
): Effect.fn.Return<HttpResponse, Effect.Error<Answer>> {
  const { call, signedIn } = inside
  const { confirm } = services.owner
  if (confirm === undefined || isConfirmed(inside)) return yield* act()
  const typed = form.get(passwordField)
  if (typed === undefined) return askPassword(services, inside, form)
  const fits = yield* confirm(call.workspace, signedIn, Redacted.make(typed, { label: "password" }), call.now)
  if (fits) return yield* act()
  const { user } = signedIn
  const refusal = { change: "confirmed", reason: "wrong_password", account: user, by: user }
  yield* noteOf(services, call, { _tag: "AccountRefused", ...refusal })
  return askPassword(services, inside, form, "This is not your current password.")
})

type Act = (
  services: Services,
  inside: Inside,
  form: Parameters
) => Effect.Effect<HttpResponse, Effect.Error<Answer> | Contended>

type Acts = Readonly<Record<string, Act>>

/** The forms of a section by their `action`: those that ask for the password, and those that do not. */
export const sectionForms = (
  services: Services,
  visitors: Visitors,
  section: Section,
  confirmed: Acts,
  others: Acts = {}
): Handler =>
  insideForm(services, visitors, section, (inside, form) => {
    const name = form.get("action") ?? ""
    const actIn = (acts: Acts) => (Object.hasOwn(acts, name) ? acts[name] : undefined)
    const act = actIn(confirmed)
    if (act !== undefined) return withPassword(services, inside, form, () => act(services, inside, form))
    const other = actIn(others)
    return other === undefined
      ? Effect.fail(new ForgedForm({ reason: "field_missing" }))
      : other(services, inside, form)
  })

/** The address of a section whose page reports what a form did. */
export const doneUrl = <Code extends string>(
  call: Call,
  section: Section<Code>,
  done: Code,
  more: Readonly<Record<string, string>> = {}
) => {
  const query = new URLSearchParams({ done, ...more })
  return `${basePath(call.workspace.issuer)}/settings/${section.name}?${query}`
}

/** Redirects to it, in this session. */
export const backTo = <Code extends string>(
  call: Call,
  section: Section<Code>,
  done: Code,
  more?: Readonly<Record<string, string>>
): HttpResponse => seeOther(inSession(call.workspace, doneUrl(call, section, done, more)))

/** The visitor as the one who acts, for the audit stream. */
export const auditContext = ({ call, signedIn }: Inside): OwnerAuditContext => auditContextBy(call, signedIn.user)
