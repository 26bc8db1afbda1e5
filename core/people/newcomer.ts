import { Effect, Redacted } from "effect"
import { cleanUpOrWarn } from "../engine/transact.ts"
import { takeOfAddress } from "../http/addressLimit.ts"
import { noteOf, refused } from "../http/audit.ts"
import { commonErrorPage } from "../http/faults.ts"
import { type Parameters, readForm, readParameters } from "../http/form.ts"
import type { HttpResponse } from "../http/Http.ts"
import type { Call, Handler, Services } from "../http/Route.ts"
import { linkSpent } from "../pages/CommonErrors.ts"
import { allowances, networkOf } from "../ports/Limiter.ts"
import type { StorageUnavailable } from "../ports/Storage.ts"
import { ForgedForm } from "../rules/Refusal.ts"
import { speaksFor } from "../rules/TrustedIssuer.ts"
import { pagesPath } from "../workspace/SessionPath.ts"
import { basePath } from "../workspace/Workspace.ts"
import { AccountRefusal, type Active, type Email, loginIdOf, normaliseEmail } from "./Account.ts"
import type { Accounts } from "./Accounts.ts"
import { problemOf } from "./accountProblems.ts"
import { drawForm, isOwnForm } from "./browserForm.ts"
import { hasAccounts } from "./firstOwner.ts"
import type { Link } from "./Links.ts"
import { acceptInvitePage, type NewAccount, setUpPage } from "./NewAccount.ts"
import { signedInAnew, welcome } from "./welcome.ts"

/** A link and the secret that it was found by. */
interface Arrival {
  readonly link: Link
  readonly token: string
}

/** The fields of the form as they were sent, and what was wrong with one. */
type Typed = Pick<NewAccount, "name" | "email" | "problem">

const spent = (services: Services, call: Call): HttpResponse =>
  commonErrorPage(services.pages, call, linkSpent(`${pagesPath(call.workspace)}/login`))

/** A link of this kind whose account can still be opened. Reading it does not use it up: mail scanners open links. */
const arrive = Effect.fn("people.openLink")(function* (
  accounts: Accounts["Service"],
  call: Call,
  tag: Link["_tag"],
  token: string
): Effect.fn.Return<Arrival | undefined, StorageUnavailable> {
  const link = yield* accounts.links.find(call.workspace.id, token, call.now)
  if (link?._tag !== tag) return undefined
  if (link._tag === "SetUp" && (yield* hasAccounts(accounts, call.workspace.id))) return undefined
  const account = yield* accounts.book.find(call.workspace.id, link.account)
  return account === undefined || account._tag === "Reserved" ? { link, token } : undefined
})

const draw = (
  services: Services,
  accounts: Accounts["Service"],
  call: Call,
  status: number,
  { link, token }: Arrival,
  typed: Typed
): HttpResponse => {
  const { csrf, headers } = drawForm(services, call)
  const model: NewAccount = { csrf, token, passwordLength: accounts.policy.passwordLength, ...typed }
  if (link._tag === "SetUp")
    return services.pages.show(call.workspace, status, (place) => setUpPage(place, model), headers)
  const invitation = {
    ...model,
    ...(link.email === null ? {} : { email: link.email }),
    role: link.role,
    invitedBy: link.invitedBy,
    emailIsGiven: link.email !== null
  }
  return services.pages.show(call.workspace, status, (place) => acceptInvitePage(place, invitation), headers)
}

/** The page of a set-up or invitation link. */
export const newcomerPage = (services: Services, accounts: Accounts["Service"], tag: Link["_tag"]): Handler =>
  Effect.fn("people.newcomerPage")(function* (call) {
    const token = readParameters(call.request.query).parameters.get("token") ?? ""
    const arrival = yield* arrive(accounts, call, tag, token)
    return arrival === undefined ? spent(services, call) : draw(services, accounts, call, 200, arrival, {})
  })

/** Each start without an account prints a set-up link, so several may be valid: only one of them sets up. */
const claimOf = ({ once }: Accounts["Service"], { workspace }: Call, link: Link) =>
  link._tag === "SetUp"
    ? Effect.flatMap(once.take(workspace.id, "set-up", "", link.account, link.expiresAt), (taken) =>
        taken ? Effect.void : Effect.fail(new AccountRefusal({ reason: "link_spent" }))
      )
    : Effect.void

/** Whether an issuer that owners trust may say whose an address is: who chose it freely could be taken for its person. */
const isSpokenFor = ({ openings }: Services, { now, workspace }: Call, email: Email) =>
  Effect.map(openings.current(workspace, now), ({ trustedIssuers = [] }) =>
    trustedIssuers.some((trusted) => speaksFor(trusted, email))
  )

const open = Effect.fnUntraced(function* (
  services: Services,
  accounts: Accounts["Service"],
  call: Call,
  link: Link,
  form: Parameters
) {
  const email = form.get("email") ?? ""
  const typed = normaliseEmail(email)
  if (link._tag === "Invitation" && link.email !== null && typed !== link.email) {
    return yield* new AccountRefusal({ reason: "email_not_invited" })
  }
  const isChosen = link._tag === "Invitation" && link.email === null && typed !== undefined
  if (isChosen && (yield* isSpokenFor(services, call, typed))) {
    return yield* new AccountRefusal({ reason: "email_spoken_for" })
  }
  const draft = {
    email,
    name: form.get("name") ?? "",
    role: link._tag === "SetUp" ? "owner" : link.role,
    password: Redacted.make(form.get("password") ?? "", { label: "password" }),
    network: networkOf(call.request.peer ?? ""),
    signsIn: true
  } as const
  return yield* accounts.open(call.workspace.id, draft, link.account, claimOf(accounts, call, link))
})

const outdatedForm =
  "This page was open for too long, or your browser does not keep cookies. Please send the form again."

const welcomeNewcomer = Effect.fn("people.welcomeNewcomer")(function* (
  services: Services,
  accounts: Accounts["Service"],
  call: Call,
  link: Link,
  account: Active
) {
  const { id, role } = account
  yield* noteOf(services, call, { _tag: "AccountChanged", account: id, change: "created", by: id, role })
  yield* cleanUpOrWarn(
    call.workspace.id,
    accounts.links.remove(call.workspace.id, link.id),
    "a used link could not be deleted; it opens no further account",
    { account: id }
  )
  const next = `${basePath(call.workspace.issuer)}/settings`
  return yield* signedInAnew(services, accounts, call, account, next, (secret) =>
    welcome(services, accounts, call, { account, login: loginIdOf(account.email), secret }, next)
  )
})

/** The form of that page: opens the account, uses up the link and signs the person in. */
export const newcomerForm = (services: Services, accounts: Accounts["Service"], tag: Link["_tag"]): Handler =>
  Effect.fn("people.newcomerForm")(function* (call) {
    const form = yield* Effect.fromResult(readForm(call.request))
    yield* takeOfAddress(services.limiter, call, allowances.signIn)
    const arrival = yield* arrive(accounts, call, tag, form.get("token") ?? "")
    const refuse = (reason: AccountRefusal["reason"]) =>
      noteOf(services, call, { _tag: "AccountRefused", change: "created", reason })
    if (arrival === undefined) return yield* Effect.as(refuse("link_spent"), spent(services, call))
    const typed = { name: form.get("name") ?? "", email: form.get("email") ?? "" }
    if (!isOwnForm(services, call, form)) {
      yield* refused(services.audit, call, new ForgedForm({ reason: "csrf" }))
      return draw(services, accounts, call, 403, arrival, { ...typed, problem: { field: "form", text: outdatedForm } })
    }
    return yield* open(services, accounts, call, arrival.link, form).pipe(
      Effect.flatMap((account) => welcomeNewcomer(services, accounts, call, arrival.link, account)),
      Effect.catchTag("AccountRefusal", (refusal) => {
        const problem = problemOf(refusal, accounts.policy.passwordLength)
        const page =
          refusal.reason === "link_spent"
            ? spent(services, call)
            : draw(services, accounts, call, 400, arrival, { ...typed, problem })
        return Effect.as(refuse(refusal.reason), page)
      })
    )
  })
