import { hidden } from "../pages/Field.ts"
import { attributes, type Html, html } from "../pages/Html.ts"
import { brandLink, type Document, type Notice, notice, type Place, type Visitor } from "../pages/Layout.ts"

/** The last segment of the address of a section's page and forms. */
export type SectionName =
  | "profile"
  | "sessions"
  | "apps"
  | "keys"
  | "clients"
  | "resources"
  | "documents"
  | "issuers"
  | "members"

const sections: ReadonlyArray<{
  readonly id: SectionName
  readonly label: string
  readonly ownersOnly: boolean
  readonly ofAccounts?: boolean
}> = [
  { id: "profile", label: "Profile", ownersOnly: false, ofAccounts: true },
  { id: "sessions", label: "Browsers", ownersOnly: false, ofAccounts: true },
  { id: "apps", label: "Connected apps", ownersOnly: false },
  { id: "keys", label: "API keys", ownersOnly: true },
  { id: "clients", label: "Registered clients", ownersOnly: true },
  { id: "resources", label: "APIs", ownersOnly: true },
  { id: "documents", label: "Client documents", ownersOnly: true },
  { id: "issuers", label: "Trusted issuers", ownersOnly: true },
  { id: "members", label: "Members", ownersOnly: true, ofAccounts: true }
]

export const isOwnersOnly = (name: SectionName): boolean =>
  sections.some(({ id, ownersOnly }) => id === name && ownersOnly)

/** The path of a section's page, where its forms post to as well. */
export const sectionPath = (place: Place, section: SectionName): string => `${place.base}/settings/${section}`

/** What in a section's address says which part of its lists is shown. */
export const cursors = ["q", "after", "waiting", "invited"] as const
export type Cursor = (typeof cursors)[number]

const navigation = (place: Place, visitor: Visitor, current: SectionName): Html =>
  html`<nav class="sections" aria-label="Settings"><ul>${sections
    .filter(({ ownersOnly }) => !ownersOnly || visitor.role === "owner")
    .filter(({ ofAccounts }) => ofAccounts !== true || visitor.accountsElsewhere !== true)
    .map(
      ({ id, label }) =>
        html`<li><a href="${sectionPath(place, id)}"${attributes({ "aria-current": id === current ? "page" : undefined })}>${label}</a></li>`
    )}</ul></nav>`

const who = (place: Place, visitor: Visitor): Html =>
  visitor.accountsElsewhere === true
    ? html`<bdi class="who-name">${visitor.account}</bdi>`
    : html`<form method="post" action="${place.base}/logout" class="who">
${hidden({ csrf: visitor.csrf })}
<bdi class="who-name">${visitor.account}</bdi>
<button class="button small" type="submit">Sign out</button>
</form>`

const before = { done: "Done: ", problem: "Problem: ", nothing: "" } as const

/** The frame of every page of settings. */
export const settingsDocument = (
  place: Place,
  visitor: Visitor,
  of: {
    readonly section: SectionName
    readonly title: string
    readonly lead: Html
    readonly main: Html
    /** The result of the form, if no notice has it. The title says it first, for screen readers. */
    readonly came?: Notice["kind"] | undefined
  }
): Document => ({
  name: `settings-${of.section}`,
  title: `${before[of.came ?? visitor.notice?.kind ?? "nothing"]}${of.title}`,
  formsEnd: "here",
  opener: "cut",
  session: "kept",
  body: html`<a class="skip" href="#content">Skip to the content</a>
<header class="bar"><div class="bar-inner">
${brandLink(place)}
${who(place, visitor)}
</div></header>
<div class="frame">
${navigation(place, visitor, of.section)}
<main class="content" id="content" tabindex="-1">
<div class="heading"><h1>${of.title}</h1><p class="lead">${of.lead}</p></div>
${visitor.notice !== undefined && notice(visitor.notice)}
${of.main}
</main>
</div>`
})

/** A secret on the only page that shows it: read-only, and selected as a whole when Tab reaches it. */
export const shownOnce = (of: {
  readonly title: string
  readonly label: string
  readonly secret: string
  readonly advice: Html
}): Html => html`<section class="panel once" role="status" aria-labelledby="once-title">
<h2 id="once-title">${of.title}</h2>
<div class="field">
<label for="once">${of.label}</label>
<input id="once" class="mono" type="text" value="${of.secret}" readonly autocomplete="off" spellcheck="false" aria-describedby="once-advice">
<p class="hint" id="once-advice">${of.advice}</p>
</div>
</section>`
