import { Effect, Redacted } from "effect"
import type { NewKey } from "../grant/apiKey.ts"
import type { Grant } from "../grant/Grant.ts"
import type { Endpoint } from "../http/Call.ts"
import { type Parameters, readParameters } from "../http/form.ts"
import type { Parts } from "../http/Parts.ts"
import { neutralise } from "../pages/neutralise.ts"
import { type ApiKeysPage, apiKeysPage, keyLifetimes } from "../pages/settings/ApiKeys.ts"
import { grantMark } from "../ports/Audit.ts"
import { later } from "../rules/Instant.ts"
import { ForgedForm } from "../rules/Refusal.ts"
import { rotateKey } from "../server/rotateKey.ts"
import { gather, pagingOf } from "./gather.ts"
import { backTo, type Inside, insideForm, insidePage, noteKey } from "./inside.ts"
import { withLastUse } from "./lastUsed.ts"
import { behindMark, cursorOf, findMarked, type GrantList } from "./Mark.ts"
import type { SettingsOptions } from "./SettingsOptions.ts"

const nameLength = 100

const allKeys =
  (parts: Parts, { call }: Inside): GrantList =>
  (page) =>
    parts.grants.keys(call.workspace.id, page)

const pickKey = (grant: Grant) => {
  if (grant._tag !== "Key") return Effect.succeed(undefined)
  const row = {
    id: grantMark(grant.id),
    name: grant.name,
    prefix: grant.hint,
    createdAt: grant.createdAt,
    ...(grant.expiresAt === null ? {} : { expiresAt: grant.expiresAt })
  }
  return Effect.succeed({ id: grant.id, row })
}

const draw = Effect.fnUntraced(function* (
  parts: Parts,
  inside: Inside,
  status: number,
  said: Pick<ApiKeysPage, "made" | "form">
) {
  const { call, visitor } = inside
  const after = behindMark(readParameters(call.request.query).parameters.get("after"))
  const found = yield* gather(allKeys(parts, inside), after, pickKey)
  const keys = yield* withLastUse(parts, call, "grant", found.values)
  const paging = pagingOf(after, cursorOf(found.last))
  return parts.pages.show(call.workspace, status, (place) => apiKeysPage(place, visitor, { keys, paging, ...said }))
})

export const keysEndpoint = (parts: Parts, options: SettingsOptions): Endpoint =>
  insidePage(parts, options, "owners", (inside) => draw(parts, inside, 200, {}))

/** The one place where a key leaves the server: in the answer to the form that asked for it. */
const drawMade = (parts: Parts, inside: Inside, { grant, text }: NewKey) =>
  draw(parts, inside, 200, {
    made: {
      name: grant.name,
      key: Redacted.value(text),
      ...(grant.expiresAt === null ? {} : { expiresAt: grant.expiresAt })
    }
  })

const create = Effect.fnUntraced(function* (parts: Parts, inside: Inside, form: Parameters) {
  const { call } = inside
  const typed = form.get("name") ?? ""
  const name = neutralise(typed, nameLength)
  const lifetime = keyLifetimes.find(({ value }) => value === form.get("expires"))
  const again = (problem: string) =>
    draw(parts, inside, 400, { form: { name: typed.slice(0, nameLength), expires: lifetime?.value ?? "90d", problem } })
  if (name === undefined) return yield* again("Give it a name, so that you know it again.")
  if (typed.length > nameLength) return yield* again(`Use at most ${nameLength} characters.`)
  if (lifetime === undefined) return yield* again("Choose below when it expires.")
  const expiresAt = lifetime.lasts === undefined ? null : later(call.now, lifetime.lasts)
  const made = yield* parts.grants.createKey(call.workspace.id, { name, expiresAt })
  yield* noteKey(parts, inside, "KeyCreated", made.grant.id)
  return yield* drawMade(parts, inside, made)
})

const revoke = Effect.fnUntraced(function* (parts: Parts, inside: Inside, form: Parameters) {
  const { call } = inside
  const grant = yield* findMarked(allKeys(parts, inside), form.get("id"))
  if (grant === undefined) return backTo(call, "keys", "key-gone")
  const outcome = yield* parts.grants.revokeGrant(call.workspace.id, grant.id, "by_owner")
  if (outcome === "unknown") return backTo(call, "keys", "key-gone")
  if (outcome === "revoked") yield* noteKey(parts, inside, "KeyRevoked", grant.id)
  return backTo(call, "keys", "key-revoked")
})

const rotate = Effect.fnUntraced(function* (parts: Parts, inside: Inside, form: Parameters) {
  const { call } = inside
  const old = yield* findMarked(allKeys(parts, inside), form.get("id"))
  if (old?._tag !== "Key") return backTo(call, "keys", "key-gone")
  const made = yield* rotateKey(parts.grants, call.workspace.id, old)
  if (made === undefined) return backTo(call, "keys", "key-gone")
  yield* noteKey(parts, inside, "KeyCreated", made.grant.id)
  yield* noteKey(parts, inside, "KeyRevoked", old.id)
  return yield* drawMade(parts, inside, made)
})

export const changeKeysEndpoint = (parts: Parts, options: SettingsOptions): Endpoint =>
  insideForm(parts, options, "owners", (inside, form) => {
    switch (form.get("action")) {
      case "create":
        return create(parts, inside, form)
      case "revoke":
        return revoke(parts, inside, form)
      case "rotate":
        return rotate(parts, inside, form)
      default:
        return Effect.fail(new ForgedForm({ reason: "field_missing" }))
    }
  })
