import { Effect, Option } from "effect"
import { type Client, isKnown } from "../client/Client.ts"
import type { Endpoint } from "../http/Call.ts"
import { readParameters } from "../http/form.ts"
import type { Parts } from "../http/Parts.ts"
import { clientName } from "../pages/Consent.ts"
import { clientsPage } from "../pages/settings/Clients.ts"
import { pagingOf } from "../pages/settings/Rows.ts"
import { type ClientId, readClientId } from "../rules/Id.ts"
import { ForgedForm } from "../rules/Refusal.ts"
import { deleteClient } from "../server/deleteClient.ts"
import { gather } from "../server/gather.ts"
import { switchClient } from "../server/switchClient.ts"
import { backTo, type Inside, insideForm, insidePage, occasion, takeOfAccount } from "./inside.ts"
import { withLastUse } from "./lastUsed.ts"
import { returnHosts } from "./returnHosts.ts"
import type { SettingsOptions } from "./SettingsOptions.ts"

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
    kind: client.credential._tag === "Public" ? ("public" as const) : ("confidential" as const),
    registeredItself: client.madeBy === "itself",
    registeredAt: client.createdAt,
    redirectHosts: returnHosts(client.redirectUris),
    disabled: client.disabled
  }
})

const find = Effect.fnUntraced(function* (parts: Parts, { call }: Inside, search: string, after: string | undefined) {
  // The id, whole: no need to look for it.
  const id = after === undefined ? Option.getOrUndefined(readClientId(search)) : undefined
  const exact = id === undefined ? undefined : yield* parts.clients.find(call.workspace.id, id)
  if (exact !== undefined && isKnown(exact, call.now)) return { values: [rowOf(exact)], last: undefined }
  return yield* gather(
    (page) => parts.clients.list(call.workspace.id, page),
    after,
    (client) => Effect.succeed(isKnown(client, call.now) && matches(client, search) ? rowOf(client) : undefined)
  )
})

export const clientsEndpoint = (parts: Parts, options: SettingsOptions): Endpoint =>
  insidePage(
    parts,
    options,
    "owners",
    Effect.fnUntraced(function* (inside) {
      const { call, visitor } = inside
      const asked = readParameters(call.request.query).parameters
      const search = (asked.get("q") ?? "").trim().slice(0, searchLength)
      const after = Option.getOrUndefined(readClientId(asked.get("after")))
      if (search !== "") yield* takeOfAccount(parts, inside)
      const found = yield* find(parts, inside, search, after)
      const clients = yield* withLastUse(parts, call, "client", found.values)
      const paging = pagingOf(after, found.last)
      return parts.pages.show(call.workspace, 200, (place) => clientsPage(place, visitor, { search, clients, paging }))
    })
  )

const change = Effect.fnUntraced(function* (
  parts: Parts,
  inside: Inside,
  action: "disable" | "enable" | "delete",
  client: ClientId
) {
  if (action === "delete") {
    const outcome = yield* deleteClient(parts, occasion(inside), client)
    return outcome === "unknown" ? ("client-gone" as const) : ("client-deleted" as const)
  }
  const change = action === "disable" ? "disabled" : "enabled"
  const outcome = yield* switchClient(parts, occasion(inside), client, change)
  return outcome === "unknown" ? ("client-gone" as const) : (`client-${change}` as const)
})

export const changeClientsEndpoint = (parts: Parts, options: SettingsOptions): Endpoint =>
  insideForm(
    parts,
    options,
    "owners",
    Effect.fnUntraced(function* (inside, form) {
      const action = form.get("action")
      if (action !== "disable" && action !== "enable" && action !== "delete") {
        return yield* new ForgedForm({ reason: "field_missing" })
      }
      const id = readClientId(form.get("id"))
      const done = Option.isNone(id) ? "client-gone" : yield* change(parts, inside, action, id.value)
      return backTo(inside.call, "clients", done, form.get("q")?.slice(0, searchLength))
    })
  )
