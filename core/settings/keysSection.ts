import { Effect, Redacted } from "effect"
import { createKey, revokeKey, rotateKey } from "../engine/administerGrants.ts"
import { behindMark, collectPage, cursorOf, findMarked, type GrantList } from "../engine/lists.ts"
import { type BadKeyTerms, type KeyTerms, keyNameLength, type NewKey } from "../grant/apiKey.ts"
import type { Grant, KeyUse } from "../grant/Grant.ts"
import { type Parameters, readParameters } from "../http/form.ts"
import type { Handler, Services } from "../http/Route.ts"
import { choiceField, field, hidden } from "../pages/Field.ts"
import { type Html, html } from "../pages/Html.ts"
import type { Document, Place, Visitor } from "../pages/Layout.ts"
import { ago, timestamp } from "../pages/Timestamp.ts"
import type { StorageUnavailable } from "../ports/Storage.ts"
import { grantMark } from "../rules/Id.ts"
import { day, hasPassed, type Instant } from "../rules/Instant.ts"
import { servicesAt } from "../workspace/Workspace.ts"
import { auditContext, backTo, type Inside, insidePage, type Section, sectionForms, type Visitors } from "./inside.ts"
import { confirmed, empty, noRows, type Paging, pager, pagingOf, type Row, rows, withLastUse } from "./Rows.ts"
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

interface Problem {
  readonly field: "name" | "expires" | "opens"
  readonly text: string
}

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

const problemOf = (form: ApiKeysPage["form"], name: Problem["field"]): string | undefined =>
  form?.problem?.field === name ? form.problem.text : undefined

const createForm = (
  path: string,
  csrf: string,
  form: ApiKeysPage["form"],
  scopes: ReadonlyArray<string>
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
  problem: problemOf(form, "name"),
  autofocus: form?.problem?.field === "name",
  hint: "Its purpose, so that you recognise it later: “Nightly export”.",
  maxlength: keyNameLength
})}
${choiceField({
  label: "Expires after",
  name: "expires",
  chosen: form?.expires ?? "90d",
  options: keyLifetimes.map(({ value, words }) => [value, words] as const),
  problem: problemOf(form, "expires")
})}
${choiceField({
  label: "Opens",
  name: "opens",
  chosen: form?.opens ?? "everything",
  options: Object.entries(keyUses),
  hint: "Everything is all scopes, and introspection, by which an API asks what a token opens.",
  problem: problemOf(form, "opens")
})}
${scopes.length > 0 && scopeBoxes(scopes, form?.ticked ?? [])}
<div class="form-actions"><button class="button primary" type="submit">Create key</button></div>
</form>
</section>`

const opened = ({ scope, use }: ApiKeyRow): Html => {
  if (use === "everything") return html`Everything`
  return use === "introspection" ? html`Introspection` : html`<code>${scope.join(" ")}</code>`
}

const keyRow = (key: ApiKeyRow, path: string, visitor: Visitor): Row => ({
  title: html`<bdi>${key.name}</bdi>`,
  name: key.name,
  mark: key.prefix,
  facts: [
    ["Begins with", html`<code>${key.prefix}…</code>`],
    ["Created", ago(key.createdAt, visitor.now)],
    ["Last used", key.lastUsedAt === undefined ? html`Never` : ago(key.lastUsedAt, visitor.now)],
    ["Expires", expiry(key, visitor.now)],
    ["Opens", opened(key)]
  ],
  actions: (about) => [
    confirmed({
      label: "Rotate",
      about,
      question: "Makes a new key with the same name and shows it once. The old one stops working at once.",
      confirm: "Make a new key",
      tone: "plain",
      path,
      fields: { csrf: visitor.csrf, action: "rotate", id: key.id }
    }),
    confirmed({
      label: "Revoke",
      about,
      question: "Everything that uses this key stops working at once. This cannot be undone.",
      confirm: "Revoke this key",
      tone: "danger",
      path,
      fields: { csrf: visitor.csrf, action: "revoke", id: key.id }
    })
  ]
})

const keyList = ({ keys, paging }: ApiKeysPage, path: string, visitor: Visitor): Html => {
  // The words do not suggest a reload, which would send the form again.
  if (keys === "unread") return empty("The keys could not be read", "Open “API keys” again in a moment.", "unread")
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
    lead: html`A key speaks for all of <bdi>${place.name}</bdi>, without a user, and with every scope unless you choose less. Keep it on servers only.`,
    main: html`${
      model.made !== undefined &&
      shownOnce({
        title: "Copy your new key now",
        label: model.made.name,
        secret: model.made.key,
        advice: html`Only a fingerprint of it is stored, so it cannot be shown again.${
          model.made.expiresAt !== undefined && html` It expires on ${timestamp(model.made.expiresAt)}.`
        }`
      })
    }
${createForm(path, visitor.csrf, model.form, model.scopes)}
<section aria-labelledby="keys">
<h2 id="keys">Keys</h2>
${keyList(model, path, visitor)}
${pager(path, model.paging)}
</section>`
  })
}

const section = {
  name: "keys",
  notices: {
    "key-revoked": { kind: "done", text: "The key is revoked and has stopped working." },
    // After a double click only the second answer is seen, and the first may have replaced the key.
    "key-gone": {
      kind: "problem",
      text: "This key was already replaced or revoked. If you replaced it and did not see the new key, find the new one in the list by its creation date and rotate it."
    }
  }
} as const satisfies Section

const allKeys =
  (services: Services, { call }: Inside): GrantList =>
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

const listOf = Effect.fnUntraced(function* (
  services: Services,
  inside: Inside
): Effect.fn.Return<KeyList, StorageUnavailable> {
  const { call } = inside
  const after = behindMark(readParameters(call.request.query).parameters.get("after"))
  const found = yield* collectPage(allKeys(services, inside), after, pickKey)
  const keys = yield* withLastUse(services, call, "grant", found.values)
  return { keys, paging: pagingOf(after, cursorOf(found.last)) }
})

const show = (services: Services, inside: Inside, status: number, page: Omit<ApiKeysPage, "scopes">) =>
  services.pages.show(inside.call.workspace, status, (place) =>
    apiKeysPage(place, inside.visitor, { ...page, scopes: scopeNames(services, inside.call) })
  )

const draw = (services: Services, inside: Inside, status: number, said: Pick<ApiKeysPage, "form">) =>
  Effect.map(listOf(services, inside), (list) => show(services, inside, status, { ...list, ...said }))

export const keysHandler = (services: Services, visitors: Visitors): Handler =>
  insidePage(services, visitors, section, (inside) => draw(services, inside, 200, {}))

const unread: KeyList = { keys: "unread", paging: { isContinued: false } }

/**
 * Shows a new key, in the answer to the form that made it and nowhere else. The key exists and cannot be
 * shown again, so it is shown even if the list of keys cannot be read.
 */
const drawMade = Effect.fnUntraced(function* (services: Services, inside: Inside, { grant, text }: NewKey) {
  const list = yield* Effect.catchTag(listOf(services, inside), "StorageUnavailable", ({ _tag: fault }) =>
    Effect.as(
      Effect.logWarning("a new key was shown without the list of keys, which could not be read", {
        workspace: inside.call.workspace.id,
        grant: grantMark(grant.id),
        fault
      }),
      unread
    )
  )
  return show(services, inside, 200, {
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

const create = Effect.fn("settings.createKey")(function* (services: Services, inside: Inside, form: Parameters) {
  const name = form.get("name") ?? ""
  const chosen = keyLifetimes.find(({ value }) => value === form.get("expires"))
  const use = form.get("opens") ?? "everything"
  const ticked = tickedScopes(scopeNames(services, inside.call), form)
  const again = (reason: BadKeyTerms["reason"]) =>
    draw(services, inside, 400, {
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
  return yield* createKey(servicesAt(services, inside.call.workspace), auditContext(inside), {
    name,
    lasts: chosen.lasts,
    opens
  }).pipe(
    Effect.flatMap((made) => drawMade(services, inside, made)),
    Effect.catchTag("BadKeyTerms", ({ reason }) => again(reason))
  )
})

const revoke = Effect.fn("settings.revokeKey")(function* (services: Services, inside: Inside, form: Parameters) {
  const grant = yield* findMarked(allKeys(services, inside), form.get("id"))
  const outcome = grant === undefined ? "unknown" : yield* revokeKey(services, auditContext(inside), grant.id)
  return backTo(inside.call, section, outcome === "unknown" ? "key-gone" : "key-revoked")
})

const rotate = Effect.fn("settings.rotateKey")(function* (services: Services, inside: Inside, form: Parameters) {
  const old = yield* findMarked(allKeys(services, inside), form.get("id"))
  const at = servicesAt(services, inside.call.workspace)
  const made = old?._tag === "Key" ? yield* rotateKey(at, auditContext(inside), old) : undefined
  return made === undefined ? backTo(inside.call, section, "key-gone") : yield* drawMade(services, inside, made)
})

export const changeKeysHandler = (services: Services, visitors: Visitors): Handler =>
  sectionForms(services, visitors, section, { create, rotate }, { revoke })
