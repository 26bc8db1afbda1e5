import { Effect } from "effect"
import { shownMost } from "../engine/lists.ts"
import type { UsedThing } from "../engine/Usage.ts"
import type { Call, Services } from "../http/Route.ts"
import { type ReturnAddress, returnAddress } from "../pages/Consent.ts"
import { hidden } from "../pages/Field.ts"
import { type Html, html } from "../pages/Html.ts"
import type { StorageUnavailable } from "../ports/Storage.ts"
import type { Instant } from "../rules/Instant.ts"

/** A row in a list of settings: a title, facts and actions. */
export interface Row {
  readonly title: Html
  /** What its buttons are about, for screen readers. */
  readonly name: string
  /** Tells it from another row of that name; without it, its place among them does. */
  readonly mark?: string | undefined
  readonly subtitle?: Html
  readonly facts: ReadonlyArray<readonly [label: string, value: Html]>
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
<dl class="row-facts">${row.facts.map(([label, value]) => html`<div><dt>${label}</dt><dd>${value}</dd></div>`)}</dl>
${row.detail}
</div>
</li>`
}

export const rows = (of: ReadonlyArray<Row>): Html => html`<ul class="panel rows">${of.map(rowItem)}</ul>`

/** In place of rows. `list`: the list has none, its end is reached, or the rest was not searched or read. */
export const empty = (title: string, text: string, list: "none" | "end" | "more" | "unread" = "none"): Html =>
  html`<div class="panel empty" data-list="${list}"><h3>${title}</h3><p class="hint">${text}</p></div>`

/** In place of rows on a page without any. `whole`: for a list that has no rows at all. */
export const noRows = (paging: Paging, whole: Html): Html => {
  // One request searches only a part of a long list.
  if (paging.nextCursor !== undefined)
    return empty("Nothing found yet", "There is more to search. Continue with “Next”.", "more")
  return paging.isContinued ? empty("Nothing more", "This is the end of the list.", "end") : whole
}

/** A form of one button. Its action can be undone, so it does not ask first. */
export const actionButton = (of: {
  readonly label: string
  /** The title of the row, for screen readers. */
  readonly about: string
  readonly path: string
  readonly fields: Readonly<Record<string, string | undefined>>
}): Html => html`<form method="post" action="${of.path}">
${hidden(of.fields)}
<button class="button small" type="submit">${of.label}<span class="visually-hidden"> <bdi>${of.about}</bdi></span></button>
</form>`

/** Two steps without a script: the first button unfolds the question, the second acts. */
export const confirmed = (of: {
  readonly label: string
  readonly about: string
  readonly question: string
  /** The label of the button that acts. */
  readonly confirm: string
  readonly tone: "danger" | "plain"
  readonly path: string
  readonly fields: Readonly<Record<string, string | undefined>>
}): Html => html`<details class="confirm" name="confirm">
<summary class="button small ${of.tone}">${of.label}<span class="visually-hidden"> <bdi>${of.about}</bdi></span></summary>
<form method="post" action="${of.path}" class="confirm-body">
${hidden(of.fields)}
<p>${of.question}</p>
<button class="button ${of.tone} wide" type="submit">${of.confirm}<span class="visually-hidden"> <bdi>${of.about}</bdi></span></button>
</form>
</details>`

/** The links to other pages of a list. Each endpoint has its own cursors. */
export interface Paging {
  /** This page does not begin at the start of the list. */
  readonly isContinued: boolean
  /** The value of `after` for the next page, if there is one. */
  readonly nextCursor?: string
}

export const pagingOf = (start: string | undefined, nextCursor: string | undefined): Paging => ({
  isContinued: start !== undefined,
  ...(nextCursor === undefined ? {} : { nextCursor })
})

/** One page of a list that is at hand: what comes behind this one, or its beginning where that is not there any more. */
export const pageOfList = <A>(
  list: ReadonlyArray<A>,
  nameOf: (one: A) => string,
  after: string | undefined
): { readonly shown: ReadonlyArray<A>; readonly paging: Paging } => {
  const start = list.findIndex((one) => nameOf(one) === after) + 1
  const shown = list.slice(start, start + shownMost)
  const last = start + shownMost < list.length ? shown.at(-1) : undefined
  return { shown, paging: pagingOf(start === 0 ? undefined : after, last === undefined ? undefined : nameOf(last)) }
}

const query = (parameters: Readonly<Record<string, string | undefined>>): string => {
  const given = Object.entries(parameters).filter((pair): pair is [string, string] => Boolean(pair[1]))
  return given.length === 0 ? "" : `?${new URLSearchParams(given)}`
}

/** `of`: for a second list on a page, its cursor's name in the address, and what the links are called. */
export const pager = (
  path: string,
  paging: Paging,
  search?: string,
  of: { readonly cursor: string; readonly label: string } = { cursor: "after", label: "Pages" }
): Html =>
  paging.isContinued || paging.nextCursor !== undefined
    ? html`<nav class="pager" aria-label="${of.label}">
${paging.isContinued && html`<a class="button small" href="${path}${query({ q: search })}">Back to the first</a>`}
${
  paging.nextCursor !== undefined &&
  html`<a class="button small" href="${path}${query({ q: search, [of.cursor]: paging.nextCursor })}">Next</a>`
}
</nav>`
    : html``

/** The rows of a page, each with its last use. */
export const withLastUse = <Row>(
  services: Services,
  call: Call,
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
