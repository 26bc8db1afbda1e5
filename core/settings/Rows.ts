import { Effect, Option } from "effect"
import type { Listed } from "../engine/Records.ts"
import type { UsedThing } from "../engine/Usage.ts"
import type { Grant } from "../grant/Grant.ts"
import type { Call, Parts } from "../http/Route.ts"
import { type ReturnAddress, returnAddress } from "../pages/Consent.ts"
import { hidden } from "../pages/Field.ts"
import { type Html, html } from "../pages/Html.ts"
import type { Slice, StorageUnavailable } from "../ports/Storage.ts"
import { grantMark, markLength } from "../rules/Id.ts"
import type { Instant } from "../rules/Instant.ts"

/** One thing in a list of settings: what it is called, what is known about it, what can be done with it. */
export interface Row {
  readonly title: Html
  /** What tells two of the same title apart. */
  readonly subtitle?: Html
  readonly facts: ReadonlyArray<readonly [label: string, value: Html]>
  readonly detail?: Html | undefined
  readonly actions?: ReadonlyArray<Html>
}

const rowItem = (row: Row): Html => html`<li class="row">
<div class="row-head"><h3>${row.title}</h3>${row.subtitle !== undefined && html`<p class="hint">${row.subtitle}</p>`}</div>
${row.actions !== undefined && row.actions.length > 0 && html`<div class="row-actions">${row.actions}</div>`}
<div class="row-body">
<dl class="row-facts">${row.facts.map(([label, value]) => html`<div><dt>${label}</dt><dd>${value}</dd></div>`)}</dl>
${row.detail}
</div>
</li>`

export const rows = (of: ReadonlyArray<Row>): Html => html`<ul class="panel rows">${of.map(rowItem)}</ul>`

export const empty = (title: string, text: string): Html =>
  html`<div class="panel empty"><h3>${title}</h3><p class="hint">${text}</p></div>`

/** In place of a page of a list without rows. `whole`: what is said where the whole list has none. */
export const noRows = (paging: Paging, whole: Html): Html => {
  // Looking through all of a long list is more than one request may do.
  if (paging.nextCursor !== undefined)
    return empty("Nothing so far", "There is more to look through: go on with “Next”.")
  return paging.isContinued ? empty("Nothing more", "The list ends here.") : whole
}

/** A form of one button: what it does can be undone, so it asks nothing. */
export const actionButton = (of: {
  readonly label: string
  /** What it acts on, for who hears the button without seeing the row. */
  readonly about: string
  readonly path: string
  readonly fields: Readonly<Record<string, string | undefined>>
}): Html => html`<form method="post" action="${of.path}">
${hidden(of.fields)}
<button class="button small" type="submit">${of.label}<span class="visually-hidden"> <bdi>${of.about}</bdi></span></button>
</form>`

/** Two steps without a script: the button unfolds the question, and only the second one acts. */
export const confirmed = (of: {
  readonly label: string
  readonly about: string
  readonly question: string
  /** The button that acts: "Yes, revoke it". */
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

/** Where a list goes on. Cursors are the endpoint's own. */
export interface Paging {
  /** This page does not show the beginning of the list. */
  readonly isContinued: boolean
  /** What `after` is on the next page, where there is one. */
  readonly nextCursor?: string
}

export const pagingOf = (start: string | undefined, nextCursor: string | undefined): Paging => ({
  isContinued: start !== undefined,
  ...(nextCursor === undefined ? {} : { nextCursor })
})

const query = (parameters: Readonly<Record<string, string | undefined>>): string => {
  const given = Object.entries(parameters).filter((pair): pair is [string, string] => Boolean(pair[1]))
  return given.length === 0 ? "" : `?${new URLSearchParams(given)}`
}

export const pager = (path: string, paging: Paging, search?: string): Html =>
  paging.isContinued || paging.nextCursor !== undefined
    ? html`<nav class="pager" aria-label="Pages">
${paging.isContinued && html`<a class="button small" href="${path}${query({ q: search })}">Back to the first</a>`}
${
  paging.nextCursor !== undefined &&
  html`<a class="button small" href="${path}${query({ q: search, after: paging.nextCursor })}">Next</a>`
}
</nav>`
    : html``

/** A list of grants that somebody may look at. */
export type GrantList = (slice: Slice) => Effect.Effect<Listed<Grant>, StorageUnavailable>

const isMark = (text: string | undefined): text is string =>
  text !== undefined && text.length === markLength && /^[A-Za-z0-9_-]+$/.test(text)

/** The grant of this list with this mark: a list is in the order of its ids, so it is the next one or none. */
export const findMarked = (
  list: GrantList,
  mark: string | undefined
): Effect.Effect<Grant | undefined, StorageUnavailable> =>
  isMark(mark)
    ? Effect.map(list({ after: mark, limit: 1 }), ({ values }) => values.find((grant) => grantMark(grant.id) === mark))
    : Effect.succeed(undefined)

/** The mark of the last grant of a page, for the address of the next. */
export const cursorOf = (last: string | undefined): string | undefined => last?.slice(0, markLength)

/** Where a list goes on behind a mark: `~` stands behind every character of an id. */
export const behindMark = (mark: string | undefined): string | undefined => (isMark(mark) ? `${mark}~` : undefined)

/** The rows of a page, each with when its thing was last used. */
export const withLastUse = <Row>(
  parts: Parts,
  call: Call,
  thing: UsedThing,
  rows: ReadonlyArray<{ readonly id: string; readonly row: Row }>
): Effect.Effect<ReadonlyArray<Row | (Row & { readonly lastUsedAt: Instant })>, StorageUnavailable> =>
  Effect.forEach(
    rows,
    ({ id, row }) =>
      Effect.map(parts.usage.lastUse(thing, call.workspace.id, id), (used) =>
        Option.isNone(used) ? row : { ...row, lastUsedAt: used.value }
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

/** The hosts of a client's redirect URIs, or how the links of an application begin, each once. */
export const returnHosts = (redirectUris: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...new Set(redirectUris.map((uri) => hostOf(returnAddress(uri))).filter((host) => host !== undefined))
]
