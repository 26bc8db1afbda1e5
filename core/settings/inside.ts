import { Effect, Option, Redacted } from "effect"
import type { OwnerAuditContext } from "../engine/AuditContext.ts"
import { seeOther } from "../http/answer.ts"
import { auditContextBy, noteOf } from "../http/audit.ts"
import { fieldFor, requireOwn } from "../http/csrf.ts"
import type { Fault } from "../http/Fault.ts"
import { type Parameters, readForm, readParameters } from "../http/form.ts"
import type { HttpRequest, HttpResponse } from "../http/Http.ts"
import { type Call, type Endpoint, type Handler, page, pageEndpoint, type Services } from "../http/Route.ts"
import { lateFormNotice, returnUrlOf, returnUrlOfPage } from "../http/returnUrl.ts"
import type { Notice, Visitor } from "../pages/Layout.ts"
import type { Active } from "../people/Account.ts"
import type { Accounts } from "../people/Accounts.ts"
import type { Session } from "../people/Sessions.ts"
import { allowances } from "../ports/Limiter.ts"
import type { SignedIn } from "../ports/ResourceOwner.ts"
import type { StorageUnavailable } from "../ports/Storage.ts"
import { hasPassed, later, type Millis, minute } from "../rules/Instant.ts"
import { ForgedForm, OwnersOnly } from "../rules/Refusal.ts"
import { inSession } from "../workspace/SessionPath.ts"
import { basePath, type OpenWorkspace } from "../workspace/Workspace.ts"
import { type PasswordPage, passwordField, passwordPage } from "./PasswordPage.ts"
import { cursors, isOwnersOnly, type SectionName } from "./SettingsLayout.ts"

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
  /** Where both are kept. */
  readonly accounts: Accounts["Service"]
}

/** A section of settings, and what its forms report on the page that they redirect to. */
export interface Section<Code extends string = string> {
  readonly name: SectionName
  /** By the code in that page's address: the address carries no words, since anyone can write a link. */
  readonly notices: { readonly [code in Code]: Notice }
}

/** A request for a section by a signed-in visitor who may see it. */
export interface Inside<V extends SignedIn = SignedIn> {
  readonly services: Services
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
export const takeOfAccount = ({ call, services, signedIn }: Inside) =>
  services.limiter.take({ allowance: allowances.account, workspace: call.workspace.id, of: signedIn.user })

/** Redirects to sign-in and back, and refuses members where a section is for owners. */
const insidePage = <V extends SignedIn>(
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
    return yield* answer({ services, call, signedIn, visitor })
  })

/** How long a password that was given in a session stands for the person. */
const confirmedFor: Millis = 5 * minute

const isConfirmed = ({ call, signedIn: { confirmedAt } }: Inside): boolean =>
  confirmedAt !== undefined && !hasPassed(later(confirmedAt, confirmedFor), call.now)

/** Asks for the password, and keeps what was typed in the fields of the page that asks. */
const askPassword = ({ call, services, signedIn, visitor }: Inside, form: Parameters, problem?: string) => {
  const { csrf: _csrf, [passwordField]: _password, ...typed } = Object.fromEntries(form)
  const model: PasswordPage = {
    account: signedIn.label,
    address: inSession(call.workspace, returnUrlOf(call)),
    fields: { ...typed, csrf: visitor.csrf },
    problem
  }
  return services.pages.show(call.workspace, 403, (place) => passwordPage(place, model))
}

/**
 * For a form that makes a key or decides who comes in, so that a session's cookie alone cannot: acts once the password
 * was given in the last five minutes of this session, and asks for it before. A form that carries a secret of its own
 * asks for the password itself.
 */
const withPassword = Effect.fnUntraced(function* (
  inside: Inside,
  form: Parameters,
  act: Answer
): Effect.fn.Return<HttpResponse, Fault> {
  const { call, services, signedIn } = inside
  const { confirm } = services.owner
  if (confirm === undefined || isConfirmed(inside)) return yield* act
  const typed = form.get(passwordField)
  if (typed === undefined) return askPassword(inside, form)
  const fits = yield* confirm(call.workspace, signedIn, Redacted.make(typed, { label: "password" }), call.now)
  if (fits) return yield* act
  const { user } = signedIn
  const refusal = { change: "confirmed", reason: "wrong_password", account: user, by: user }
  yield* noteOf(services, call, { _tag: "AccountRefused", ...refusal })
  return askPassword(inside, form, "This is not your current password.")
})

/** Forms of a section, by their `action`. */
type Acts<V extends SignedIn> = Readonly<Record<string, (inside: Inside<V>, form: Parameters) => Answer>>

interface Answers<V extends SignedIn> {
  readonly show: (inside: Inside<V>) => Answer
  /** Those that act once the password was given. */
  readonly confirmed?: Acts<V>
  readonly others?: Acts<V>
}

/**
 * The page and the forms of a section. A form takes from its account's share of the limiter, and is bound to the session
 * that it was drawn for.
 */
export const sectionEndpoint =
  <V extends SignedIn>(section: Section, { confirmed = {}, others = {}, show }: Answers<V>) =>
  (visitorsOf: (services: Services) => Visitors<V>): Endpoint => {
    const answerForm = Effect.fnUntraced(function* (inside: Inside<V>): Effect.fn.Return<HttpResponse, Fault> {
      const { call, services, signedIn } = inside
      const form = yield* Effect.fromResult(readForm(call.request))
      yield* takeOfAccount(inside)
      yield* requireOwn(services, call, signedIn.session, form)
      const name = form.get("action") ?? ""
      const actIn = (acts: Acts<V>) => (Object.hasOwn(acts, name) ? acts[name]?.(inside, form) : undefined)
      const act = actIn(confirmed)
      if (act !== undefined) return yield* withPassword(inside, form, act)
      return yield* actIn(others) ?? Effect.fail(new ForgedForm({ reason: "field_missing" }))
    })
    const answering = (answer: (inside: Inside<V>) => Answer) =>
      page((services) => insidePage(services, visitorsOf(services), section, answer))
    return pageEndpoint(`/settings/${section.name}`, { GET: answering(show), POST: answering(answerForm) })
  }

/** The address of a section whose page reports what a form did, with the part of its lists that the form was sent from. */
export const doneUrl = <Code extends string>(
  { request, workspace }: Call,
  section: Section<Code>,
  done: Code,
  more: Readonly<Record<string, string>> = {}
) => {
  const { parameters } = readParameters(request.query)
  const query = new URLSearchParams({ done, ...more })
  for (const name of cursors) {
    const value = parameters.get(name)
    if (value !== undefined) query.set(name, value)
  }
  return `${basePath(workspace.issuer)}/settings/${section.name}?${query}`
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
