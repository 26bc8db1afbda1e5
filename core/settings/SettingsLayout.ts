import { hidden } from "../pages/Field.ts"
import { attributes, type Html, html } from "../pages/Html.ts"
import { brandLink, type Document, type Notice, notice, type Place, type Visitor } from "../pages/Layout.ts"

type Section = "profile" | "apps" | "keys" | "clients" | "members"

const sections: ReadonlyArray<{
  readonly id: Section
  readonly label: string
  readonly ownersOnly: boolean
  readonly ofAccounts?: boolean
}> = [
  { id: "profile", label: "Profile", ownersOnly: false, ofAccounts: true },
  { id: "apps", label: "Connected apps", ownersOnly: false },
  { id: "keys", label: "API keys", ownersOnly: true },
  { id: "clients", label: "Registered clients", ownersOnly: true },
  { id: "members", label: "Members", ownersOnly: true, ofAccounts: true }
]

/** The path of a section, for its page and for its forms: both are at the same one. */
export const sectionPath = (place: Place, section: Section): string => `${place.base}/settings/${section}`

const navigation = (place: Place, visitor: Visitor, current: Section): Html =>
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
    readonly section: Section
    readonly title: string
    readonly lead: Html
    readonly main: Html
    /** What the form before it came to, where no notice says so. It is told first, to who can't see the page. */
    readonly came?: Notice["kind"] | undefined
  }
): Document => ({
  title: `${before[of.came ?? visitor.notice?.kind ?? "nothing"]}${of.title}`,
  formsEnd: "here",
  opener: "cut",
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

/** A secret on the only page that ever shows it. Reached by Tab it is selected as a whole, and a click can't edit it. */
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
