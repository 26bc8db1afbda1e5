import { Effect, Redacted, Schema } from "effect"
import { collectPage } from "../engine/lists.ts"
import { noteOf } from "../http/audit.ts"
import { type Parameters, readParameters } from "../http/form.ts"
import type { HttpResponse } from "../http/Http.ts"
import type { Handler, Services } from "../http/Route.ts"
import type { Notice } from "../pages/Layout.ts"
import { type Account, AccountRefusal, type Active, normaliseEmail } from "../people/Account.ts"
import type { Accounts } from "../people/Accounts.ts"
import { problemOf } from "../people/accountProblems.ts"
import type { Invitation } from "../people/Links.ts"
import {
  type BadPlace,
  type PlaceTyped,
  placeDetailLength,
  placeIdLength,
  placeLabelLength,
  readPlace,
  removePlace,
  setPlace
} from "../people/places.ts"
import { removeAccount, tellRevoked } from "../people/removal.ts"
import type { StorageUnavailable } from "../ports/Storage.ts"
import { UserId } from "../rules/Id.ts"
import { hasPassed, later } from "../rules/Instant.ts"
import { ForgedForm } from "../rules/Refusal.ts"
import { Digest } from "../rules/Secret.ts"
import { endpointUrl, scopesOf } from "../workspace/Workspace.ts"
import {
  backTo,
  type Inside as InsideOf,
  insideForm,
  insidePage,
  type Section,
  type SignedInAccount,
  type Visitors,
  withPassword
} from "./inside.ts"
import {
  type InviteRow,
  type MemberRow,
  type MembersPage,
  membersPage,
  type PlaceProblem,
  type PlacesPage,
  placesPage
} from "./MembersPage.ts"
import { pagingOf } from "./Rows.ts"
import { scopeNames, tickedScopes } from "./ScopeBoxes.ts"

const isUserId = Schema.is(UserId)
const isDigest = Schema.is(Digest)

/** The first 100 open invitations are shown; there are rarely more than a few. */
const invitationsShown = 100

const section = {
  name: "members",
  notices: {
    withdraw: { kind: "done", text: "The invitation is withdrawn. Its link has stopped working." },
    removed: {
      kind: "done",
      text: "The member is removed and signed out everywhere. Their applications have lost access."
    },
    removing: {
      kind: "done",
      text: "The member is removed and signed out everywhere. Their applications will lose access within a few minutes."
    },
    "place-set": { kind: "done", text: "The place is saved. It counts from the next application on." },
    "place-removed": {
      kind: "done",
      text: "The place is removed. What the member allowed applications there has ended."
    },
    "place-removing": {
      kind: "done",
      text: "The place is removed. What the member allowed applications there will end within a few minutes."
    },
    "place-gone": { kind: "problem", text: "The member does not have this place." }
  }
} as const satisfies Section

type Inside = InsideOf<SignedInAccount>

const memberRow = (account: Active, inside: Inside): MemberRow => ({
  id: account.id,
  ...(account.name === null ? {} : { name: account.name }),
  email: account.email,
  role: account.role,
  joinedAt: account.createdAt,
  ...(account.signedInAt === null ? {} : { lastSignedInAt: account.signedInAt }),
  isVisitor: account.id === inside.signedIn.account.id,
  places: account.places ?? []
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
  const found = yield* collectPage((page) => accounts.book.list(call.workspace.id, page), after, pickMember(inside))
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

const show = (services: Services, inside: Inside, status: number, lists: Lists, said: Said): HttpResponse => {
  const { call } = inside
  const visitor = said.notice === undefined ? inside.visitor : { ...inside.visitor, notice: said.notice }
  const page: MembersPage = {
    ...lists,
    ...(said.made === undefined ? {} : { made: said.made }),
    ...(said.form === undefined ? {} : { form: said.form })
  }
  return services.pages.show(call.workspace, status, (place) => membersPage(place, visitor, page))
}

const draw = (services: Services, accounts: Accounts["Service"], inside: Inside, status: number, said: Said) =>
  Effect.map(readLists(accounts, inside), (lists) => show(services, inside, status, lists, said))

/** What stands where a person was who is no member. */
const drawGone = (
  services: Services,
  accounts: Accounts["Service"],
  inside: Inside,
  status: number,
  reason: AccountRefusal["reason"] = "unknown"
) => {
  const { text } = problemOf(new AccountRefusal({ reason }), accounts.policy.passwordLength)
  return draw(services, accounts, inside, status, { notice: { kind: "problem", text } })
}

const drawPlaces = (services: Services, inside: Inside, status: number, of: Active, said: Pick<PlacesPage, "form">) => {
  const { call, visitor } = inside
  const model: PlacesPage = { member: memberRow(of, inside), scopes: scopeNames(services, call), ...said }
  return services.pages.show(call.workspace, status, (place) => placesPage(place, visitor, model))
}

const findMember = Effect.fnUntraced(function* (accounts: Accounts["Service"], { call }: Inside, id: string) {
  return isUserId(id) ? yield* accounts.book.findActive(call.workspace.id, id) : undefined
})

export const membersHandler = (
  services: Services,
  accounts: Accounts["Service"],
  visitors: Visitors<SignedInAccount>
): Handler =>
  insidePage(
    services,
    visitors,
    section,
    Effect.fnUntraced(function* (inside) {
      const of = readParameters(inside.call.request.query).parameters.get("of")
      if (of === undefined) return yield* draw(services, accounts, inside, 200, {})
      const member = yield* findMember(accounts, inside, of)
      return member === undefined
        ? yield* drawGone(services, accounts, inside, 404)
        : drawPlaces(services, inside, 200, member, {})
    })
  )

const unlisted = "The invitation is created. The list of members could not be read."

/** The link exists only in this answer, so it is shown even if the lists cannot be read. */
const drawMade = (
  services: Services,
  accounts: Accounts["Service"],
  inside: Inside,
  made: NonNullable<MembersPage["made"]>
): Effect.Effect<HttpResponse> =>
  Effect.catch(draw(services, accounts, inside, 200, { made }), ({ _tag: fault }) => {
    const { call, signedIn } = inside
    const lists: Lists = { members: [memberRow(signedIn.account, inside)], paging: { isContinued: false }, invites: [] }
    const page = show(services, inside, 200, lists, { made, notice: { kind: "problem", text: unlisted } })
    const warning = "a new invitation was shown without the list of members, which could not be read"
    return Effect.as(Effect.logWarning(warning, { workspace: call.workspace.id, fault }), page)
  })

/** A form of the page, and what answers it. */
interface Asked {
  readonly services: Services
  readonly accounts: Accounts["Service"]
  readonly inside: Inside
  readonly form: Parameters
}

const invite = Effect.fn("settings.invite")(function* ({ accounts, form, inside, services }: Asked) {
  const { call, signedIn } = inside
  const { workspace, now } = call
  const role = form.get("role") === "owner" ? "owner" : "member"
  const typed = form.get("email")?.trim() ?? ""
  const again = (problem: string) => draw(services, accounts, inside, 400, { form: { email: typed, role, problem } })
  const email = normaliseEmail(typed)
  if (typed !== "" && email === undefined) return yield* again("This is not an email address.")
  if (email !== undefined && (yield* accounts.book.byEmail(workspace.id, email)) !== undefined) {
    return yield* again("This person is already a member.")
  }
  const { secret, link } = yield* accounts.links.make(workspace.id, (id) => ({
    _tag: "Invitation",
    id,
    account: accounts.book.newId(),
    createdAt: now,
    expiresAt: later(now, accounts.policy.invitationTtl),
    role,
    email: email ?? null,
    invitedBy: signedIn.account.email
  }))
  yield* noteOf(services, call, {
    _tag: "AccountChanged",
    account: link.account,
    change: `invited as ${role}`,
    by: signedIn.user
  })
  return yield* drawMade(services, accounts, inside, {
    link: `${endpointUrl(workspace, "/invite")}?token=${Redacted.value(secret)}`,
    expiresAt: link.expiresAt,
    ...(email === undefined ? {} : { email })
  })
})

const notOpen = "This invitation was already used or withdrawn. Members who joined are listed below."

const withdraw = Effect.fn("settings.withdrawInvitation")(function* ({ accounts, form, inside, services }: Asked) {
  const { call, signedIn } = inside
  const id = form.get("id")
  const link = isDigest(id) ? yield* accounts.links.byId(call.workspace.id, id) : undefined
  const late = draw(services, accounts, inside, 409, { notice: { kind: "problem", text: notOpen } })
  if (link?._tag !== "Invitation") return yield* late
  const { account } = link
  // The account first, so that a form that is under way can no longer open it.
  const unused = yield* accounts.book.block(call.workspace.id, account, call.now)
  yield* accounts.links.remove(call.workspace.id, link.id)
  if (!unused) return yield* late
  yield* noteOf(services, call, { _tag: "AccountChanged", account, change: "invitation withdrawn", by: signedIn.user })
  return backTo(call, section, "withdraw")
})

/** The grants of the workspace, with an audit event for each that a removal revokes. */
const grantsFor = ({ inside: { call, signedIn }, services }: Asked) =>
  tellRevoked(services, (grant, why) => noteOf(services, call, { _tag: "GrantRevoked", grant, why, by: signedIn.user }))

const removed = Effect.fnUntraced(function* (asked: Asked, id: string) {
  const { accounts, inside, services } = asked
  const { call, signedIn } = inside
  const by = signedIn.user
  if (id === by) return yield* new AccountRefusal({ reason: "oneself" })
  if (!isUserId(id)) return yield* new AccountRefusal({ reason: "unknown" })
  const noted = noteOf(services, call, { _tag: "AccountChanged", account: id, change: "removed", by })
  return yield* removeAccount(accounts, grantsFor(asked), call.workspace, id, noted)
})

const remove = Effect.fn("settings.removeMember")(function* (asked: Asked) {
  const { accounts, form, inside, services } = asked
  const { call, signedIn } = inside
  const id = form.get("id") ?? ""
  return yield* removed(asked, id).pipe(
    Effect.map((outcome) => backTo(call, section, outcome)),
    Effect.catchTag(
      "AccountRefusal",
      Effect.fnUntraced(function* (refusal) {
        const account = isUserId(id) ? { account: id } : {}
        const { reason } = refusal
        yield* noteOf(services, call, {
          _tag: "AccountRefused",
          change: "removed",
          reason,
          by: signedIn.user,
          ...account
        })
        return yield* drawGone(services, accounts, inside, 409, reason)
      })
    )
  )
})

const placeProblems = {
  id: { field: "place", text: "Enter at most 128 letters, digits and signs, without a space." },
  label: { field: "label", text: `Enter a name that can be read, of at most ${placeLabelLength} characters.` },
  detail: { field: "detail", text: `Enter a text that can be read, of at most ${placeDetailLength} characters.` },
  // The form has only the scopes that there are.
  scopes: { field: "place", text: "One of the scopes is gone. Choose again." },
  full: { field: "place", text: "There is no room for more. Remove one first, or wait a quarter of an hour." }
} as const satisfies Record<BadPlace["reason"], PlaceProblem>

const notePlace = (
  { inside: { call, signedIn }, services }: Asked,
  { id: account }: Active,
  change: string,
  place: string
) => noteOf(services, call, { _tag: "AccountChanged", account, change, place, by: signedIn.user })

const setMembersPlace = Effect.fn("settings.setPlace")(function* (asked: Asked, member: Active) {
  const { accounts, form, inside, services } = asked
  const { call } = inside
  const typed: PlaceTyped = {
    id: (form.get("place") ?? "").trim(),
    label: form.get("label") ?? "",
    detail: form.get("detail") ?? "",
    scopes: tickedScopes(scopeNames(services, call), form)
  }
  const registry = scopesOf(services.policy, call.workspace)
  return yield* Effect.fromResult(readPlace(typed, registry)).pipe(
    Effect.flatMap((place) => setPlace(accounts, grantsFor(asked), call.workspace.id, member.id, place)),
    Effect.tap(() => notePlace(asked, member, "place set", typed.id)),
    Effect.as(backTo(call, section, "place-set", { of: member.id })),
    Effect.catchTag("BadPlace", ({ reason }) =>
      Effect.succeed(
        drawPlaces(services, inside, 400, member, {
          form: {
            id: typed.id.slice(0, placeIdLength),
            label: typed.label.slice(0, placeLabelLength),
            detail: typed.detail.slice(0, placeDetailLength),
            scopes: typed.scopes,
            problem: placeProblems[reason]
          }
        })
      )
    ),
    Effect.catchTag("AccountRefusal", () => drawGone(services, accounts, inside, 409))
  )
})

const removeMembersPlace = Effect.fn("settings.removePlace")(function* (asked: Asked, member: Active) {
  const { accounts, form, inside } = asked
  const { call } = inside
  const place = form.get("place") ?? ""
  const noted = notePlace(asked, member, "place removed", place)
  const outcome = yield* removePlace(accounts, grantsFor(asked), call.workspace.id, member.id, place, noted)
  const done = { removed: "place-removed", removing: "place-removing", unknown: "place-gone" } as const
  return backTo(call, section, done[outcome], { of: member.id })
})

/** For a form about a member, who may be gone by now. */
const ofMember =
  <A, E>(act: (asked: Asked, member: Active) => Effect.Effect<A, E>) =>
  (asked: Asked) => {
    const { accounts, form, inside, services } = asked
    return Effect.flatMap(
      findMember(accounts, inside, form.get("id") ?? ""),
      (member): Effect.Effect<A | HttpResponse, E | StorageUnavailable> =>
        member === undefined ? drawGone(services, accounts, inside, 409) : act(asked, member)
    )
  }

const actions = {
  invite,
  withdraw,
  remove,
  "set-place": ofMember(setMembersPlace),
  "remove-place": ofMember(removeMembersPlace)
}

const isAction = (text: string | undefined): text is keyof typeof actions =>
  text !== undefined && Object.hasOwn(actions, text)

export const changeMembersHandler = (
  services: Services,
  accounts: Accounts["Service"],
  visitors: Visitors<SignedInAccount>
): Handler =>
  insideForm(
    services,
    visitors,
    section,
    Effect.fnUntraced(function* (inside, form) {
      const action = form.get("action")
      if (!isAction(action)) return yield* new ForgedForm({ reason: "field_missing" })
      const act = () => actions[action]({ services, accounts, inside, form })
      return yield* action === "withdraw" ? act() : withPassword(services, inside, form, act)
    })
  )
