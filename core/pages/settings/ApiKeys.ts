import { hasPassed, type Instant, type Millis } from "../../rules/Instant.ts"
import { keyNameLength } from "../../rules/KeyTerms.ts"
import type { Document } from "../Document.ts"
import { field, hidden } from "../Field.ts"
import { attributes, type Html, html } from "../Html.ts"
import type { Place } from "../Place.ts"
import { ago, timestamp } from "../Timestamp.ts"
import type { Visitor } from "../Visitor.ts"
import { confirmed, empty, noRows, type Paging, pager, rows } from "./Rows.ts"
import { sectionPath, settingsDocument } from "./SettingsLayout.ts"
import { shownOnce } from "./ShownOnce.ts"

const day: Millis = 86_400_000

/** What `expires` may be in the form that creates a key, and what it means. */
export const keyLifetimes = [
  { value: "30d", words: "30 days", lasts: 30 * day },
  { value: "90d", words: "90 days", lasts: 90 * day },
  { value: "365d", words: "1 year", lasts: 365 * day },
  { value: "never", words: "Never", lasts: undefined }
] as const
export type KeyLifetime = (typeof keyLifetimes)[number]["value"]

export interface ApiKeyRow {
  readonly id: string
  readonly name: string
  /** What one can recognise the key by: its readable beginning, never all of it. */
  readonly prefix: string
  readonly createdAt: Instant
  /** None where it never expires. */
  readonly expiresAt?: Instant
  /** None where it was never used. */
  readonly lastUsedAt?: Instant
}

/**
 * Owners only. Its forms post to `{base}/settings/keys` with `csrf` and `action`:
 * `create` (`name`, `expires`), `revoke` (`id`), `rotate` (`id`).
 */
export interface ApiKeysPage {
  /** Unread where the storage did not answer, but a key that was made just now has to be told. */
  readonly keys: ReadonlyArray<ApiKeyRow> | "unread"
  readonly paging: Paging
  /** The key that was made just now: on this answer and never again. */
  readonly made?: { readonly name: string; readonly key: string; readonly expiresAt?: Instant }
  /** The form again, as it was sent, with what is wrong with it. */
  readonly form?: { readonly name: string; readonly expires: KeyLifetime; readonly problem?: string }
}

const expiry = (key: ApiKeyRow, now: Instant): Html => {
  if (key.expiresAt === undefined) return html`Never`
  return hasPassed(key.expiresAt, now)
    ? html`<span class="badge badge-danger">Expired</span>`
    : html`${ago(key.expiresAt, now)}`
}

const createForm = (
  path: string,
  csrf: string,
  form: ApiKeysPage["form"]
): Html => html`<section aria-labelledby="create">
<h2 id="create">Create a key</h2>
<form method="post" action="${path}" class="panel padded inline-form">
${hidden({ csrf, action: "create" })}
${field({
  label: "Name",
  name: "name",
  type: "text",
  autocomplete: "off",
  value: form?.name,
  problem: form?.problem,
  autofocus: form?.problem !== undefined,
  hint: "What it is for, so that you know it again: “Nightly export”.",
  maxlength: keyNameLength
})}
<div class="field">
<label for="expires">Expires after</label>
<select id="expires" name="expires">${keyLifetimes.map(
  ({ value, words }) =>
    html`<option value="${value}"${attributes({ selected: value === (form?.expires ?? "90d") })}>${words}</option>`
)}</select>
</div>
<div class="form-actions"><button class="button primary" type="submit">Create key</button></div>
</form>
</section>`

const keyRow = (key: ApiKeyRow, path: string, visitor: Visitor): Parameters<typeof rows>[0][number] => ({
  title: html`<bdi>${key.name}</bdi>`,
  facts: [
    ["Begins with", html`<code>${key.prefix}…</code>`],
    ["Created", ago(key.createdAt, visitor.now)],
    ["Last used", key.lastUsedAt === undefined ? html`Never` : ago(key.lastUsedAt, visitor.now)],
    ["Expires", expiry(key, visitor.now)]
  ],
  actions: [
    confirmed({
      label: "Rotate",
      about: key.name,
      question: "Makes a new key with the same name and shows it once. The old one stops working at once.",
      confirm: "Make a new key",
      tone: "plain",
      path,
      fields: { csrf: visitor.csrf, action: "rotate", id: key.id }
    }),
    confirmed({
      label: "Revoke",
      about: key.name,
      question: "Whatever uses this key stops working at once. This can't be undone.",
      confirm: "Revoke this key",
      tone: "danger",
      path,
      fields: { csrf: visitor.csrf, action: "revoke", id: key.id }
    })
  ]
})

const keyList = ({ keys, paging }: ApiKeysPage, path: string, visitor: Visitor): Html => {
  // Not by a reload: that would send the form again.
  if (keys === "unread") return empty("Your keys can't be shown just now", "Open “API keys” again in a while.")
  return keys.length === 0
    ? noRows(paging, empty("No keys yet", "Create one to call the API from a script or a server."))
    : rows(keys.map((key) => keyRow(key, path, visitor)))
}

export const apiKeysPage = (place: Place, visitor: Visitor, model: ApiKeysPage): Document => {
  const path = sectionPath(place, "keys")
  return settingsDocument(place, visitor, {
    section: "keys",
    title: "API keys",
    came: model.form?.problem !== undefined ? "problem" : model.made !== undefined ? "done" : undefined,
    lead: html`A key speaks for all of <bdi>${place.name}</bdi>, with every scope and without a user. Keep it on servers only.`,
    main: html`${
      model.made !== undefined &&
      shownOnce({
        title: "Copy your new key now",
        label: model.made.name,
        secret: model.made.key,
        advice: html`We keep only a fingerprint of it, so it can't be shown again.${
          model.made.expiresAt !== undefined && html` It expires on ${timestamp(model.made.expiresAt)}.`
        }`
      })
    }
${createForm(path, visitor.csrf, model.form)}
<section aria-labelledby="keys">
<h2 id="keys">Keys</h2>
${keyList(model, path, visitor)}
${pager(path, model.paging)}
</section>`
  })
}
