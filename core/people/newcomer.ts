import { Effect, Redacted } from "effect"
import { cleanUpOrWarn } from "../engine/transact.ts"
import { takeOfAddress } from "../http/addressLimit.ts"
import { noteOf, refused } from "../http/audit.ts"
import { commonErrorPage } from "../http/faults.ts"
import { type Parameters, readForm, readParameters } from "../http/form.ts"
import type { HttpResponse } from "../http/Http.ts"
import type { Call, Handler, Parts } from "../http/Route.ts"
import { linkSpent } from "../pages/CommonErrors.ts"
import { allowances } from "../ports/Limiter.ts"
import type { StorageUnavailable } from "../ports/Storage.ts"
import { ForgedForm } from "../rules/Refusal.ts"
import { basePath } from "../workspace/Workspace.ts"
import { AccountRefusal, loginIdOf, normaliseEmail } from "./Account.ts"
import type { Accounts } from "./Accounts.ts"
import { drawForm, isOwnForm, problemOf } from "./browserForm.ts"
import { hasAccounts } from "./firstOwner.ts"
import type { Link } from "./Links.ts"
import { acceptInvitePage, type NewAccount, type NewAccountProblems, setUpPage } from "./NewAccount.ts"
import { signedInAnew, welcome } from "./welcome.ts"

/** A link with the text that it was found by. */
interface Arrival {
  readonly link: Link
  readonly token: string
}

/** What was typed the last time, and what was wrong with it. */
interface Typed {
  readonly name?: string
  readonly email?: string
  readonly problems?: NewAccountProblems
}

const spent = (parts: Parts, call: Call): HttpResponse =>
  commonErrorPage(parts.pages, call, linkSpent(`${basePath(call.workspace.issuer)}/login`))

/** A link of this kind whose account can still be opened. Looking at it uses nothing up: scanners of mail look, too. */
const arrive = Effect.fnUntraced(function* (
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
  parts: Parts,
  accounts: Accounts["Service"],
  call: Call,
  status: number,
  { link, token }: Arrival,
  typed: Typed
): HttpResponse => {
  const { csrf, headers } = drawForm(parts, call)
  const model: NewAccount = { csrf, token, passwordLength: accounts.policy.passwordLength, ...typed }
  if (link._tag === "SetUp")
    return parts.pages.show(call.workspace, status, (place) => setUpPage(place, model), headers)
  const invitation = {
    ...model,
    ...(link.email === null ? {} : { email: link.email }),
    role: link.role,
    invitedBy: link.invitedBy,
    emailIsGiven: link.email !== null
  }
  return parts.pages.show(call.workspace, status, (place) => acceptInvitePage(place, invitation), headers)
}

/** The page that a link opens. */
export const newcomerPage = (parts: Parts, accounts: Accounts["Service"], tag: Link["_tag"]): Handler =>
  Effect.fnUntraced(function* (call) {
    const token = readParameters(call.request.query).parameters.get("token") ?? ""
    const arrival = yield* arrive(accounts, call, tag, token)
    return arrival === undefined ? spent(parts, call) : draw(parts, accounts, call, 200, arrival, {})
  })

/** Each start prints a set-up link while there is no account, so that several may be out: one of them sets up. */
const claimOf = ({ once }: Accounts["Service"], { workspace }: Call, link: Link) =>
  link._tag === "SetUp"
    ? Effect.flatMap(once.take(workspace.id, "set-up", "", link.account, link.expiresAt), (taken) =>
        taken ? Effect.void : Effect.fail(new AccountRefusal({ reason: "link_spent" }))
      )
    : Effect.void

const open = Effect.fnUntraced(function* (accounts: Accounts["Service"], call: Call, link: Link, form: Parameters) {
  const email = form.get("email") ?? ""
  const typed = normaliseEmail(email)
  if (link._tag === "Invitation" && link.email !== null && (typed._tag === "None" || typed.value !== link.email)) {
    return yield* new AccountRefusal({ reason: "email_not_invited" })
  }
  const draft = {
    email,
    name: form.get("name") ?? "",
    role: link._tag === "SetUp" ? "owner" : link.role,
    password: Redacted.make(form.get("password") ?? "", { label: "password" }),
    signsIn: true
  } as const
  return yield* accounts.open(call.workspace.id, draft, link.account, claimOf(accounts, call, link))
})

/** Its form: the account is opened, the link is used up, and the person is signed in. */
export const newcomerForm = (parts: Parts, accounts: Accounts["Service"], tag: Link["_tag"]): Handler =>
  Effect.fnUntraced(function* (call) {
    const form = yield* Effect.fromResult(readForm(call.request))
    yield* takeOfAddress(parts.limiter, call, allowances.signIn)
    const arrival = yield* arrive(accounts, call, tag, form.get("token") ?? "")
    if (arrival === undefined) {
      yield* noteOf(parts, call, { _tag: "AccountRefused", change: "created", reason: "link_spent" })
      return spent(parts, call)
    }
    const typed = { name: form.get("name") ?? "", email: form.get("email") ?? "" }
    if (!isOwnForm(parts, call, form)) {
      yield* refused(parts.audit, call, new ForgedForm({ reason: "csrf" }))
      const problems = {
        form: "This page was open for too long, or your browser keeps no cookies. Please send it again."
      }
      return draw(parts, accounts, call, 403, arrival, { ...typed, problems })
    }
    const opened = yield* Effect.result(open(accounts, call, arrival.link, form))
    if (opened._tag === "Failure") {
      if (opened.failure._tag !== "AccountRefusal") return yield* opened.failure
      yield* noteOf(parts, call, { _tag: "AccountRefused", change: "created", reason: opened.failure.reason })
      if (opened.failure.reason === "link_spent") return spent(parts, call)
      const { field, text } = problemOf(opened.failure, accounts.policy.passwordLength)
      return draw(parts, accounts, call, 400, arrival, { ...typed, problems: { [field]: text } })
    }
    const account = opened.success
    const { id, role } = account
    yield* noteOf(parts, call, { _tag: "AccountChanged", account: id, change: "created", by: id, role })
    yield* cleanUpOrWarn(
      call.workspace.id,
      accounts.links.remove(call.workspace.id, arrival.link.id),
      "a link that was used up could not be removed, and opens nothing",
      { account: id }
    )
    const goOn = `${basePath(call.workspace.issuer)}/settings`
    return yield* signedInAnew(parts, accounts, call, account, goOn, (secret) =>
      welcome(parts, accounts, call, { account, login: loginIdOf(account.email), secret }, goOn)
    )
  })
