import { Effect, Redacted, Schema } from "effect"
import { collectPage } from "../engine/lists.ts"
import { noteOf } from "../http/audit.ts"
import { type Parameters, readParameters } from "../http/form.ts"
import type { HttpResponse } from "../http/Http.ts"
import { doneNotice, type Notice, problemNotice } from "../pages/Layout.ts"
import { AccountRefusal, type Active, normaliseEmail } from "../people/Account.ts"
import { problemOf } from "../people/accountProblems.ts"
import type { Link } from "../people/Links.ts"
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
import { hasPassed, type Instant, later } from "../rules/Instant.ts"
import { Digest } from "../rules/Secret.ts"
import { endpointUrl, scopesOf } from "../workspace/Workspace.ts"
import { backTo, type Inside as InsideOf, type Section, type SignedInAccount, sectionEndpoint } from "./inside.ts"
import {
  type InviteRow,
  type MemberRow,
  type MembersPage,
  membersPage,
  type PlaceProblem,
  type PlacesPage,
  placesPage
} from "./MembersPage.ts"
import { scopeNames, tickedScopes } from "./ScopeBoxes.ts"

const isUserId = Schema.is(UserId)
const isDigest = Schema.is(Digest)

const section = {
  name: "members",
  notices: {
    withdraw: doneNotice("The invitation is withdrawn. Its link has stopped working."),
    removed: doneNotice("The member is removed and signed out everywhere. Their applications have lost access."),
    removing: doneNotice(
      "The member is removed and signed out everywhere. Their applications will lose access within a few minutes."
    ),
    "place-set": doneNotice("The place is saved. It counts from the next application on."),
    "place-removed": doneNotice("The place is removed. What the member allowed applications there has ended."),
    "place-removing": doneNotice(
      "The place is removed. What the member allowed applications there will end within a few minutes."
    ),
    "place-gone": problemNotice("The member does not have this place.")
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

const inviteRow = (link: Link, now: Instant): InviteRow | undefined =>
  link._tag !== "Invitation" || hasPassed(link.expiresAt, now)
    ? undefined
    : {
        id: link.id,
        role: link.role,
        createdAt: link.createdAt,
        expiresAt: link.expiresAt,
        ...(link.email === null ? {} : { email: link.email })
      }

type Lists = Pick<MembersPage, "members" | "paging" | "invites">
type Said = Pick<MembersPage, "made" | "form"> & { readonly notice?: Notice }

const readLists = Effect.fnUntraced(function* (inside: Inside): Effect.fn.Return<Lists, StorageUnavailable> {
  const { workspace, request, now } = inside.call
  const { book, links } = inside.signedIn.accounts
  const { parameters } = readParameters(request.query)
  const after = parameters.get("after")
  const behind = isUserId(after) ? after : undefined
  const members = yield* collectPage(
    (page) => book.list(workspace.id, page),
    behind,
    (account) => Effect.succeed(account._tag === "Active" ? memberRow(account, inside) : undefined)
  )
  const invited = parameters.get("invited")
  const behindLink = isDigest(invited) ? invited : undefined
  const invites = yield* collectPage(
    (page) => links.list(workspace.id, "Invitation", page),
    behindLink,
    (link) => Effect.succeed(inviteRow(link, now))
  )
  return {
    members: members.values,
    paging: { after: behind, nextCursor: members.last },
    invites: { rows: invites.values, paging: { after: behindLink, nextCursor: invites.last } }
  }
})

const show = ({ call, services, visitor }: Inside, status: number, lists: Lists, { notice, ...said }: Said) =>
  services.pages.show(call.workspace, status, (place) =>
    membersPage(place, notice === undefined ? visitor : { ...visitor, notice }, { ...lists, ...said })
  )

const draw = (inside: Inside, status: number, said: Said) =>
  Effect.map(readLists(inside), (lists) => show(inside, status, lists, said))

/** What stands where a person was who is no member. */
const drawGone = (inside: Inside, status: number, reason: AccountRefusal["reason"] = "unknown") => {
  const { text } = problemOf(new AccountRefusal({ reason }), inside.signedIn.accounts.policy.passwordLength)
  return draw(inside, status, { notice: { kind: "problem", text } })
}

const drawPlaces = (inside: Inside, status: number, of: Active, said: Pick<PlacesPage, "form">) => {
  const { call, services, visitor } = inside
  const model: PlacesPage = { member: memberRow(of, inside), scopes: scopeNames(services, call), ...said }
  return services.pages.show(call.workspace, status, (place) => placesPage(place, visitor, model))
}

const findMember = Effect.fnUntraced(function* ({ call, signedIn }: Inside, id: string) {
  return isUserId(id) ? yield* signedIn.accounts.book.findActive(call.workspace.id, id) : undefined
})

const look = Effect.fnUntraced(function* (inside: Inside) {
  const of = readParameters(inside.call.request.query).parameters.get("of")
  if (of === undefined) return yield* draw(inside, 200, {})
  const member = yield* findMember(inside, of)
  return member === undefined ? yield* drawGone(inside, 404) : drawPlaces(inside, 200, member, {})
})

const unlisted = "The invitation is created. The list of members could not be read."

/** The link exists only in this answer, so it is shown even if the lists cannot be read. */
const drawMade = (inside: Inside, made: NonNullable<MembersPage["made"]>): Effect.Effect<HttpResponse> =>
  Effect.catch(draw(inside, 200, { made }), ({ _tag: fault }) => {
    const { call, signedIn } = inside
    const own = memberRow(signedIn.account, inside)
    const lists: Lists = { members: [own], paging: {}, invites: { rows: [], paging: {} } }
    const page = show(inside, 200, lists, { made, notice: { kind: "problem", text: unlisted } })
    const warning = "a new invitation was shown without the list of members, which could not be read"
    return Effect.as(Effect.logWarning(warning, { workspace: call.workspace.id, fault }), page)
  })

const invite = Effect.fn("settings.invite")(function* (inside: Inside, form: Parameters) {
  const { call, services, signedIn } = inside
  const { book, links, policy } = signedIn.accounts
  const { workspace, now } = call
  const role = form.get("role") === "owner" ? "owner" : "member"
  const typed = form.get("email")?.trim() ?? ""
  const again = (problem: string) => draw(inside, 400, { form: { email: typed, role, problem } })
  const email = normaliseEmail(typed)
  if (typed !== "" && email === undefined) return yield* again("This is not an email address.")
  if (email !== undefined && (yield* book.byEmail(workspace.id, email)) !== undefined) {
    return yield* again("This person is already a member.")
  }
  const { secret, link } = yield* links.make(workspace.id, (id) => ({
    _tag: "Invitation",
    id,
    account: book.newId(),
    createdAt: now,
    expiresAt: later(now, policy.invitationTtl),
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
  return yield* drawMade(inside, {
    link: `${endpointUrl(workspace, "/invite")}?token=${Redacted.value(secret)}`,
    expiresAt: link.expiresAt,
    ...(email === undefined ? {} : { email })
  })
})

const notOpen = "This invitation was already used or withdrawn. Members who joined are listed below."

const withdraw = Effect.fn("settings.withdrawInvitation")(function* (inside: Inside, form: Parameters) {
  const { call, services, signedIn } = inside
  const { book, links } = signedIn.accounts
  const id = form.get("id")
  const link = isDigest(id) ? yield* links.byId(call.workspace.id, id) : undefined
  const late = draw(inside, 409, { notice: { kind: "problem", text: notOpen } })
  if (link?._tag !== "Invitation") return yield* late
  const { account } = link
  // The account first, so that a form that is under way can no longer open it.
  const unused = yield* book.block(call.workspace.id, account, call.now)
  yield* links.remove(call.workspace.id, link.id)
  if (!unused) return yield* late
  yield* noteOf(services, call, { _tag: "AccountChanged", account, change: "invitation withdrawn", by: signedIn.user })
  return backTo(call, section, "withdraw")
})

/** The grants of the workspace, with an audit event for each that a removal revokes. */
const grantsFor = ({ call, services, signedIn }: Inside) =>
  tellRevoked(services, (grant, why) => noteOf(services, call, { _tag: "GrantRevoked", grant, why, by: signedIn.user }))

const removed = Effect.fnUntraced(function* (inside: Inside, id: string) {
  const { call, services, signedIn } = inside
  const by = signedIn.user
  if (id === by) return yield* new AccountRefusal({ reason: "oneself" })
  if (!isUserId(id)) return yield* new AccountRefusal({ reason: "unknown" })
  const noted = noteOf(services, call, { _tag: "AccountChanged", account: id, change: "removed", by })
  return yield* removeAccount(signedIn.accounts, grantsFor(inside), call.workspace, id, noted)
})

const remove = Effect.fn("settings.removeMember")(function* (inside: Inside, form: Parameters) {
  const { call, services, signedIn } = inside
  const id = form.get("id") ?? ""
  return yield* removed(inside, id).pipe(
    Effect.map((outcome) => backTo(call, section, outcome)),
    Effect.catchTag("AccountRefusal", ({ reason }) => {
      const refusal = { change: "removed", reason, by: signedIn.user, ...(isUserId(id) ? { account: id } : {}) }
      return Effect.andThen(
        noteOf(services, call, { _tag: "AccountRefused", ...refusal }),
        drawGone(inside, 409, reason)
      )
    })
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

const notePlace = ({ call, services, signedIn }: Inside, { id: account }: Active, change: string, place: string) =>
  noteOf(services, call, { _tag: "AccountChanged", account, change, place, by: signedIn.user })

const setMembersPlace = Effect.fn("settings.setPlace")(function* (inside: Inside, form: Parameters, member: Active) {
  const { call, services, signedIn } = inside
  const typed: PlaceTyped = {
    id: (form.get("place") ?? "").trim(),
    label: form.get("label") ?? "",
    detail: form.get("detail") ?? "",
    scopes: tickedScopes(scopeNames(services, call), form)
  }
  const registry = scopesOf(services.policy, call.workspace)
  return yield* Effect.fromResult(readPlace(typed, registry)).pipe(
    Effect.flatMap((place) => setPlace(signedIn.accounts, grantsFor(inside), call.workspace.id, member.id, place)),
    Effect.tap(() => notePlace(inside, member, "place set", typed.id)),
    Effect.as(backTo(call, section, "place-set", { of: member.id })),
    Effect.catchTag("BadPlace", ({ reason }) =>
      Effect.succeed(
        drawPlaces(inside, 400, member, {
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
    Effect.catchTag("AccountRefusal", () => drawGone(inside, 409))
  )
})

const removeMembersPlace = Effect.fn("settings.removePlace")(function* (
  inside: Inside,
  form: Parameters,
  member: Active
) {
  const { call, signedIn } = inside
  const place = form.get("place") ?? ""
  const noted = notePlace(inside, member, "place removed", place)
  const grants = grantsFor(inside)
  const outcome = yield* removePlace(signedIn.accounts, grants, call.workspace.id, member.id, place, noted)
  const done = { removed: "place-removed", removing: "place-removing", unknown: "place-gone" } as const
  return backTo(call, section, done[outcome], { of: member.id })
})

/** For a form about a member, who may be gone by now. */
const ofMember =
  <E>(act: (inside: Inside, form: Parameters, member: Active) => Effect.Effect<HttpResponse, E>) =>
  (inside: Inside, form: Parameters) =>
    Effect.flatMap(
      findMember(inside, form.get("id") ?? ""),
      (member): Effect.Effect<HttpResponse, E | StorageUnavailable> =>
        member === undefined ? drawGone(inside, 409) : act(inside, form, member)
    )

export const membersEndpoint = sectionEndpoint(section, {
  show: look,
  confirmed: {
    invite,
    remove,
    "set-place": ofMember(setMembersPlace),
    "remove-place": ofMember(removeMembersPlace)
  },
  others: { withdraw }
})
