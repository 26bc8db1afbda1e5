import type { Instant } from "../../rules/Instant.ts"
import { breakable } from "../breakable.ts"
import { clientName, clientTitle, type ScopeInWords } from "../Consent.ts"
import type { Document } from "../Document.ts"
import { html } from "../Html.ts"
import type { Place } from "../Place.ts"
import { ago } from "../Timestamp.ts"
import type { Visitor } from "../Visitor.ts"
import { confirmed, empty, noRows, type Paging, pager, type Row, rows } from "./Rows.ts"
import { sectionPath, settingsDocument } from "./SettingsLayout.ts"

/** One grant of the person who looks. */
export interface ConnectedAppRow {
  readonly grantId: string
  /** As registered. */
  readonly client: string | undefined
  /** Where it returned to, so that two of the same name can be told apart. */
  readonly returnHost?: string
  readonly scopes: ReadonlyArray<ScopeInWords>
  readonly since: Instant
  readonly lastUsedAt?: Instant
}

/** Its forms post to `{base}/settings/apps` with `csrf`, `action` = `revoke` and `id`. */
export interface ConnectedAppsPage {
  readonly apps: ReadonlyArray<ConnectedAppRow>
  readonly paging: Paging
}

const appRow = (app: ConnectedAppRow, path: string, visitor: Visitor): Row => ({
  title: html`<bdi>${clientTitle(app.client)}</bdi>`,
  facts: [
    ...(app.returnHost === undefined ? [] : [["Returns to", html`<bdi>${breakable(app.returnHost)}</bdi>`] as const]),
    ["Connected", ago(app.since, visitor.now)],
    ["Last used", app.lastUsedAt === undefined ? html`Never` : ago(app.lastUsedAt, visitor.now)]
  ],
  detail: html`<ul class="may" aria-label="What it may do">${app.scopes.map(
    ({ scope, words }) => html`<li>${words} <code class="scope">${scope}</code></li>`
  )}</ul>`,
  actions: [
    confirmed({
      label: "Revoke",
      about: clientName(app.client),
      question: "It loses access to your account at once. To use it again, you connect it again.",
      confirm: "Revoke access",
      tone: "danger",
      path,
      fields: { csrf: visitor.csrf, action: "revoke", id: app.grantId }
    })
  ]
})

export const connectedAppsPage = (place: Place, visitor: Visitor, model: ConnectedAppsPage): Document => {
  const path = sectionPath(place, "apps")
  return settingsDocument(place, visitor, {
    section: "apps",
    title: "Connected apps",
    lead: html`Applications that you allowed to use your account in <bdi>${place.name}</bdi>.`,
    main: html`<section aria-labelledby="apps">
<h2 id="apps" class="visually-hidden">Applications</h2>
${
  model.apps.length === 0
    ? noRows(
        model.paging,
        empty(
          "Nothing is connected",
          "When you approve an application, it appears here, and here you can take it back."
        )
      )
    : rows(model.apps.map((app) => appRow(app, path, visitor)))
}
${pager(path, model.paging)}
</section>`
  })
}
