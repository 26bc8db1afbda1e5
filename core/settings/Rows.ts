import { Effect } from "effect"
import { shownMost } from "../engine/lists.ts"
import type { UsedThing } from "../engine/Usage.ts"
import { type ReturnAddress, returnAddress } from "../pages/Consent.ts"
import { hidden } from "../pages/Field.ts"
import { attributes, type Html, html } from "../pages/Html.ts"
import type { Visitor } from "../pages/Layout.ts"
import type { StorageUnavailable } from "../ports/Storage.ts"
import type { Instant } from "../rules/Instant.ts"
import type { Inside } from "./inside.ts"
import { type Cursor, cursors } from "./SettingsLayout.ts"

/** A row in a list of settings: a title, facts and actions. */
export interface Row {
  readonly title: Html
  /** What its buttons are about, for screen readers. */
  readonly name: string
  /** Tells it from another row of that name; without it, its place among them does. */
  readonly mark?: string | undefined
  readonly subtitle?: Html
  /** `false` in place of one that it does not have. */
  readonly facts: ReadonlyArray<readonly [label: string, value: Html] | false>
  readonly detail?: Html | undefined
  /** `about`: what they are about, as no other row of the list has it. */
  readonly actions?: (about: string) => ReadonlyArray<Html>
}

const rowItem = (row: Row, _at: number, of: ReadonlyArray<Row>): Html => {
  const alike = of.filter(({ name }) => name === row.name)
  const which = alike.length > 1 ? `, ${row.mark ?? `${alike.indexOf(row) + 1} of ${alike.length}`}` : ""
  const actions = row.actions?.(row.name + which) ?? []
  return html`<li class="row">
<div class="row-head"><h3>${row.title}</h3>${row.subtitle !== undefined && html`<p class="hint">${row.subtitle}</p>`}</div>
${actions.length > 0 && html`<div class="row-actions">${actions}</div>`}
<div class="row-body">
<dl class="row-facts">${row.facts.map((fact) => fact && html`<div><dt>${fact[0]}</dt><dd>${fact[1]}</dd></div>`)}</dl>
${row.detail}
</div>
</li>`
}

export const rows = (of: ReadonlyArray<Row>): Html => html`<ul class="panel rows">${of.map(rowItem)}</ul>`

/** In place of rows. `list`: the list has none, its end is reached, or the rest was not searched or read. */
export const empty = (title: string, text: string, list: "none" | "end" | "more" | "unread" = "none"): Html =>
  html`<div class="panel empty" data-list="${list}"><h3>${title}</h3><p class="hint">${text}</p></div>`

/** In place of rows on a page without any. `whole`: for a list that has no rows at all. */
const noRows = (paging: Paging, whole: Html): Html => {
  // One request searches only a part of a long list.
  if (paging.nextCursor !== undefined)
    return empty("Nothing found yet", "There is more to search. Continue with “Next”.", "more")
  return paging.after === undefined ? whole : empty("Nothing more", "This is the end of the list.", "end")
}

/** What stands in the label of a button for screen readers alone: what it is about. */
export const aboutWhom = (about: string): Html => html`<span class="visually-hidden"> <bdi>${about}</bdi></span>`

type Fields = Readonly<Record<string, string | undefined>>

/** Where a form is sent, and its hidden fields. */
interface Sent {
  readonly path: string
  readonly fields: Fields
}

/** What a form of a page sends, by its `action`. */
export type Forms = (action: string, fields?: Fields) => Sent

export const formsAt =
  (path: string, { csrf }: Visitor): Forms =>
  (action, fields) => ({ path, fields: { csrf, action, ...fields } })

/** A form of one button. Its action can be undone, so it does not ask first. */
export const actionButton = (
  of: Sent & {
    readonly label: string
    /** The title of the row, for screen readers. */
    readonly about: string
  }
): Html => html`<form method="post" action="${of.path}">
${hidden(of.fields)}
<button class="button small" type="submit">${of.label}${aboutWhom(of.about)}</button>
</form>`

/** Two steps without a script: the first button unfolds the question, the second acts. */
export const confirmed = (
  of: Sent & {
    readonly label: string
    readonly about: string
    readonly question: string
    /** The label of the button that acts. */
    readonly confirm: string
    readonly tone: "danger" | "plain"
  }
): Html => html`<details class="confirm" name="confirm">
<summary class="button small ${of.tone}">${of.label}${aboutWhom(of.about)}</summary>
<form method="post" action="${of.path}" class="confirm-body">
${hidden(of.fields)}
<p>${of.question}</p>
<button class="button ${of.tone} wide" type="submit">${of.confirm}${aboutWhom(of.about)}</button>
</form>
</details>`

/** Which part of a list a page shows. Each list has its own cursors. */
export interface Paging {
  /** The cursor of this page; none where it begins at the start of the list. */
  readonly after?: string | undefined
  /** That of the next page, if there is one. */
  readonly nextCursor?: string | undefined
}

/** One page of a list that is at hand: what comes behind this one, or its beginning where that is not there any more. */
export const pageOfList = <A>(
  list: ReadonlyArray<A>,
  nameOf: (one: A) => string,
  after: string | undefined
): { readonly shown: ReadonlyArray<A>; readonly paging: Paging } => {
  const start = list.findIndex((one) => nameOf(one) === after) + 1
  const shown = list.slice(start, start + shownMost)
  const last = start + shownMost < list.length ? shown.at(-1) : undefined
  return {
    shown,
    paging: { after: start === 0 ? undefined : after, nextCursor: last === undefined ? undefined : nameOf(last) }
  }
}

/** A list of a page. */
interface List {
  /** Of its heading. */
  readonly id: string
  readonly title: string | Html
  /** The page's own heading says it already. */
  readonly isTitleHidden?: true
  readonly lead?: Html
  readonly rows: ReadonlyArray<Row>
  /** In place of the rows of a list that has none. */
  readonly none: Html
  readonly path: string
  readonly paging: Paging
  readonly search?: string
  /** For a second list on a page: its cursor's name in the address, and what its links are called. */
  readonly second?: { readonly cursor: Cursor; readonly label: string }
  /** Behind the list. */
  readonly more?: Html | false
}

/** The address of a page of a list. */
export const listedAt = (path: string, parameters: { readonly [name in Cursor]?: string | undefined }): string => {
  const query = new URLSearchParams()
  for (const name of cursors) if (parameters[name]) query.set(name, parameters[name])
  return query.size === 0 ? path : `${path}?${query}`
}

/** The links to the other pages of a list. */
const pager = ({
  paging,
  path,
  search,
  second: { cursor, label } = { cursor: "after", label: "Pages" }
}: List): Html =>
  paging.after !== undefined || paging.nextCursor !== undefined
    ? html`<nav class="pager" aria-label="${label}">
${paging.after !== undefined && html`<a class="button small" href="${listedAt(path, { q: search })}">Back to the first</a>`}
${
  paging.nextCursor !== undefined &&
  html`<a class="button small" href="${listedAt(path, { q: search, [cursor]: paging.nextCursor })}">Next</a>`
}
</nav>`
    : html``

/** The rows of a list, or what stands in their place, with its heading and the links to its other pages. */
export const listSection = (list: List): Html => html`<section aria-labelledby="${list.id}">
<h2 id="${list.id}"${attributes({ class: list.isTitleHidden && "visually-hidden" })}>${list.title}</h2>
${list.lead}
${list.rows.length === 0 ? noRows(list.paging, list.none) : rows(list.rows)}
${pager(list)}
${list.more}
</section>`

/** The rows of a page, each with its last use. */
export const withLastUse = <Row>(
  { call, services }: Inside,
  thing: UsedThing,
  rows: ReadonlyArray<{ readonly id: string; readonly row: Row }>
): Effect.Effect<ReadonlyArray<Row | (Row & { readonly lastUsedAt: Instant })>, StorageUnavailable> =>
  Effect.forEach(
    rows,
    ({ id, row }) =>
      Effect.map(services.usage.lastUse(thing, call.workspace.id, id), (used) =>
        used === undefined ? row : { ...row, lastUsedAt: used }
      ),
    { concurrency: 8 }
  )

const hostOf = (address: ReturnAddress): string | undefined => {
  switch (address.kind) {
    case "site":
    case "thisDevice":
      return address.host
    case "app":
      return address.opens
    case "unknown":
      return undefined
  }
}

/** The hosts of a client's redirect URIs, or the schemes that open an application, each once. */
export const returnHosts = (redirectUris: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...new Set(redirectUris.map((uri) => hostOf(returnAddress(uri))).filter((host) => host !== undefined))
]
