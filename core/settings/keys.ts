import { Effect, Redacted, Result } from "effect"
import type { NewKey } from "../grant/apiKey.ts"
import type { Grant } from "../grant/Grant.ts"
import type { Endpoint } from "../http/Call.ts"
import { type Parameters, readParameters } from "../http/form.ts"
import type { Parts } from "../http/Parts.ts"
import { type ApiKeysPage, apiKeysPage, keyLifetimes } from "../pages/settings/ApiKeys.ts"
import { pagingOf } from "../pages/settings/Rows.ts"
import type { StorageUnavailable } from "../ports/Storage.ts"
import { grantMark } from "../rules/Id.ts"
import { BadKeyTerms, keyNameLength } from "../rules/KeyTerms.ts"
import { ForgedForm } from "../rules/Refusal.ts"
import { createKey } from "../server/createKey.ts"
import { gather } from "../server/gather.ts"
import { revokeKey } from "../server/revokeKey.ts"
import { rotateKey } from "../server/rotateKey.ts"
import { backTo, type Inside, insideForm, insidePage, occasion } from "./inside.ts"
import { withLastUse } from "./lastUsed.ts"
import { behindMark, cursorOf, findMarked, type GrantList } from "./Mark.ts"
import type { SettingsOptions } from "./SettingsOptions.ts"

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

type KeyList = Pick<ApiKeysPage, "keys" | "paging">

const listOf = Effect.fnUntraced(function* (
  parts: Parts,
  inside: Inside
): Effect.fn.Return<KeyList, StorageUnavailable> {
  const { call } = inside
  const after = behindMark(readParameters(call.request.query).parameters.get("after"))
  const found = yield* gather(allKeys(parts, inside), after, pickKey)
  const keys = yield* withLastUse(parts, call, "grant", found.values)
  return { keys, paging: pagingOf(after, cursorOf(found.last)) }
})

const show = (parts: Parts, { call, visitor }: Inside, status: number, page: ApiKeysPage) =>
  parts.pages.show(call.workspace, status, (place) => apiKeysPage(place, visitor, page))

const draw = (parts: Parts, inside: Inside, status: number, said: Pick<ApiKeysPage, "form">) =>
  Effect.map(listOf(parts, inside), (list) => show(parts, inside, status, { ...list, ...said }))

export const keysEndpoint = (parts: Parts, options: SettingsOptions): Endpoint =>
  insidePage(parts, options, "owners", (inside) => draw(parts, inside, 200, {}))

const unread: KeyList = { keys: "unread", paging: { isContinued: false } }

/**
 * The one place where a key leaves the server: in the answer to the form that asked for it. It exists by now and is never
 * told again, so it is told even where the rest of the page can't be read.
 */
const drawMade = Effect.fnUntraced(function* (parts: Parts, inside: Inside, { grant, text }: NewKey) {
  const list = yield* Effect.catchTag(listOf(parts, inside), "StorageUnavailable", ({ _tag: fault }) =>
    Effect.as(
      Effect.logWarning("a new key is shown without the other keys, which could not be read", {
        workspace: inside.call.workspace.id,
        grant: grantMark(grant.id),
        fault
      }),
      unread
    )
  )
  return show(parts, inside, 200, {
    ...list,
    made: {
      name: grant.name,
      key: Redacted.value(text),
      ...(grant.expiresAt === null ? {} : { expiresAt: grant.expiresAt })
    }
  })
})

const problems = {
  no_name: "Give it a name, so that you know it again.",
  long_name: `Use at most ${keyNameLength} characters.`,
  lifetime: "Choose below when it expires."
} as const satisfies Record<BadKeyTerms["reason"], string>

const create = Effect.fnUntraced(function* (parts: Parts, inside: Inside, form: Parameters) {
  const name = form.get("name") ?? ""
  const chosen = keyLifetimes.find(({ value }) => value === form.get("expires"))
  const made = yield* Effect.result(
    chosen === undefined
      ? new BadKeyTerms({ reason: "lifetime" })
      : createKey(parts, occasion(inside), { name, lasts: chosen.lasts })
  )
  if (Result.isSuccess(made)) return yield* drawMade(parts, inside, made.success)
  if (made.failure._tag !== "BadKeyTerms") return yield* made.failure
  const problem = problems[made.failure.reason]
  return yield* draw(parts, inside, 400, {
    form: { name: name.slice(0, keyNameLength), expires: chosen?.value ?? "90d", problem }
  })
})

const revoke = Effect.fnUntraced(function* (parts: Parts, inside: Inside, form: Parameters) {
  const grant = yield* findMarked(allKeys(parts, inside), form.get("id"))
  const outcome = grant === undefined ? "unknown" : yield* revokeKey(parts, occasion(inside), grant.id)
  return backTo(inside.call, "keys", outcome === "unknown" ? "key-gone" : "key-revoked")
})

const rotate = Effect.fnUntraced(function* (parts: Parts, inside: Inside, form: Parameters) {
  const old = yield* findMarked(allKeys(parts, inside), form.get("id"))
  const made = old?._tag === "Key" ? yield* rotateKey(parts, occasion(inside), old) : undefined
  return made === undefined ? backTo(inside.call, "keys", "key-gone") : yield* drawMade(parts, inside, made)
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
