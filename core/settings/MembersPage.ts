import { choiceField, type FieldProblem, field, hidden, problemAt } from "../pages/Field.ts"
import { breakable, type Html, html } from "../pages/Html.ts"
import type { Document, Place, Visitor } from "../pages/Layout.ts"
import { ago, timestamp } from "../pages/Timestamp.ts"
import { emailLength, personNameLength } from "../people/Account.ts"
import { type PlaceTyped, placeDetailLength, placeIdLength, placeLabelLength } from "../people/places.ts"
import type { Instant } from "../rules/Instant.ts"
import { sanitizeName } from "../rules/sanitizeName.ts"
import { confirmed, empty, type Forms, formsAt, listedAt, listSection, type Paging, type Row } from "./Rows.ts"
import { scopeBoxes } from "./ScopeBoxes.ts"
import { sectionPath, settingsDocument, shownOnce } from "./SettingsLayout.ts"

type Role = Visitor["role"]

interface MembersPlace {
  readonly id: string
  readonly label: string
  readonly detail?: string
  readonly scopes?: ReadonlyArray<string>
}

export interface MemberRow {
  readonly id: string
  readonly name?: string
  readonly email: string
  readonly role: Role
  readonly joinedAt: Instant
  readonly lastSignedInAt?: Instant
  /** The visitor, who has no button to remove themselves. */
  readonly isVisitor: boolean
  readonly places: ReadonlyArray<MembersPlace>
}

export interface InviteRow {
  readonly id: string
  /** Absent if the link works for any email. */
  readonly email?: string
  readonly role: Role
  readonly createdAt: Instant
  readonly expiresAt: Instant
}

/**
 * Owners only. Its forms post to `{base}/settings/members` with `csrf` and `action`:
 * `invite` (`email`, which may be empty, and `role`), `withdraw` (`id` of an invitation), `remove` (`id` of a member).
 * `of` in its address, the id of a member, leads to `PlacesPage`.
 */
export interface MembersPage {
  readonly members: ReadonlyArray<MemberRow>
  readonly paging: Paging
  /** Invitations that are not used yet. Their cursor is `invited`. */
  readonly invites: { readonly rows: ReadonlyArray<InviteRow>; readonly paging: Paging }
  /** The new link: on this answer and never again. */
  readonly made?: { readonly link: string; readonly email?: string; readonly expiresAt: Instant }
  readonly form?: { readonly email: string; readonly role: Role; readonly problem?: string }
}

const roleInWords = (role: Role): string => (role === "owner" ? "Owner" : "Member")

const inviteForm = (
  path: string,
  csrf: string,
  form: MembersPage["form"]
): Html => html`<section aria-labelledby="invite">
<h2 id="invite">Invite a member</h2>
<form method="post" action="${path}" class="panel padded inline-form">
${hidden({ csrf, action: "invite" })}
${field({
  label: "Email",
  name: "email",
  type: "email",
  optional: true,
  value: form?.email,
  problem: form?.problem,
  hint: "With an address, the link works for that address only. No mail is sent: you pass on the link yourself.",
  maxlength: emailLength
})}
${choiceField({
  label: "Role",
  name: "role",
  options: [
    ["member", "Member"],
    ["owner", "Owner"]
  ],
  chosen: form?.role ?? "member",
  hint: "Owners manage keys, clients and members."
})}
<div class="form-actions"><button class="button primary" type="submit">Create invitation link</button></div>
</form>
</section>`

const nameOf = (member: MemberRow): string => sanitizeName(member.name ?? "", personNameLength) ?? member.email

const commaed = (places: ReadonlyArray<MembersPlace>): ReadonlyArray<Html> =>
  places.map(({ label }, at) => html`${at > 0 && ", "}<bdi>${breakable(label)}</bdi>`)

const shownPlaces = 3

/** The first of them, and how many more. */
const placesInWords = (places: ReadonlyArray<MembersPlace>): Html =>
  places.length > shownPlaces
    ? html`${commaed(places.slice(0, shownPlaces))} and ${places.length - shownPlaces} more`
    : html`${commaed(places)}`

/** A key is the workspace's: it stays, whoever made it. */
const removalOf = ({ role }: MemberRow): string => {
  const always = "They are signed out everywhere, and every application that they connected loses access."
  return role === "owner" ? `${always} API keys and client secrets that they saw still work: make new ones.` : always
}

const memberRow = (member: MemberRow, path: string, forms: Forms, { now }: Visitor): Row => ({
  name: nameOf(member),
  mark: member.email,
  title: html`<bdi>${nameOf(member)}</bdi>${member.isVisitor && html` <span class="badge">You</span>`}`,
  ...(member.name === undefined ? {} : { subtitle: html`<bdi>${breakable(member.email)}</bdi>` }),
  facts: [
    ["Role", html`${roleInWords(member.role)}`],
    ["Joined", ago(member.joinedAt, now)],
    ["Last signed in", member.lastSignedInAt === undefined ? html`Never` : ago(member.lastSignedInAt, now)],
    member.places.length > 0 && ["Places", placesInWords(member.places)]
  ],
  actions: (about) => [
    html`<a class="button small" href="${path}?${String(new URLSearchParams({ of: member.id }))}">Places<span class="visually-hidden"> of <bdi>${about}</bdi></span></a>`,
    ...(member.isVisitor
      ? []
      : [
          confirmed({
            label: "Remove",
            about,
            question: removalOf(member),
            confirm: "Remove this member",
            tone: "danger",
            ...forms("remove", { id: member.id })
          })
        ])
  ]
})

const inviteRow = (invite: InviteRow, forms: Forms, { now }: Visitor): Row => ({
  title: invite.email === undefined ? html`Anyone with the link` : html`<bdi>${invite.email}</bdi>`,
  name: invite.email ?? "the invitation for anyone with the link",
  facts: [
    ["Role", html`${roleInWords(invite.role)}`],
    ["Created", ago(invite.createdAt, now)],
    ["Expires", ago(invite.expiresAt, now)]
  ],
  actions: (about) => [
    confirmed({
      label: "Withdraw",
      about,
      question: "The link stops working.",
      confirm: "Withdraw this invitation",
      tone: "danger",
      ...forms("withdraw", { id: invite.id })
    })
  ]
})

export const membersPage = (place: Place, visitor: Visitor, model: MembersPage): Document => {
  const path = sectionPath(place, "members")
  const { invites, made, members, paging } = model
  const forms = formsAt(listedAt(path, paging), visitor)
  const inviteForms = formsAt(listedAt(path, { invited: invites.paging.after }), visitor)
  return settingsDocument(place, visitor, {
    section: "members",
    title: "Members",
    came: model.form?.problem !== undefined ? "problem" : made && "done",
    lead: html`The people who can sign in to <bdi>${place.name}</bdi>.`,
    main: html`${
      made !== undefined &&
      shownOnce({
        title: "Pass on this link",
        label: made.email === undefined ? "Invitation link" : `Invitation link for ${made.email}`,
        secret: made.link,
        advice: html`It works once, until ${timestamp(made.expiresAt)}, and is not shown again.`
      })
    }
${inviteForm(path, visitor.csrf, model.form)}
${
  (invites.rows.length > 0 || invites.paging.after !== undefined || invites.paging.nextCursor !== undefined) &&
  listSection({
    id: "invites",
    title: "Open invitations",
    rows: invites.rows.map((invite) => inviteRow(invite, inviteForms, visitor)),
    none: html``,
    path,
    paging: invites.paging,
    second: { cursor: "invited", label: "Pages of open invitations" }
  })
}
${listSection({
  id: "members",
  title: "People",
  rows: members.map((member) => memberRow(member, path, forms, visitor)),
  none: empty("No members", "Invite a member with the form above."),
  path,
  paging
})}`
  })
}

/**
 * The places of one member. Its forms post to `{base}/settings/members` with `csrf`, `id` of the member and `action`:
 * `set-place` (`place`, `label`, `detail`, and `scope.NAME` for each scope), `remove-place` (`place`).
 */
export interface PlacesPage {
  readonly member: MemberRow
  /** The scopes that there are. */
  readonly scopes: ReadonlyArray<string>
  /** The form as it was sent, with its problem. */
  readonly form?: PlaceTyped & { readonly problem: PlaceProblem }
}

export type PlaceProblem = FieldProblem<"place" | "label" | "detail">

const placeForm = (path: string, csrf: string, { form, member, scopes }: PlacesPage): Html => {
  const line = (
    name: PlaceProblem["field"],
    of: { label: string; value: string | undefined; hint: string; maxlength: number }
  ) => field({ ...of, name, problem: problemAt(form?.problem, name), optional: name !== "place" })
  return html`<section aria-labelledby="add">
<h2 id="add">Add a place</h2>
<form method="post" action="${path}" class="panel padded inline-form">
${hidden({ csrf, action: "set-place", id: member.id })}
${line("place", {
  label: "Id",
  value: form?.id,
  hint: "What your APIs read as place, such as acme or org_12. With that of a place below, it is that one which changes.",
  maxlength: placeIdLength
})}
${line("label", { label: "Name", value: form?.label, hint: "How people know it. Without one they read its id.", maxlength: placeLabelLength })}
${line("detail", { label: "Detail", value: form?.detail, hint: "Tells two of one name apart.", maxlength: placeDetailLength })}
${scopes.length > 0 && scopeBoxes(scopes, form?.scopes ?? [], "All that an application can be allowed there from then on. With none ticked, whatever it asks for and may have.")}
<div class="form-actions"><button class="button primary" type="submit">Save place</button><a class="button" href="${path}">All members</a></div>
</form>
</section>`
}

const placeRow = (of: MembersPlace, member: MemberRow, forms: Forms): Row => ({
  title: html`<bdi>${of.label}</bdi>`,
  name: of.label,
  mark: of.id,
  ...(of.detail === undefined ? {} : { subtitle: html`<bdi>${breakable(of.detail)}</bdi>` }),
  facts: [
    ["Id", html`<code>${of.id}</code>`],
    ["Scopes", of.scopes === undefined ? html`All` : html`<code>${of.scopes.join(" ")}</code>`]
  ],
  actions: (about) => [
    confirmed({
      label: "Remove",
      about,
      question: "What they allowed applications there ends at once.",
      confirm: "Remove this place",
      tone: "danger",
      ...forms("remove-place", { id: member.id, place: of.id })
    })
  ]
})

export const placesPage = (place: Place, visitor: Visitor, model: PlacesPage): Document => {
  const path = sectionPath(place, "members")
  const { member } = model
  const forms = formsAt(path, visitor)
  return settingsDocument(place, visitor, {
    section: "members",
    title: "Places of a member",
    came: model.form && "problem",
    lead: html`Where <bdi>${nameOf(member)}</bdi> may let applications act: organisations, teams or accounts of yours. With several, they choose one on the page that asks.`,
    main: html`${placeForm(path, visitor.csrf, model)}
${listSection({
  id: "places",
  title: "Places",
  rows: member.places.map((one) => placeRow(one, member, forms)),
  none: empty("No places", "They are not asked where, and what they allow applications has no place."),
  path,
  paging: {}
})}`
  })
}
