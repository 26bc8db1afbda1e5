import type { Instant } from "../../rules/Instant.ts"
import { breakable } from "../breakable.ts"
import { clientName, clientTitle } from "../Consent.ts"
import type { Document } from "../Document.ts"
import { type Html, html } from "../Html.ts"
import type { Place } from "../Place.ts"
import { ago } from "../Timestamp.ts"
import type { Visitor } from "../Visitor.ts"
import { actionButton, confirmed, empty, noRows, type Paging, pager, type Row, rows } from "./Rows.ts"
import { sectionPath, settingsDocument } from "./SettingsLayout.ts"

export interface ClientRow {
  readonly id: string
  /** As registered. */
  readonly name: string | undefined
  /** `public` has no secret. */
  readonly kind: "public" | "confidential"
  readonly registeredItself: boolean
  readonly registeredAt: Instant
  readonly lastUsedAt?: Instant
  /** The hosts (or schemes) of its redirect URIs, each once. */
  readonly redirectHosts: ReadonlyArray<string>
  readonly disabled: boolean
}

/**
 * Owners only. The search is a GET of `{base}/settings/clients` with `q`; its forms post there with
 * `csrf`, `action` = `disable`, `enable` or `delete`, `id`, and `q` to come back to the same list.
 */
export interface ClientsPage {
  /** What was searched for; empty for all. */
  readonly search: string
  readonly clients: ReadonlyArray<ClientRow>
  readonly paging: Paging
}

const searchForm = (
  path: string,
  search: string
): Html => html`<form method="get" action="${path}" role="search" class="search">
<label for="q">Search by name, id or host</label>
<div class="search-line">
<input id="q" name="q" type="search" value="${search}" autocomplete="off" maxlength="200">
<button class="button" type="submit">Search</button>
</div>
</form>`

const clientActions = (client: ClientRow, path: string, visitor: Visitor, search: string): ReadonlyArray<Html> => {
  const about = clientName(client.name)
  const fields = (action: string) => ({ csrf: visitor.csrf, action, id: client.id, q: search })
  return [
    client.disabled
      ? actionButton({ label: "Enable", about, path, fields: fields("enable") })
      : confirmed({
          label: "Disable",
          about,
          question: "Nobody can connect it and its tokens stop working, until it is enabled again.",
          confirm: "Disable this client",
          tone: "plain",
          path,
          fields: fields("disable")
        }),
    confirmed({
      label: "Delete",
      about,
      question: "Its registration and everything that people allowed it are gone for good.",
      confirm: "Delete this client",
      tone: "danger",
      path,
      fields: fields("delete")
    })
  ]
}

const clientRow = (client: ClientRow, path: string, visitor: Visitor, search: string): Row => ({
  title: html`<bdi>${clientTitle(client.name)}</bdi>${client.disabled && html` <span class="badge badge-danger">Disabled</span>`}`,
  subtitle: html`<span class="visually-hidden">Client id </span><code>${client.id}</code>`,
  facts: [
    [
      "Kind",
      html`${client.kind === "public" ? "Public" : "Confidential"}, ${client.registeredItself ? "registered itself" : "made by an owner"}`
    ],
    [
      "Returns to",
      client.redirectHosts.length === 0
        ? html`Nowhere`
        : html`${client.redirectHosts.map((host, index) => html`${index > 0 && ", "}<bdi>${breakable(host)}</bdi>`)}`
    ],
    ["Registered", ago(client.registeredAt, visitor.now)],
    ["Last used", client.lastUsedAt === undefined ? html`Never` : ago(client.lastUsedAt, visitor.now)]
  ],
  actions: clientActions(client, path, visitor, search)
})

const nothing = (search: string): Html =>
  search === ""
    ? empty(
        "No client has registered yet",
        "An application appears here once it is registered, by itself or by an owner."
      )
    : empty("No client matches", "Search for a part of the name, the id or the host that it returns to.")

export const clientsPage = (place: Place, visitor: Visitor, model: ClientsPage): Document => {
  const path = sectionPath(place, "clients")
  return settingsDocument(place, visitor, {
    section: "clients",
    title: "Registered clients",
    lead: html`Every application that knows <bdi>${place.name}</bdi>, whoever connected it.`,
    main: html`${searchForm(path, model.search)}
<section aria-labelledby="clients">
<h2 id="clients">${model.search === "" ? "All clients" : html`Clients that match “<bdi>${model.search}</bdi>”`}</h2>
${
  model.clients.length === 0
    ? noRows(model.paging, nothing(model.search))
    : rows(model.clients.map((client) => clientRow(client, path, visitor, model.search)))
}
${pager(path, model.paging, model.search)}
</section>`
  })
}
