import { Effect, Option, Redacted } from "effect"
import { type Client, isKnown, isPublic, knownAs } from "../client/Client.ts"
import { isBrought, readClientIdentifier, readClientKey } from "../client/ClientIdentifier.ts"
import { type LiveSecret, liveSecrets, type SecretRefused } from "../client/ClientSecret.ts"
import { type Profile, profileOf, profilesFor } from "../client/Profile.ts"
import { addressTooLong } from "../client/register.ts"
import { asksForWorkspace, questionOf, type WorkspaceStanding, workspaceStanding } from "../client/workspaceAccess.ts"
import {
  answerByIdentifier,
  deleteClient,
  dropSecret,
  findByIdentifier,
  makeSecret,
  setClientEnabled,
  setSecurityProfile,
  setServedResource
} from "../engine/administerClients.ts"
import { collectPage } from "../engine/lists.ts"
import { type Parameters, readParameters } from "../http/form.ts"
import type { Handler, Services } from "../http/Route.ts"
import { clientName, clientTitle } from "../pages/Consent.ts"
import { field, hidden } from "../pages/Field.ts"
import { attributes, breakable, type Html, html } from "../pages/Html.ts"
import type { Document, Place, Visitor } from "../pages/Layout.ts"
import { ago } from "../pages/Timestamp.ts"
import { type ClientId, readClientId } from "../rules/Id.ts"
import { day, type Instant, type Millis } from "../rules/Instant.ts"
import { ForgedForm } from "../rules/Refusal.ts"
import { resourceOf } from "../rules/Resource.ts"
import { scopesWithoutUser } from "../rules/Scope.ts"
import { scopesOf } from "../workspace/Workspace.ts"
import {
  auditContext,
  backTo,
  type Inside,
  insidePage,
  type Section,
  sectionForms,
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
import { sectionPath, settingsDocument, shownOnce } from "./SettingsLayout.ts"

interface ClientRow {
  readonly id: string
  /** As registered; of one that brings a document, the host that it was read from. */
  readonly name: string | undefined
  /** Where that document is, which is what the client goes by, and what it calls itself there. */
  readonly document?: { readonly address: string; readonly name: string | undefined }
  /** `public` has no secret. */
  readonly kind: "public" | "confidential"
  readonly registeredItself: boolean
  readonly registeredAt: Instant
  readonly lastUsedAt?: Instant
  /** The hosts (or schemes) of its redirect URIs, each once. */
  readonly redirectHosts: ReadonlyArray<string>
  readonly disabled: boolean
  /** Those that work; none where it proves itself otherwise. */
  readonly secrets: ReadonlyArray<LiveSecret>
  /** The API that it is, for which it exchanges tokens. */
  readonly serves?: string | undefined
  /** What it is held to. */
  readonly profile: Profile
  /** Where it is for an owner to answer whether it acts for the workspace itself. */
  readonly question?: Question
}

interface Question {
  readonly standing: Exclude<WorkspaceStanding, "owners_only">
  readonly askedAt: Instant
  /** The network that it asked from. */
  readonly network: string | null
  /** The hosts that it returns to, and that of its own page. */
  readonly hosts: ReadonlyArray<string>
  /** The most that it has without a person. */
  readonly scopes: ReadonlyArray<string>
  /** What an answer names it by, where its registration is no record yet. */
  readonly identifier?: string
}

/**
 * Owners only. The search is a GET of `{base}/settings/clients` with `q`, that for whom no list has one with `client_id`; its forms post there with
 * `csrf`, `action` = `disable`, `enable`, `approve`, `refuse`, `exchange` with `resource`, `profile` with `profile`, `new-secret`, `drop-secret`,
 * `drop-newer-secret` or `delete`, `id`, and `q` to return to the same list.
 */
interface ClientsPage {
  /** The search text; empty for all clients. */
  readonly search: string
  readonly clients: ReadonlyArray<ClientRow>
  readonly paging: Paging
  /** The addresses that tokens are for, one of which a client may be. */
  readonly resources: ReadonlyArray<string>
  /** What a client may be held to. */
  readonly profiles: ReadonlyArray<Profile>
  /** A new secret: on this answer and never again. */
  readonly made?: { readonly name: string | undefined; readonly secret: string }
  /** Those that wait for an owner, on the page that has them. Their cursor is `waiting`. */
  readonly waiting?: { readonly clients: ReadonlyArray<ClientRow>; readonly paging: Paging }
  /** Where one that waits may be no record yet: the identifier that was typed, and whom it names. */
  readonly named?: { readonly typed: string; readonly client: ClientRow | undefined }
}

/** As long as an identifier that a client brings can be. */
const searchLength = 1024

const searchForm = (
  path: string,
  search: string
): Html => html`<form method="get" action="${path}" role="search" class="search">
<label for="q">Search by name, id or host</label>
<div class="search-line">
<input id="q" name="q" type="search" value="${search}" autocomplete="off" maxlength="${searchLength}">
<button class="button" type="submit">Search</button>
</div>
</form>`

/** What each form about a client brings along. */
const fieldsFor =
  (visitor: Visitor, search: string, id: string) =>
  (action: string): Readonly<Record<string, string>> => ({ csrf: visitor.csrf, action, id, q: search })

/** An owner's answers to a client that asks to act for the workspace itself; each can be taken back by the other. */
const answers = (
  client: ClientRow,
  about: string,
  path: string,
  visitor: Visitor,
  search: string
): ReadonlyArray<Html> => {
  if (client.question === undefined) return []
  const { askedAt, identifier = client.id } = client.question
  const fields = fieldsFor(visitor, search, identifier)
  const approve = confirmed({
    label: "Approve",
    about,
    question: "It may then use the API for the workspace at any time, without a person.",
    confirm: "Approve access without a person",
    tone: "plain",
    path,
    // What the owner reads here is what is approved: the client may have changed it since.
    fields: { ...fields("approve"), asked: String(askedAt) }
  })
  const refuse = (label: string, question: string) =>
    confirmed({
      label,
      about,
      question,
      confirm: "Refuse access without a person",
      tone: "danger",
      path,
      fields: fields("refuse")
    })
  switch (client.question.standing) {
    case "waiting":
      return [
        approve,
        refuse("Refuse", "It stays registered and gets no access without a person. You can approve it later, below.")
      ]
    case "allowed":
      return [refuse("Take approval back", "What it does without a person stops, until you approve it again.")]
    case "refused":
      return [approve]
  }
}

/** Something of a client that is one of several. */
interface Choice {
  readonly action: string
  readonly title: string
  readonly label: string
  readonly name: string
  readonly chosen: string
  readonly options: ReadonlyArray<readonly [value: string, label: string]>
  readonly hint: string
}

const chooser = (
  client: ClientRow,
  about: string,
  path: string,
  visitor: Visitor,
  search: string,
  { action, chosen, hint, label, name, options, title }: Choice
): Html => {
  const shown = options.map(
    ([value, words]) => html`<option value="${value}"${attributes({ selected: chosen === value })}>${words}</option>`
  )
  return html`<details class="confirm" name="confirm">
<summary class="button small plain">${title}<span class="visually-hidden"> <bdi>${about}</bdi></span></summary>
<form method="post" action="${path}" class="confirm-body">
${hidden(fieldsFor(visitor, search, client.id)(action))}
<div class="field">
<label>${label}
<select name="${name}">${shown}</select></label>
<p class="hint">${hint}</p>
</div>
<button class="button plain wide" type="submit">Save<span class="visually-hidden"> <bdi>${about}</bdi></span></button>
</form>
</details>`
}

/** An owner says which API the client is; only then may it exchange the tokens that it is sent (RFC 8693). */
const exchangeAction = (
  client: ClientRow,
  about: string,
  path: string,
  visitor: Visitor,
  { resources, search }: Pick<ClientsPage, "resources" | "search">
): ReadonlyArray<Html> => {
  if (client.kind === "public") return []
  const others = client.serves === undefined || resources.includes(client.serves) ? [] : [client.serves]
  return [
    chooser(client, about, path, visitor, search, {
      action: "exchange",
      title: "Token exchange",
      label: "This client is the API",
      name: "resource",
      chosen: client.serves ?? "",
      options: [["", "None: it exchanges no tokens"], ...[...resources, ...others].map((at) => [at, at] as const)],
      hint: "An access token that is sent to this API it may exchange for a narrower one, to call another API for the same person."
    })
  ]
}

/** A client may ask to be held to more; an owner alone takes it back. */
const profileAction = (
  client: ClientRow,
  about: string,
  path: string,
  visitor: Visitor,
  { profiles, search }: Pick<ClientsPage, "profiles" | "search">
): ReadonlyArray<Html> =>
  client.kind === "public" || profiles.length < 2
    ? []
    : [
        chooser(client, about, path, visitor, search, {
          action: "profile",
          title: "Security profile",
          label: "This client is held to",
          name: "profile",
          chosen: client.profile.name,
          options: profiles.map(({ name, title }) => [name, title] as const),
          hint: "A stricter profile refuses from now on what it forbids. The client may ask for one itself, and not come out of it."
        })
      ]

const clientActions = (
  client: ClientRow,
  about: string,
  path: string,
  visitor: Visitor,
  page: ClientsPage
): ReadonlyArray<Html> => {
  const { search } = page
  const fields = fieldsFor(visitor, search, client.id)
  return [
    ...answers(client, about, path, visitor, search),
    ...secretActions(client, about, path, visitor, search),
    ...exchangeAction(client, about, path, visitor, page),
    ...profileAction(client, about, path, visitor, page),
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

const keptFor: Millis = 7 * day

/** A new secret works at once and the present one for a week more; of two, one has to go before another is made. */
const secretActions = (
  client: ClientRow,
  about: string,
  path: string,
  visitor: Visitor,
  search: string
): ReadonlyArray<Html> => {
  const [, older] = client.secrets
  const fields = fieldsFor(visitor, search, client.id)
  if (client.secrets.length === 0) return []
  return older === undefined
    ? [
        confirmed({
          label: "New secret",
          about,
          question:
            "Makes another secret and shows it once. The present one works for 7 more days, or until you drop it.",
          confirm: "Make a new secret",
          tone: "plain",
          path,
          fields: fields("new-secret")
        })
      ]
    : [
        confirmed({
          label: "Drop older secret",
          about,
          question: "The older secret stops working at once. The audit log tells whether the client still uses it.",
          confirm: "Drop the older secret",
          tone: "danger",
          path,
          fields: fields("drop-secret")
        }),
        confirmed({
          label: "Drop newer secret",
          about,
          question:
            "If you did not see the newer one: it stops working at once, and the older one goes on without an end.",
          confirm: "Drop the newer secret",
          tone: "danger",
          path,
          fields: fields("drop-newer-secret")
        })
      ]
}

const secretList = (secrets: ReadonlyArray<LiveSecret>, now: Instant): Html =>
  html`${secrets.map(
    ({ mark, until }, index) =>
      html`${index > 0 && ", "}<code>${mark}</code>${until !== null && html` (ends ${ago(until, now)})`}`
  )}`

const hostList = (hosts: ReadonlyArray<string>): Html =>
  hosts.length === 0
    ? html`Nowhere`
    : html`${hosts.map((host, index) => html`${index > 0 && ", "}<bdi>${breakable(host)}</bdi>`)}`

const standingWords = {
  allowed: "Approved by an owner",
  waiting: "Waits for approval",
  refused: "Refused by an owner"
} as const

/** A client that waits: as much as an owner needs to know it by. */
const waitingRow = (client: ClientRow, question: Question, path: string, visitor: Visitor): Row => ({
  title: html`<bdi>${clientTitle(client.name)}</bdi>`,
  name: clientName(client.name),
  mark: client.id,
  subtitle: html`<span class="visually-hidden">Client id </span><code>${client.id}</code>`,
  facts: [
    ["Hosts", hostList(question.hosts)],
    ["Scopes", question.scopes.length === 0 ? html`None` : html`<code>${question.scopes.join(" ")}</code>`],
    ["Asked", ago(question.askedAt, visitor.now)],
    ["From", question.network === null ? html`Unknown` : html`<bdi>${question.network}</bdi>`]
  ],
  actions: (about) => answers(client, about, path, visitor, "")
})

const waitingSection = (
  path: string,
  visitor: Visitor,
  { clients, paging }: NonNullable<ClientsPage["waiting"]>
): Html => html`<section aria-labelledby="waiting">
<h2 id="waiting">Waiting for approval</h2>
<p class="hint">These applications registered themselves and ask to use the API for the workspace, without a person. Their names are their own claim.</p>
${
  clients.length === 0
    ? noRows(paging, empty("No application waits", "No application asks for access without a person."))
    : rows(
        clients.flatMap((client) =>
          client.question === undefined ? [] : [waitingRow(client, client.question, path, visitor)]
        )
      )
}
${pager(path, paging, undefined, { cursor: "waiting", label: "Pages of those that wait" })}
</section>`

const namesNobody = ({ client, typed }: NonNullable<ClientsPage["named"]>): boolean =>
  typed !== "" && client === undefined

/** A registration that wrote nothing is in no list: its developer tells an owner its identifier. */
const namedSection = (
  path: string,
  visitor: Visitor,
  named: NonNullable<ClientsPage["named"]>
): Html => html`<section aria-labelledby="named">
<h2 id="named">Approve an application by its client_id</h2>
<form method="get" action="${path}" class="panel padded inline-form" role="search" aria-labelledby="named">
${field({
  label: "Client id",
  name: "client_id",
  type: "text",
  autocomplete: "off",
  value: named.typed,
  autofocus: namesNobody(named),
  problem: namesNobody(named) ? "No application that asks for such access goes by this client_id." : undefined,
  hint: "An application that registered itself and that nobody has let in yet is in no list. Whoever runs it has its client_id.",
  maxlength: searchLength
})}
<div class="form-actions"><button class="button" type="submit">Look at it</button></div>
</form>
${named.client?.question !== undefined && rows([waitingRow(named.client, named.client.question, path, visitor)])}
</section>`

const madeWords = ({ document, registeredItself }: ClientRow): string => {
  if (document !== undefined) return "described by its own document"
  return registeredItself ? "registered itself" : "registered by an owner"
}

const clientRow = (client: ClientRow, path: string, visitor: Visitor, page: ClientsPage): Row => ({
  title: html`<bdi>${clientTitle(client.name)}</bdi>${client.disabled && html` <span class="badge badge-danger">Disabled</span>`}`,
  name: clientName(client.name),
  mark: client.document?.address ?? client.id,
  subtitle: html`<span class="visually-hidden">Client id </span><code>${client.document === undefined ? client.id : breakable(client.document.address)}</code>`,
  facts: [
    ...(client.document === undefined
      ? []
      : [["Calls itself", html`<bdi>${clientName(client.document.name)}</bdi>`] as const]),
    ["Kind", html`${client.kind === "public" ? "Public" : "Confidential"}, ${madeWords(client)}`],
    ["Returns to", hostList(client.redirectHosts)],
    ...(client.question === undefined
      ? []
      : [["Without a person", html`${standingWords[client.question.standing]}`] as const]),
    ...(client.secrets.length < 2 ? [] : [["Secrets", secretList(client.secrets, visitor.now)] as const]),
    ...(page.profiles[0]?.name === client.profile.name ? [] : [["Held to", html`${client.profile.title}`] as const]),
    ...(client.serves === undefined
      ? []
      : [["Exchanges tokens sent to", html`<bdi>${breakable(client.serves)}</bdi>`] as const]),
    ["Registered", ago(client.registeredAt, visitor.now)],
    ["Last used", client.lastUsedAt === undefined ? html`Never` : ago(client.lastUsedAt, visitor.now)]
  ],
  actions: (about) => clientActions(client, about, path, visitor, page)
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
    came:
      model.made !== undefined ? "done" : model.named !== undefined && namesNobody(model.named) ? "problem" : undefined,
    lead: html`Every application that is registered with <bdi>${place.name}</bdi>.`,
    main: html`${
      model.made !== undefined &&
      shownOnce({
        title: "Copy the new secret now",
        label: clientTitle(model.made.name),
        secret: model.made.secret,
        advice: html`Only a fingerprint of it is stored, so it cannot be shown again. The present one works for 7 more days.`
      })
    }
${model.waiting !== undefined && waitingSection(path, visitor, model.waiting)}
${model.named !== undefined && namedSection(path, visitor, model.named)}
${searchForm(path, model.search)}
<section aria-labelledby="clients">
<h2 id="clients">${model.search === "" ? "All clients" : html`Clients that match “<bdi>${model.search}</bdi>”`}</h2>
${
  model.clients.length === 0
    ? noRows(model.paging, nothing(model.search))
    : rows(model.clients.map((client) => clientRow(client, path, visitor, model)))
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
    "client-approved": { kind: "done", text: "The client is approved: it may use the API without a person." },
    "client-refused": { kind: "done", text: "The client is refused: it has no access without a person." },
    "exchange-saved": { kind: "done", text: "Saved." },
    "exchange-impossible": {
      kind: "problem",
      text: "That client cannot exchange tokens for this API: it is public, or no token is for the API any more."
    },
    "exchange-too-long": {
      kind: "problem",
      text: `The address ${addressTooLong}.`
    },
    "profile-saved": { kind: "done", text: "The client is held to this profile from now on." },
    "profile-impossible": {
      kind: "problem",
      text: "As it is registered, the client could do nothing under this profile. The command “tessera client profile” names the rules that it would break."
    },
    "client-asked-anew": {
      kind: "problem",
      text: "The client has changed what it asks for since you read it. Nothing was approved: look at it again."
    },
    "client-not-asked": { kind: "problem", text: "The client does not ask for access without a person any more." },
    "secret-dropped": { kind: "done", text: "The older secret has stopped working." },
    "newer-secret-dropped": {
      kind: "done",
      text: "The newer secret has stopped working. The older one goes on, and you can make another."
    },
    "secret-not-made": {
      kind: "problem",
      text: "No secret was made: the client has none, or two of its secrets work already. If you just made the newer one and did not see it, drop it and make another."
    },
    "client-deleted": { kind: "done", text: "The client is deleted, with everything that people allowed it." },
    "client-gone": {
      kind: "problem",
      text: "This client is not registered. If you just deleted it, that worked."
    }
  }
} as const satisfies Section

const folded = (text: string): string => text.normalize("NFKC").toLowerCase()

const matches = (client: Client, search: string): boolean => {
  const wanted = folded(search)
  const { client_name: name } = client.about
  const { identifier = "" } = client.origin ?? {}
  const texts = [clientName(name), name ?? "", client.id, identifier, ...returnHosts(client.redirectUris)]
  return texts.some((text) => folded(text).includes(wanted))
}

const questionFor = (
  { grantTypes, policy }: Services,
  { workspace }: Inside["call"],
  client: Client
): { readonly question?: Question } => {
  if (policy.workspaceAccess !== "approved" || client.madeBy === "owner") return {}
  if (!asksForWorkspace(client, grantTypes.values())) return {}
  const standing = workspaceStanding(client, policy)
  if (standing === "owners_only") return {}
  const { askedAt, network } = questionOf(client)
  const { client_uri: page } = client.about
  const hosts = returnHosts(page === undefined ? client.redirectUris : [...client.redirectUris, page])
  const scopes = scopesWithoutUser(scopesOf(policy, workspace), client.scope)
  return { question: { standing, askedAt, network, hosts, scopes } }
}

const documentOf = ({ about, origin }: Client): Pick<ClientRow, "document"> =>
  origin?.document === undefined ? {} : { document: { address: origin.identifier, name: about.client_name } }

const rowOf = (services: Services, call: Inside["call"], client: Client) => ({
  id: client.id,
  row: {
    ...questionFor(services, call, client),
    id: client.id,
    name: knownAs(client),
    ...documentOf(client),
    kind: isPublic(client) ? ("public" as const) : ("confidential" as const),
    registeredItself: client.madeBy === "itself",
    registeredAt: client.createdAt,
    redirectHosts: returnHosts(client.redirectUris),
    secrets: liveSecrets(client, call.now),
    serves: client.serves,
    profile: profileOf(client, services.policy),
    disabled: client.disabled
  }
})

const search = Effect.fn("settings.searchClients")(function* (
  services: Services,
  { call }: Inside,
  text: string,
  after: string | undefined
) {
  // A whole id needs no search.
  const id = after === undefined ? Option.getOrUndefined(readClientKey(text)) : undefined
  const exact = id === undefined ? undefined : yield* services.clients.find(call.workspace.id, id)
  if (exact !== undefined && isKnown(exact, call.now))
    return { values: [rowOf(services, call, exact)], last: undefined }
  return yield* collectPage(
    (page) => services.clients.list(call.workspace.id, page),
    after,
    (client) =>
      Effect.succeed(isKnown(client, call.now) && matches(client, text) ? rowOf(services, call, client) : undefined)
  )
})

/**
 * Those that wait for an owner, a page of them; nothing where none has to wait, or where another list was asked for.
 */
const waitingFor = Effect.fn("settings.waitingClients")(function* (
  services: Services,
  { call }: Inside,
  after: string | undefined
) {
  if (services.policy.workspaceAccess !== "approved") return {}
  const found = yield* collectPage(
    (page) => services.clients.list(call.workspace.id, page),
    after,
    (client) => {
      const { row } = rowOf(services, call, client)
      return Effect.succeed(isKnown(client, call.now) && row.question?.standing === "waiting" ? row : undefined)
    }
  )
  const paging = pagingOf(after, found.last)
  const isEmpty = found.values.length === 0 && !paging.isContinued && found.last === undefined
  return isEmpty ? {} : { waiting: { clients: found.values, paging } }
})

/** The client of an identifier that an owner was given; nothing where every client that waits is in the list. */
const namedFor = Effect.fnUntraced(function* (services: Services, { call }: Inside, typed: string) {
  const { policy } = services
  if (policy.workspaceAccess !== "approved" || policy.registrationRows === "at_once") return {}
  const identifier = Option.getOrUndefined(readClientIdentifier(typed))
  const found = identifier === undefined ? undefined : yield* findByIdentifier(services, call.workspace, identifier)
  if (identifier === undefined || found === undefined || !isKnown(found, call.now)) {
    return { named: { typed, client: undefined } }
  }
  const { row } = rowOf(services, call, found)
  if (row.question === undefined) return { named: { typed, client: undefined } }
  const question = isBrought(identifier) ? { ...row.question, identifier } : row.question
  return { named: { typed, client: { ...row, question } } }
})

export const clientsHandler = (services: Services, visitors: Visitors): Handler =>
  insidePage(
    services,
    visitors,
    section,
    Effect.fnUntraced(function* (inside) {
      const { call, visitor } = inside
      const asked = readParameters(call.request.query).parameters
      const text = (asked.get("q") ?? "").trim().slice(0, searchLength)
      const after = Option.getOrUndefined(readClientId(asked.get("after")))
      const typed = (asked.get("client_id") ?? "").trim().slice(0, searchLength)
      if (text !== "" || typed !== "") yield* takeOfAccount(services, inside)
      const found = yield* search(services, inside, text, after)
      const clients = yield* withLastUse(services, call, "client", found.values)
      const paging = pagingOf(after, found.last)
      const isFirst = text === "" && after === undefined
      const waiting = isFirst
        ? yield* waitingFor(services, inside, Option.getOrUndefined(readClientId(asked.get("waiting"))))
        : {}
      const named = isFirst ? yield* namedFor(services, inside, typed) : {}
      return services.pages.show(call.workspace, 200, (place) =>
        clientsPage(place, visitor, {
          search: text,
          clients,
          paging,
          resources: servable(call),
          profiles: profilesFor(services.policy),
          ...waiting,
          ...named
        })
      )
    })
  )

/** Where tokens may be for: the issuer with all below it, and what is listed. */
const servable = ({ workspace: { issuer, resources = [] } }: Inside["call"]): ReadonlyArray<string> => [
  ...new Set([issuer, ...resources.map(resourceOf)])
]

/** Shows a new secret, in the answer to the form that made it and nowhere else, with its client alone. */
const showNewSecret = Effect.fn("settings.newSecret")(function* (services: Services, inside: Inside, id: ClientId) {
  const { call, visitor } = inside
  const made = yield* makeSecret(services, auditContext(inside), id, keptFor)
  if (made === "unknown") return backTo(call, section, "client-gone")
  // It exists and cannot be shown again, so it is shown even where its client cannot be read.
  const client = yield* Effect.catchTag(
    services.clients.findStored(call.workspace.id, id),
    "StorageUnavailable",
    ({ _tag: fault }) =>
      Effect.as(
        Effect.logWarning("a new secret was shown without its client, which could not be read", {
          workspace: call.workspace.id,
          client: id,
          fault
        }),
        undefined
      )
  )
  const shown = client === undefined ? [] : [rowOf(services, call, client)]
  return services.pages.show(call.workspace, 200, (place) =>
    clientsPage(place, visitor, {
      search: id,
      resources: servable(call),
      profiles: profilesFor(services.policy),
      clients: shown.map(({ row }) => row),
      paging: { isContinued: false },
      made: { name: client?.about.client_name, secret: Redacted.value(made.text) }
    })
  )
})

const notMade = (inside: Inside) => (_: SecretRefused) =>
  Effect.succeed(backTo(inside.call, section, "secret-not-made"))

const newSecret = (services: Services, inside: Inside, form: Parameters) => {
  const id = readClientId(form.get("id"))
  return Option.isNone(id)
    ? Effect.succeed(backTo(inside.call, section, "client-gone"))
    : Effect.catchTag(showNewSecret(services, inside, id.value), "SecretRefused", notMade(inside))
}

/** Leads back to the list that a form was sent from. */
const backToList = ({ call }: Inside, form: Parameters, done: keyof typeof section.notices) => {
  const search = form.get("q")?.slice(0, searchLength)
  return backTo(call, section, done, search === undefined ? {} : { q: search })
}

const changing = (action: "disable" | "enable" | "drop-secret" | "drop-newer-secret" | "delete") => {
  const change = Effect.fn("settings.changeClient")(function* (services: Services, inside: Inside, client: ClientId) {
    if (action === "delete") {
      const outcome = yield* deleteClient(services, auditContext(inside), client)
      return outcome === "unknown" ? "client-gone" : "client-deleted"
    }
    if (action === "drop-secret" || action === "drop-newer-secret") {
      const isNewer = action === "drop-newer-secret"
      const outcome = yield* dropSecret(services, auditContext(inside), client, isNewer ? "newer" : "older")
      if (outcome === "unknown") return "client-gone"
      return isNewer ? "newer-secret-dropped" : "secret-dropped"
    }
    const change = action === "disable" ? "disabled" : "enabled"
    const outcome = yield* setClientEnabled(services, auditContext(inside), client, change)
    return outcome === "unknown" ? "client-gone" : (`client-${change}` as const)
  })
  return Effect.fnUntraced(function* (services: Services, inside: Inside, form: Parameters) {
    const id = readClientId(form.get("id"))
    const done = Option.isNone(id) ? "client-gone" : yield* change(services, inside, id.value)
    return backToList(inside, form, done)
  })
}

const answering = (answer: "approved" | "refused") =>
  Effect.fnUntraced(function* (services: Services, inside: Inside, form: Parameters) {
    const identifier = readClientIdentifier(form.get("id"))
    if (Option.isNone(identifier)) return backToList(inside, form, "client-gone")
    const { workspace } = inside.call
    const by = auditContext(inside)
    const asked = form.get("asked")
    const seen = asked === undefined ? undefined : Number(asked)
    const outcome = yield* answerByIdentifier(services, by, workspace, identifier.value, answer, seen)
    if (outcome === "unknown") return backToList(inside, form, "client-gone")
    if (outcome === "asked_anew") return backToList(inside, form, "client-asked-anew")
    return backToList(inside, form, outcome === "not_asked" ? "client-not-asked" : `client-${answer}`)
  })

const exchange = Effect.fnUntraced(function* (services: Services, inside: Inside, form: Parameters) {
  const id = readClientId(form.get("id"))
  if (Option.isNone(id)) return backToList(inside, form, "client-gone")
  const { workspace } = inside.call
  const address = form.get("resource") ?? null
  const outcome = yield* setServedResource(services, auditContext(inside), workspace, id.value, address)
  if (outcome === "unknown") return backToList(inside, form, "client-gone")
  if (outcome === "too_long") return backToList(inside, form, "exchange-too-long")
  const isImpossible = outcome === "public" || outcome === "no_resource"
  return backToList(inside, form, isImpossible ? "exchange-impossible" : "exchange-saved")
})

const profile = Effect.fnUntraced(function* (services: Services, inside: Inside, form: Parameters) {
  const asked = profilesFor(services.policy).find(({ name }) => name === form.get("profile"))
  if (asked === undefined) return yield* new ForgedForm({ reason: "field_missing" })
  const id = readClientId(form.get("id"))
  if (Option.isNone(id)) return backToList(inside, form, "client-gone")
  const outcome = yield* setSecurityProfile(services, auditContext(inside), id.value, asked.name)
  if (outcome === "unknown") return backToList(inside, form, "client-gone")
  return backToList(inside, form, typeof outcome === "object" ? "profile-impossible" : "profile-saved")
})

export const changeClientsHandler = (services: Services, visitors: Visitors): Handler =>
  sectionForms(
    services,
    visitors,
    section,
    {
      approve: answering("approved"),
      exchange,
      profile,
      "new-secret": newSecret,
      // The older one, which was to end, goes on by it.
      "drop-newer-secret": changing("drop-newer-secret")
    },
    {
      refuse: answering("refused"),
      disable: changing("disable"),
      enable: changing("enable"),
      "drop-secret": changing("drop-secret"),
      delete: changing("delete")
    }
  )
