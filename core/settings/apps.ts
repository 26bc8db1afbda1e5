import { Effect } from "effect"
import { isConnected } from "../grant/connected.ts"
import type { Grant } from "../grant/Grant.ts"
import type { Endpoint } from "../http/Call.ts"
import { readParameters } from "../http/form.ts"
import type { Parts } from "../http/Parts.ts"
import type { ScopeInWords } from "../pages/Consent.ts"
import { connectedAppsPage } from "../pages/settings/ConnectedApps.ts"
import { pagingOf } from "../pages/settings/Rows.ts"
import { grantMark } from "../rules/Id.ts"
import type { Policy } from "../rules/Policy.ts"
import { ForgedForm } from "../rules/Refusal.ts"
import { endGrant } from "../server/endGrant.ts"
import { gather } from "../server/gather.ts"
import { backTo, type Inside, insideForm, insidePage, occasion } from "./inside.ts"
import { withLastUse } from "./lastUsed.ts"
import { behindMark, cursorOf, findMarked, type GrantList } from "./Mark.ts"
import { returnHosts } from "./returnHosts.ts"
import type { SettingsOptions } from "./SettingsOptions.ts"

const inWords = (grant: Grant, policy: Policy): ReadonlyArray<ScopeInWords> =>
  grant.scope.map((scope) => ({
    scope,
    // One that the registry no longer has goes by its name.
    words: policy.scopes.find(({ name }) => name === scope)?.meaning ?? scope
  }))

const ownGrants =
  (parts: Parts, { call, signedIn }: Inside): GrantList =>
  (page) =>
    parts.grants.ofUser(call.workspace.id, signedIn.user, page)

const pickApp = (parts: Parts, { call }: Inside) =>
  Effect.fnUntraced(function* (grant: Grant) {
    if (!isConnected(grant, parts.policy, call.now)) return undefined
    const client = yield* parts.clients.find(call.workspace.id, grant.client)
    // Without its client nothing that it issued is accepted.
    if (client === undefined) return undefined
    const hosts = returnHosts(client.redirectUris)
    const row = {
      grantId: grantMark(grant.id),
      client: client.about.client_name,
      scopes: inWords(grant, parts.policy),
      since: grant.createdAt,
      ...(hosts.length === 0 ? {} : { returnHost: hosts.join(", ") })
    }
    return { id: grant.id, row }
  })

export const appsEndpoint = (parts: Parts, options: SettingsOptions): Endpoint =>
  insidePage(
    parts,
    options,
    "anybody",
    Effect.fnUntraced(function* (inside) {
      const { call, visitor } = inside
      const after = behindMark(readParameters(call.request.query).parameters.get("after"))
      const found = yield* gather(ownGrants(parts, inside), after, pickApp(parts, inside))
      const apps = yield* withLastUse(parts, call, "grant", found.values)
      const paging = pagingOf(after, cursorOf(found.last))
      return parts.pages.show(call.workspace, 200, (place) => connectedAppsPage(place, visitor, { apps, paging }))
    })
  )

/** Somebody else's grant is not in the list, so it is told apart from one that never was by nothing at all. */
export const changeAppsEndpoint = (parts: Parts, options: SettingsOptions): Endpoint =>
  insideForm(
    parts,
    options,
    "anybody",
    Effect.fnUntraced(function* (inside, form) {
      const { call } = inside
      if (form.get("action") !== "revoke") return yield* new ForgedForm({ reason: "field_missing" })
      const grant = yield* findMarked(ownGrants(parts, inside), form.get("id"))
      if (grant === undefined) return backTo(call, "apps", "app-gone")
      const outcome = yield* endGrant(parts, occasion(inside), grant.id)
      return backTo(call, "apps", outcome === "unknown" ? "app-gone" : "app-revoked")
    })
  )
