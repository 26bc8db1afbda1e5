import { Effect, Redacted } from "effect"
import { createKey, revokeKey, rotateKey } from "../engine/administerGrants.ts"
import { behindMark, collectPage, cursorOf, findMarked, type GrantList } from "../engine/lists.ts"
import { type BadKeyTerms, type KeyTerms, keyNameLength, type NewKey } from "../grant/apiKey.ts"
import type { Grant, KeyUse } from "../grant/Grant.ts"
import { type Parameters, readParameters } from "../http/form.ts"
import { choiceField, type FieldProblem, field, hidden, problemAt } from "../pages/Field.ts"
import { type Html, html } from "../pages/Html.ts"
import { type Document, doneNotice, type Place, problemNotice, type Visitor } from "../pages/Layout.ts"
import { ago, timestamp } from "../pages/Timestamp.ts"
import type { StorageUnavailable } from "../ports/Storage.ts"
import { grantMark } from "../rules/Id.ts"
import { day, hasPassed, type Instant } from "../rules/Instant.ts"
import { servicesAt } from "../workspace/Workspace.ts"
import { auditContext, backTo, type Inside, type Section, sectionEndpoint } from "./inside.ts"
import {
  confirmed,
  empty,
  type Forms,
  formsAt,
  listedAt,
  listSection,
  type Paging,
  type Row,
  withLastUse
} from "./Rows.ts"
import { scopeBoxes, scopeNames, tickedScopes } from "./ScopeBoxes.ts"
import { sectionPath, settingsDocument, shownOnce } from "./SettingsLayout.ts"

/** The values of `expires` in the form that creates a key. */
const keyLifetimes = [
  { value: "30d", words: "30 days", lasts: 30 * day },
  { value: "90d", words: "90 days", lasts: 90 * day },
  { value: "365d", words: "1 year", lasts: 365 * day },
  { value: "never", words: "Never", lasts: undefined }
] as const
type KeyLifetime = (typeof keyLifetimes)[number]["value"]

/** The values of `opens` in the form, in words that a narrow phone has room for. */
const keyUses = {
  everything: "Everything",
  scopes: "Scopes ticked below",
  introspection: "Introspection alone"
} as const satisfies Record<KeyUse, string>

const isKeyUse = (text: string): text is KeyUse => Object.hasOwn(keyUses, text)

interface ApiKeyRow {
  readonly id: string
  readonly name: string
  readonly use: KeyUse
  readonly scope: ReadonlyArray<string>
  /** The beginning of the key, by which its owner recognises it. */
  readonly prefix: string
  readonly createdAt: Instant
  /** Absent if it never expires. */
  readonly expiresAt?: Instant
  /** Absent if it was never used. */
  readonly lastUsedAt?: Instant
}

/**
 * Owners only. Its forms post to `{base}/settings/keys` with `csrf` and `action`:
 * `create` (`name`, `expires`, `opens`, and `scope.NAME` for each scope), `revoke` (`id`), `rotate` (`id`).
 */
interface ApiKeysPage {
  /** `unread` if the storage did not answer; a new key is shown even then. */
  readonly keys: ReadonlyArray<ApiKeyRow> | "unread"
  readonly paging: Paging
  /** The scopes that there are. */
  readonly scopes: ReadonlyArray<string>
  /** The new key: on this answer and never again. */
  readonly made?: { readonly name: string; readonly key: string; readonly expiresAt?: Instant }
  /** The form as it was sent, with its problem. */
  readonly form?: Typed & { readonly problem?: Problem }
}

type Problem = FieldProblem<"name" | "expires" | "opens">

interface Typed {
  readonly name: string
  readonly expires: KeyLifetime
  readonly opens: KeyUse
  readonly ticked: ReadonlyArray<string>
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
  { form, scopes }: ApiKeysPage
): Html => html`<section aria-labelledby="create">
<h2 id="create">Create a key</h2>
<form method="post" action="${path}" class="panel padded inline-form">
${hidden({ csrf, action: "create" })}
${field({
  label: "Name",
  name: "name",
  value: form?.name,
  problem: problemAt(form?.problem, "name"),
  hint: "Its purpose, so that you recognise it later: “Nightly export”.",
  maxlength: keyNameLength
})}
${choiceField({
  label: "Expires after",
  name: "expires",
  chosen: form?.expires ?? "90d",
  options: keyLifetimes.map(({ value, words }) => [value, words] as const),
  problem: problemAt(form?.problem, "expires")
})}
${choiceField({
  label: "Opens",
  name: "opens",
  chosen: form?.opens ?? "everything",
  options: Object.entries(keyUses),
  hint: "Everything is all scopes, and introspection, by which an API asks what a token opens.",
  problem: problemAt(form?.problem, "opens")
})}
${scopes.length > 0 && scopeBoxes(scopes, form?.ticked ?? [])}
<div class="form-actions"><button class="button primary" type="submit">Create key</button></div>
</form>
</section>`

const opened = ({ scope, use }: ApiKeyRow): Html => {
  if (use === "everything") return html`Everything`
  return use === "introspection" ? html`Introspection` : html`<code>${scope.join(" ")}</code>`
}

const keyRow = (key: ApiKeyRow, forms: Forms, { now }: Visitor): Row => ({
  title: html`<bdi>${key.name}</bdi>`,
  name: key.name,
  mark: key.prefix,
  facts: [
    ["Begins with", html`<code>${key.prefix}…</code>`],
    ["Created", ago(key.createdAt, now)],
    ["Last used", key.lastUsedAt === undefined ? html`Never` : ago(key.lastUsedAt, now)],
    ["Expires", expiry(key, now)],
    ["Opens", opened(key)]
  ],
  actions: (about) => [
    confirmed({
      label: "Rotate",
      about,
      question: "Makes a new key with the same name and shows it once. The old one stops working at once.",
      confirm: "Make a new key",
      tone: "plain",
      ...forms("rotate", { id: key.id })
    }),
    confirmed({
      label: "Revoke",
      about,
      question: "Everything that uses this key stops working at once. This cannot be undone.",
      confirm: "Revoke this key",
      tone: "danger",
      ...forms("revoke", { id: key.id })
    })
  ]
})

const none = empty("No keys yet", "Create one to call the API from a script or a server.")
// The words do not suggest a reload, which would send the form again.
const unread = empty("The keys could not be read", "Open “API keys” again in a moment.", "unread")

export const apiKeysPage = (place: Place, visitor: Visitor, model: ApiKeysPage): Document => {
  const path = sectionPath(place, "keys")
  const { keys, made, paging } = model
  const forms = formsAt(listedAt(path, paging), visitor)
  return settingsDocument(place, visitor, {
    section: "keys",
    title: "API keys",
    came: model.form?.problem !== undefined ? "problem" : made && "done",
    lead: html`A key speaks for all of <bdi>${place.name}</bdi>, without a user, and with every scope unless you choose less. Keep it on servers only.`,
    main: html`${
      made !== undefined &&
      shownOnce({
        title: "Copy your new key now",
        label: made.name,
        secret: made.key,
        advice: html`Only a fingerprint of it is stored, so it cannot be shown again.${
          made.expiresAt !== undefined && html` It expires on ${timestamp(made.expiresAt)}.`
        }`
      })
    }
${createForm(path, visitor.csrf, model)}
${listSection({
  id: "keys",
  title: "Keys",
  rows: keys === "unread" ? [] : keys.map((key) => keyRow(key, forms, visitor)),
  none: keys === "unread" ? unread : none,
  path,
  paging
})}`
  })
}

const section = {
  name: "keys",
  notices: {
    "key-revoked": doneNotice("The key is revoked and has stopped working."),
    // After a double click only the second answer is seen, and the first may have replaced the key.
    "key-gone": problemNotice(
      "This key was already replaced or revoked. If you replaced it and did not see the new key, find the new one in the list by its creation date and rotate it."
    )
  }
} as const satisfies Section

const allKeys =
  ({ call, services }: Inside): GrantList =>
  (page) =>
    services.grants.keys(call.workspace.id, page)

const pickKey = (grant: Grant) => {
  if (grant._tag !== "Key") return Effect.succeed(undefined)
  const row = {
    id: grantMark(grant.id),
    name: grant.name,
    use: grant.use,
    scope: grant.scope,
    prefix: grant.hint,
    createdAt: grant.createdAt,
    ...(grant.expiresAt === null ? {} : { expiresAt: grant.expiresAt })
  }
  return Effect.succeed({ id: grant.id, row })
}

type KeyList = Pick<ApiKeysPage, "keys" | "paging">

const listOf = Effect.fnUntraced(function* (inside: Inside): Effect.fn.Return<KeyList, StorageUnavailable> {
  const after = behindMark(readParameters(inside.call.request.query).parameters.get("after"))
  const found = yield* collectPage(allKeys(inside), after, pickKey)
  const keys = yield* withLastUse(inside, "grant", found.values)
  return { keys, paging: { after: cursorOf(after), nextCursor: cursorOf(found.last) } }
})

const show = ({ call, services, visitor }: Inside, status: number, page: Omit<ApiKeysPage, "scopes">) =>
  services.pages.show(call.workspace, status, (place) =>
    apiKeysPage(place, visitor, { ...page, scopes: scopeNames(services, call) })
  )

const draw = (inside: Inside, status: number, said: Pick<ApiKeysPage, "form">) =>
  Effect.map(listOf(inside), (list) => show(inside, status, { ...list, ...said }))

/**
 * Shows a new key, in the answer to the form that made it and nowhere else. The key exists and cannot be
 * shown again, so it is shown even if the list of keys cannot be read.
 */
const drawMade = Effect.fnUntraced(function* (inside: Inside, { grant, text }: NewKey) {
  const list = yield* Effect.catchTag(listOf(inside), "StorageUnavailable", ({ _tag: fault }) =>
    Effect.as(
      Effect.logWarning("a new key was shown without the list of keys, which could not be read", {
        workspace: inside.call.workspace.id,
        grant: grantMark(grant.id),
        fault
      }),
      { keys: "unread", paging: {} } as const
    )
  )
  return show(inside, 200, {
    ...list,
    made: {
      name: grant.name,
      key: Redacted.value(text),
      ...(grant.expiresAt === null ? {} : { expiresAt: grant.expiresAt })
    }
  })
})

const problems = {
  no_name: { field: "name", text: "Enter a name, so that you recognise the key later." },
  long_name: { field: "name", text: `Use at most ${keyNameLength} characters.` },
  lifetime: { field: "expires", text: "Choose when the key expires." },
  scopes: {
    field: "opens",
    text: "Choose what the key opens, and at least one scope where it is to open scopes."
  }
} as const satisfies Record<BadKeyTerms["reason"], Problem>

const create = Effect.fn("settings.createKey")(function* (inside: Inside, form: Parameters) {
  const { call, services } = inside
  const name = form.get("name") ?? ""
  const chosen = keyLifetimes.find(({ value }) => value === form.get("expires"))
  const use = form.get("opens") ?? "everything"
  const ticked = tickedScopes(scopeNames(services, call), form)
  const again = (reason: BadKeyTerms["reason"]) =>
    draw(inside, 400, {
      form: {
        name: name.slice(0, keyNameLength),
        expires: chosen?.value ?? "90d",
        opens: isKeyUse(use) ? use : "everything",
        ticked,
        problem: problems[reason]
      }
    })
  if (chosen === undefined) return yield* again("lifetime")
  // An owner who ticked scopes and left the choice above as it was wants less than everything, so it is asked again.
  if (!isKeyUse(use) || (use !== "scopes" && ticked.length > 0)) return yield* again("scopes")
  const opens: KeyTerms["opens"] = use === "scopes" ? ticked : use
  return yield* createKey(servicesAt(services, call.workspace), auditContext(inside), {
    name,
    lasts: chosen.lasts,
    opens
  }).pipe(
    Effect.flatMap((made) => drawMade(inside, made)),
    Effect.catchTag("BadKeyTerms", ({ reason }) => again(reason))
  )
})

const revoke = Effect.fn("settings.revokeKey")(function* (inside: Inside, form: Parameters) {
  const grant = yield* findMarked(allKeys(inside), form.get("id"))
  const outcome = grant === undefined ? "unknown" : yield* revokeKey(inside.services, auditContext(inside), grant.id)
  return backTo(inside.call, section, outcome === "unknown" ? "key-gone" : "key-revoked")
})

const rotate = Effect.fn("settings.rotateKey")(function* (inside: Inside, form: Parameters) {
  const old = yield* findMarked(allKeys(inside), form.get("id"))
  const at = servicesAt(inside.services, inside.call.workspace)
  const made = old?._tag === "Key" ? yield* rotateKey(at, auditContext(inside), old) : undefined
  return made === undefined ? backTo(inside.call, section, "key-gone") : yield* drawMade(inside, made)
})

export const keysEndpoint = sectionEndpoint(section, {
  show: (inside) => draw(inside, 200, {}),
  confirmed: { create, rotate },
  others: { revoke }
})
