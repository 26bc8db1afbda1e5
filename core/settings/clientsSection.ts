import { Effect, Option } from "effect"
import { type Client, isKnown, isPublic } from "../client/Client.ts"
import { deleteClient, setClientEnabled } from "../engine/administration.ts"
import { collectPage } from "../engine/lists.ts"
import { readParameters } from "../http/form.ts"
import type { Handler, Parts } from "../http/Route.ts"
import { clientName, clientTitle } from "../pages/Consent.ts"
import { breakable, type Html, html } from "../pages/Html.ts"
import type { Document, Place, Visitor } from "../pages/Layout.ts"
import { ago } from "../pages/Timestamp.ts"
import { type ClientId, readClientId } from "../rules/Id.ts"
import type { Instant } from "../rules/Instant.ts"
import { ForgedForm } from "../rules/Refusal.ts"
import {
  auditContext,
  backTo,
  type Inside,
  insideForm,
  insidePage,
  type Section,
  takeOfAccount,
  type Visitors
} from "./inside.ts"
import {
  actionButton,
  confirmed,
  empty,
  noRows,
  type Paging,
  pager,
  pagingOf,
  type Row,
  returnHosts,
  rows,
  withLastUse
} from "./Rows.ts"
import { sectionPath, settingsDocument } from "./SettingsLayout.ts"

interface ClientRow {
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
 * `csrf`, `action` = `disable`, `enable` or `delete`, `id`, and `q` to return to the same list.
 */
interface ClientsPage {
  /** The search text; empty for all clients. */
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
          question: "It cannot connect and its tokens stop working until it is enabled again.",
          confirm: "Disable this client",
          tone: "plain",
          path,
          fields: fields("disable")
        }),
    confirmed({
      label: "Delete",
      about,
      question: "Its registration and all access that people gave it are deleted for good.",
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
      html`${client.kind === "public" ? "Public" : "Confidential"}, ${client.registeredItself ? "registered itself" : "registered by an owner"}`
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
        "Applications appear here when they register themselves or an owner registers them."
      )
    : empty("No client matches", "Search for a part of its name, its id or a host that it returns to.")

export const clientsPage = (place: Place, visitor: Visitor, model: ClientsPage): Document => {
  const path = sectionPath(place, "clients")
  return settingsDocument(place, visitor, {
    section: "clients",
    title: "Registered clients",
    lead: html`Every application that is registered with <bdi>${place.name}</bdi>.`,
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

const section = {
  name: "clients",
  notices: {
    "client-disabled": { kind: "done", text: "The client is disabled. Its tokens have stopped working." },
    "client-enabled": { kind: "done", text: "The client is enabled. It can use what people allowed it again." },
    "client-deleted": { kind: "done", text: "The client is deleted, with everything that people allowed it." },
    "client-gone": {
      kind: "problem",
      text: "This client is not registered. If you just deleted it, that worked."
    }
  }
} as const satisfies Section

const searchLength = 200

const folded = (text: string): string => text.normalize("NFKC").toLowerCase()

const matches = (client: Client, search: string): boolean => {
  const wanted = folded(search)
  const { client_name: name } = client.about
  const texts = [clientName(name), name ?? "", client.id, ...returnHosts(client.redirectUris)]
  return texts.some((text) => folded(text).includes(wanted))
}

const rowOf = (client: Client) => ({
  id: client.id,
  row: {
    id: client.id,
    name: client.about.client_name,
    kind: isPublic(client) ? ("public" as const) : ("confidential" as const),
    registeredItself: client.madeBy === "itself",
    registeredAt: client.createdAt,
    redirectHosts: returnHosts(client.redirectUris),
    disabled: client.disabled
  }
})

const search = Effect.fn("settings.searchClients")(function* (
  parts: Parts,
  { call }: Inside,
  text: string,
  after: string | undefined
) {
  // A whole id needs no search.
  const id = after === undefined ? Option.getOrUndefined(readClientId(text)) : undefined
  const exact = id === undefined ? undefined : yield* parts.clients.find(call.workspace.id, id)
  if (exact !== undefined && isKnown(exact, call.now)) return { values: [rowOf(exact)], last: undefined }
  return yield* collectPage(
    (page) => parts.clients.list(call.workspace.id, page),
    after,
    (client) => Effect.succeed(isKnown(client, call.now) && matches(client, text) ? rowOf(client) : undefined)
  )
})

export const clientsHandler = (parts: Parts, visitors: Visitors): Handler =>
  insidePage(
    parts,
    visitors,
    section,
    Effect.fnUntraced(function* (inside) {
      const { call, visitor } = inside
      const asked = readParameters(call.request.query).parameters
      const text = (asked.get("q") ?? "").trim().slice(0, searchLength)
      const after = Option.getOrUndefined(readClientId(asked.get("after")))
      if (text !== "") yield* takeOfAccount(parts, inside)
      const found = yield* search(parts, inside, text, after)
      const clients = yield* withLastUse(parts, call, "client", found.values)
      const paging = pagingOf(after, found.last)
      return parts.pages.show(call.workspace, 200, (place) =>
        clientsPage(place, visitor, { search: text, clients, paging })
      )
    })
  )

const change = Effect.fn("settings.changeClient")(function* (
  parts: Parts,
  inside: Inside,
  action: "disable" | "enable" | "delete",
  client: ClientId
) {
  if (action === "delete") {
    const outcome = yield* deleteClient(parts, auditContext(inside), client)
    return outcome === "unknown" ? ("client-gone" as const) : ("client-deleted" as const)
  }
  const change = action === "disable" ? "disabled" : "enabled"
  const outcome = yield* setClientEnabled(parts, auditContext(inside), client, change)
  return outcome === "unknown" ? ("client-gone" as const) : (`client-${change}` as const)
})

export const changeClientsHandler = (parts: Parts, visitors: Visitors): Handler =>
  insideForm(
    parts,
    visitors,
    section,
    Effect.fnUntraced(function* (inside, form) {
      const action = form.get("action")
      if (action !== "disable" && action !== "enable" && action !== "delete") {
        return yield* new ForgedForm({ reason: "field_missing" })
      }
      const id = readClientId(form.get("id"))
      const done = Option.isNone(id) ? "client-gone" : yield* change(parts, inside, action, id.value)
      return backTo(inside.call, section, done, form.get("q")?.slice(0, searchLength))
    })
  )
