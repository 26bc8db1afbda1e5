import { Effect, Option, Redacted, Schema } from "effect"
import { gather } from "../engine/lists.ts"
import { seeOther } from "../http/answer.ts"
import { noteOf } from "../http/audit.ts"
import { type Parameters, readParameters } from "../http/form.ts"
import type { HttpResponse } from "../http/Http.ts"
import type { Call, Handler, Parts } from "../http/Route.ts"
import type { Notice } from "../pages/Layout.ts"
import { type Account, AccountRefusal, type Active, normaliseEmail } from "../people/Account.ts"
import type { Accounts } from "../people/Accounts.ts"
import { problemOf } from "../people/browserForm.ts"
import type { Invitation } from "../people/Links.ts"
import { removeAccount, tellRevoked } from "../people/removal.ts"
import type { StorageUnavailable } from "../ports/Storage.ts"
import { UserId } from "../rules/Id.ts"
import { hasPassed, later } from "../rules/Instant.ts"
import { ForgedForm } from "../rules/Refusal.ts"
import { Digest } from "../rules/Secret.ts"
import { basePath, endpointUrl } from "../workspace/Workspace.ts"
import { type Inside, insideForm, insidePage, visitorOf } from "./insideAccounts.ts"
import { type InviteRow, type MemberRow, type MembersPage, membersPage } from "./MembersPage.ts"
import { pagingOf } from "./Rows.ts"

const isUserId = Schema.is(UserId)
const isDigest = Schema.is(Digest)

/** Open invitations are few; of more than this the first are shown. */
const invitationsShown = 100

/** What the form before did; anything else in the address says nothing. */
const done: ReadonlyMap<string, string> = new Map([
  ["withdraw", "The invitation is withdrawn."],
  ["removed", "They are removed: signed out everywhere, and their applications have lost their access."],
  ["removing", "They are removed and signed out everywhere. Their applications lose their access within minutes."]
])

const memberRow = (account: Active, inside: Inside): MemberRow => ({
  id: account.id,
  ...(account.name === null ? {} : { name: account.name }),
  email: account.email,
  role: account.role,
  joinedAt: account.createdAt,
  ...(account.signedInAt === null ? {} : { lastSignedInAt: account.signedInAt }),
  isVisitor: account.id === inside.here.account.id
})

const pickMember = (inside: Inside) => (account: Account) =>
  Effect.succeed(account._tag === "Active" ? memberRow(account, inside) : undefined)

const inviteRow = ({ id, email, role, createdAt, expiresAt }: Invitation): InviteRow => ({
  id,
  role,
  createdAt,
  expiresAt,
  ...(email === null ? {} : { email })
})

type Lists = Pick<MembersPage, "members" | "paging" | "invites">
type Said = Pick<MembersPage, "made" | "form"> & { readonly notice?: Notice }

const readLists = Effect.fnUntraced(function* (
  accounts: Accounts["Service"],
  inside: Inside
): Effect.fn.Return<Lists, StorageUnavailable> {
  const { call } = inside
  const cursor = readParameters(call.request.query).parameters.get("after")
  const after = isUserId(cursor) ? cursor : undefined
  const found = yield* gather((page) => accounts.book.list(call.workspace.id, page), after, pickMember(inside))
  const links = yield* accounts.links.list(call.workspace.id, "Invitation", {
    after: undefined,
    limit: invitationsShown
  })
  return {
    members: found.values,
    paging: pagingOf(after, found.last),
    invites: links.values
      .filter((link) => link._tag === "Invitation")
      .filter((link) => !hasPassed(link.expiresAt, call.now))
      .map(inviteRow)
  }
})

const show = (parts: Parts, inside: Inside, status: number, lists: Lists, said: Said): HttpResponse => {
  const { call } = inside
  const code = readParameters(call.request.query).parameters.get("done") ?? ""
  const text = call.request.method === "POST" ? undefined : done.get(code)
  const visitor = visitorOf(inside, said.notice ?? (text === undefined ? undefined : { kind: "done", text }))
  const page: MembersPage = {
    ...lists,
    ...(said.made === undefined ? {} : { made: said.made }),
    ...(said.form === undefined ? {} : { form: said.form })
  }
  return parts.pages.show(call.workspace, status, (place) => membersPage(place, visitor, page))
}

const draw = (parts: Parts, accounts: Accounts["Service"], inside: Inside, status: number, said: Said) =>
  Effect.map(readLists(accounts, inside), (lists) => show(parts, inside, status, lists, said))

export const membersHandler = (parts: Parts, accounts: Accounts["Service"]): Handler =>
  insidePage(parts, accounts, "owners", (inside) => draw(parts, accounts, inside, 200, {}))

const doneAt = ({ call }: Inside, what: "withdraw" | "removed" | "removing") =>
  seeOther(`${basePath(call.workspace.issuer)}/settings/members?done=${what}`)

const unlisted = "The invitation is made. Who else is here can't be shown just now."

/** The link is in this answer or lost, so it is shown though nothing else can be. */
const drawMade = (
  parts: Parts,
  accounts: Accounts["Service"],
  inside: Inside,
  made: NonNullable<MembersPage["made"]>
): Effect.Effect<HttpResponse> =>
  Effect.catch(draw(parts, accounts, inside, 200, { made }), ({ _tag: fault }) => {
    const { call, here } = inside
    const lists: Lists = { members: [memberRow(here.account, inside)], paging: { isContinued: false }, invites: [] }
    const page = show(parts, inside, 200, lists, { made, notice: { kind: "problem", text: unlisted } })
    const warning = "an invitation was shown without the list of members, which could not be read"
    return Effect.as(Effect.logWarning(warning, { workspace: call.workspace.id, fault }), page)
  })

const invite = Effect.fnUntraced(function* (
  parts: Parts,
  accounts: Accounts["Service"],
  inside: Inside,
  form: Parameters
) {
  const { call, here } = inside
  const { workspace, now } = call
  const role = form.get("role") === "owner" ? "owner" : "member"
  const typed = form.get("email")?.trim() ?? ""
  const again = (problem: string) => draw(parts, accounts, inside, 400, { form: { email: typed, role, problem } })
  const email = typed === "" ? null : Option.getOrUndefined(normaliseEmail(typed))
  if (email === undefined) return yield* again("This is not an email address.")
  if (email !== null && (yield* accounts.book.byEmail(workspace.id, email)) !== undefined) {
    return yield* again("This person is a member already.")
  }
  const { secret, link } = yield* accounts.links.make(workspace.id, (id) => ({
    _tag: "Invitation",
    id,
    account: accounts.book.newId(),
    createdAt: now,
    expiresAt: later(now, accounts.policy.invitationTtl),
    role,
    email,
    invitedBy: here.account.email
  }))
  yield* noteOf(parts, call, {
    _tag: "AccountChanged",
    account: link.account,
    change: `invited as ${role}`,
    by: here.account.id
  })
  return yield* drawMade(parts, accounts, inside, {
    link: `${endpointUrl(workspace, "/invite")}?token=${Redacted.value(secret)}`,
    expiresAt: link.expiresAt,
    ...(email === null ? {} : { email })
  })
})

const notOpen = "This invitation was not open any more. If it was used, you see below who has joined."

const withdraw = Effect.fnUntraced(function* (
  parts: Parts,
  accounts: Accounts["Service"],
  inside: Inside,
  form: Parameters
) {
  const { call, here } = inside
  const id = form.get("id")
  const link = isDigest(id) ? yield* accounts.links.byId(call.workspace.id, id) : undefined
  const late = draw(parts, accounts, inside, 409, { notice: { kind: "problem", text: notOpen } })
  if (link?._tag !== "Invitation") return yield* late
  // First the account that it could open, so that a form on its way opens none.
  const unused = yield* accounts.book.block(call.workspace.id, link.account, call.now)
  yield* accounts.links.remove(call.workspace.id, link.id)
  if (!unused) return yield* late
  yield* noteOf(parts, call, {
    _tag: "AccountChanged",
    account: link.account,
    change: "invitation withdrawn",
    by: here.account.id
  })
  return doneAt(inside, "withdraw")
})

/** What a removal revokes, told one by one. */
const noting = ({ audit, grants }: Parts, { now: at, requestId, workspace }: Call, by: UserId) =>
  tellRevoked(grants, (grant, why) =>
    audit.record({ at, requestId, workspace: workspace.id, event: { _tag: "GrantRevoked", grant, why, by } })
  )

const remove = Effect.fnUntraced(function* (
  parts: Parts,
  accounts: Accounts["Service"],
  inside: Inside,
  form: Parameters
) {
  const { call, here } = inside
  const id = form.get("id") ?? ""
  const removed = yield* Effect.result(
    id === here.account.id || !isUserId(id)
      ? new AccountRefusal({ reason: id === here.account.id ? "oneself" : "unknown" })
      : removeAccount(
          accounts,
          noting(parts, call, here.account.id),
          call.workspace.id,
          id,
          noteOf(parts, call, { _tag: "AccountChanged", account: id, change: "removed", by: here.account.id })
        )
  )
  if (removed._tag === "Failure") {
    if (removed.failure._tag !== "AccountRefusal") return yield* removed.failure
    yield* noteOf(parts, call, {
      _tag: "AccountRefused",
      change: "removed",
      reason: removed.failure.reason,
      by: here.account.id,
      ...(isUserId(id) ? { account: id } : {})
    })
    const { text } = problemOf(removed.failure, accounts.policy.passwordLength)
    return yield* draw(parts, accounts, inside, 409, { notice: { kind: "problem", text } })
  }
  return doneAt(inside, removed.success)
})

const actions = { invite, withdraw, remove }

const isAction = (text: string | undefined): text is keyof typeof actions =>
  text === "invite" || text === "withdraw" || text === "remove"

export const membersFormHandler = (parts: Parts, accounts: Accounts["Service"]): Handler =>
  insideForm(
    parts,
    accounts,
    "owners",
    Effect.fnUntraced(function* (inside, form) {
      const action = form.get("action")
      if (!isAction(action)) return yield* new ForgedForm({ reason: "field_missing" })
      return yield* actions[action](parts, accounts, inside, form)
    })
  )
