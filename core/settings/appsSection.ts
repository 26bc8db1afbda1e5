import { Effect } from "effect"
import { knownAs } from "../client/Client.ts"
import { endGrant } from "../engine/administerGrants.ts"
import { type Connection, connectionsPage, grantsBeside, grantsHeldBy } from "../engine/connections.ts"
import { behindMark, cursorOf, findMarked, type GrantList, shownMost } from "../engine/lists.ts"
import { type Parameters, readParameters } from "../http/form.ts"
import { clientName, clientTitle, type ScopeInWords } from "../pages/Consent.ts"
import { breakable, html } from "../pages/Html.ts"
import { type Document, doneNotice, type Place, problemNotice, type Visitor } from "../pages/Layout.ts"
import { ago } from "../pages/Timestamp.ts"
import type { UserPlace } from "../ports/ResourceOwner.ts"
import type { StorageUnavailable } from "../ports/Storage.ts"
import { stillCounts } from "../request/rememberedConsent.ts"
import { grantMark } from "../rules/Id.ts"
import { Instant } from "../rules/Instant.ts"
import type { ScopeRegistry } from "../rules/Scope.ts"
import { scopesOf } from "../workspace/Workspace.ts"
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
  returnHosts,
  withLastUse
} from "./Rows.ts"
import { sectionPath, settingsDocument } from "./SettingsLayout.ts"

/** One connection of the visitor: all that was allowed to one application. */
interface ConnectedAppRow {
  readonly grantId: string
  /** As registered. */
  readonly client: string | undefined
  /** The hosts of its redirect URIs, which tell two clients of the same name apart. */
  readonly returnHost?: string
  /** Where it may act, where the person has places. */
  readonly place?: string
  /** The person's yes counts for the next time too. */
  readonly remembered?: boolean
  readonly scopes: ReadonlyArray<ScopeInWords>
  readonly since: Instant
  readonly lastUsedAt?: Instant
  readonly retriedElsewhereAt?: Instant
}

/** Its forms post to `{base}/settings/apps` with `csrf`, `action` = `revoke` and `id`. */
interface ConnectedAppsPage {
  readonly apps: ReadonlyArray<ConnectedAppRow>
  readonly paging: Paging
}

const appRow = (app: ConnectedAppRow, forms: Forms, { now }: Visitor): Row => ({
  title: html`<bdi>${clientTitle(app.client)}</bdi>`,
  name: clientName(app.client),
  facts: [
    app.returnHost !== undefined && ["Returns to", html`<bdi>${breakable(app.returnHost)}</bdi>`],
    app.place !== undefined && ["At", html`<bdi>${breakable(app.place)}</bdi>`],
    ["Connected", ago(app.since, now)],
    app.remembered === true && ["Asks again", html`Only for more than this`],
    ["Last used", app.lastUsedAt === undefined ? html`Never` : ago(app.lastUsedAt, now)],
    app.retriedElsewhereAt !== undefined && [
      "Used from two networks at once",
      html`${ago(app.retriedElsewhereAt, now)}. Revoke it if that was not you.`
    ]
  ],
  detail: html`<ul class="may" aria-label="What it may do">${app.scopes.map(
    ({ scope, words }) => html`<li>${words} <code class="scope">${scope}</code></li>`
  )}</ul>`,
  actions: (about) => [
    confirmed({
      label: "Revoke",
      about,
      question: "It loses access to your account at once. To use it again, connect it again.",
      confirm: "Revoke access",
      tone: "danger",
      ...forms("revoke", { id: app.grantId })
    })
  ]
})

export const connectedAppsPage = (place: Place, visitor: Visitor, model: ConnectedAppsPage): Document => {
  const path = sectionPath(place, "apps")
  const forms = formsAt(listedAt(path, model.paging), visitor)
  return settingsDocument(place, visitor, {
    section: "apps",
    title: "Connected apps",
    lead: html`Applications that you allowed to use your account in <bdi>${place.name}</bdi>.`,
    main: listSection({
      id: "apps",
      title: "Applications",
      isTitleHidden: true,
      rows: model.apps.map((app) => appRow(app, forms, visitor)),
      none: empty(
        "Nothing is connected",
        "When you approve an application, it appears here, and you can revoke its access."
      ),
      path,
      paging: model.paging
    })
  })
}

const section = {
  name: "apps",
  notices: {
    "app-revoked": doneNotice("Access is revoked. The application can no longer use your account."),
    "app-gone": problemNotice("This application is not connected to your account. Nothing was changed.")
  }
} as const satisfies Section

const inWords = (scopes: ReadonlyArray<string>, registry: ScopeRegistry): ReadonlyArray<ScopeInWords> =>
  scopes.map((scope) => ({
    scope,
    // A scope that is no longer in the registry is shown by its name.
    words: registry.find(({ name }) => name === scope)?.meaning ?? scope
  }))

const ownGrants =
  ({ call, services, signedIn }: Inside): GrantList =>
  (page) =>
    services.grants.ofUser(call.workspace.id, signedIn.user, page)

/** As the host knows the places; one that the person has no more is told by its id. */
const placesOf = ({ call, services, signedIn }: Inside, connections: ReadonlyArray<Connection>) => {
  const { places } = services.owner
  return places === undefined || connections.every(({ place }) => place === undefined)
    ? Effect.succeed<ReadonlyArray<UserPlace>>([])
    : places(call.workspace, signedIn.user)
}

const latest = (times: ReadonlyArray<Instant | null>): Instant | undefined =>
  times.reduce<Instant | undefined>((last, one) => (one === null || (last ?? 0) > one ? last : one), undefined)

const describe = Effect.fnUntraced(function* (
  inside: Inside,
  { client: clientId, grants: all, id, place }: Connection,
  places: ReadonlyArray<UserPlace>
): Effect.fn.Return<ConnectedAppRow | undefined, StorageUnavailable> {
  const { call, services } = inside
  const client = yield* services.clients.find(call.workspace.id, clientId)
  const grants = grantsHeldBy(client, all, call.now)
  // Without its client, the tokens of a grant are not accepted.
  if (client === undefined || grants.length === 0) return undefined
  const hosts = returnHosts(client.redirectUris)
  const used = yield* withLastUse(
    inside,
    "grant",
    grants.map(({ id }) => ({ id, row: {} }))
  )
  const lastUsedAt = latest(used.map((one) => ("lastUsedAt" in one ? one.lastUsedAt : null)))
  const retriedElsewhereAt = latest(grants.map((one) => (one._tag === "Active" ? one.retriedElsewhereAt : null)))
  const remembered =
    services.policy.consent === "remember" &&
    grants.some(
      (one) => one._tag === "Active" && one.consent !== undefined && stillCounts(one.consent, client, call.now)
    )
  const since = Instant.make(Math.min(...grants.map(({ createdAt }) => createdAt)))
  return {
    grantId: grantMark(id),
    client: knownAs(client),
    scopes: inWords([...new Set(grants.flatMap(({ scope }) => scope))], scopesOf(services.policy, call.workspace)),
    since,
    ...(remembered ? { remembered } : {}),
    ...(place === undefined ? {} : { place: places.find((one) => one.id === place)?.label ?? place }),
    ...(lastUsedAt === undefined ? {} : { lastUsedAt }),
    ...(retriedElsewhereAt === undefined ? {} : { retriedElsewhereAt }),
    ...(hosts.length === 0 ? {} : { returnHost: hosts.join(", ") })
  }
})

const show = Effect.fnUntraced(function* (inside: Inside) {
  const { call, services, visitor } = inside
  const after = behindMark(readParameters(call.request.query).parameters.get("after"))
  const standards = {
    policy: services.policy,
    now: call.now,
    trusted: Effect.map(services.openings.current(call.workspace, call.now), ({ trustedIssuers }) => trustedIssuers)
  }
  const { connections, next } = yield* connectionsPage(ownGrants(inside), standards, after, shownMost)
  const places = yield* placesOf(inside, connections)
  const described = yield* Effect.forEach(connections, (one) => describe(inside, one, places))
  const apps = described.filter((row) => row !== undefined)
  const paging = { after: cursorOf(after), nextCursor: cursorOf(next) }
  return services.pages.show(call.workspace, 200, (place) => connectedAppsPage(place, visitor, { apps, paging }))
})

/** Only looks in the visitor's own list, so the answer does not tell whether another person has this grant. */
const revoke = Effect.fnUntraced(function* (inside: Inside, form: Parameters) {
  const { call, services } = inside
  const grant = yield* findMarked(ownGrants(inside), form.get("id"))
  if (grant === undefined) return backTo(call, section, "app-gone")
  let known = false
  for (const { id } of yield* grantsBeside(ownGrants(inside), grant)) {
    if ((yield* endGrant(services, auditContext(inside), id)) !== "unknown") known = true
  }
  return backTo(call, section, known || grant._tag === "Revoked" ? "app-revoked" : "app-gone")
})

export const appsEndpoint = sectionEndpoint(section, { show, others: { revoke } })
