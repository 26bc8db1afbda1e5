import { Effect, Option, Redacted } from "effect"
import { type Client, isKnown, isPublic, knownAs } from "../client/Client.ts"
import { isBrought, readClientIdentifier, readClientKey } from "../client/ClientIdentifier.ts"
import { type LiveSecret, liveSecrets } from "../client/ClientSecret.ts"
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
import type { Fault } from "../http/Fault.ts"
import { type Parameters, readParameters } from "../http/form.ts"
import type { Services } from "../http/Route.ts"
import { clientName, clientTitle } from "../pages/Consent.ts"
import { field, hidden } from "../pages/Field.ts"
import { attributes, breakable, type Html, html } from "../pages/Html.ts"
import { type Document, doneNotice, type Place, problemNotice, type Visitor } from "../pages/Layout.ts"
import { ago } from "../pages/Timestamp.ts"
import { type ClientId, readClientId } from "../rules/Id.ts"
import { day, type Instant, type Millis } from "../rules/Instant.ts"
import { ForgedForm } from "../rules/Refusal.ts"
import { resourceOf } from "../rules/Resource.ts"
import { scopesWithoutUser } from "../rules/Scope.ts"
import { scopesOf } from "../workspace/Workspace.ts"
import { auditContext, backTo, type Inside, type Section, sectionEndpoint, takeOfAccount } from "./inside.ts"
import {
  aboutWhom,
  actionButton,
  confirmed,
  empty,
  type Forms,
  formsAt,
  listedAt,
  listSection,
  type Paging,
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
 * Owners only. The search is a GET of `{base}/settings/clients` with `q`, that for whom no list has one with `client_id`;
 * its forms post to the list that they stand in, with `csrf`, `id` and `action`: `disable`, `enable`, `approve`, `refuse`,
 * `exchange` (`resource`), `profile` (`profile`), `new-secret`, `drop-secret`, `drop-newer-secret` or `delete`.
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

const formsOf =
  (forms: Forms, id: string): Forms =>
  (action, fields) =>
    forms(action, { id, ...fields })

/** An owner's answers to a client that asks to act for the workspace itself; each can be taken back by the other. */
const answers = ({ id, question }: ClientRow, about: string, page: Forms): ReadonlyArray<Html> => {
  if (question === undefined) return []
  const forms = formsOf(page, question.identifier ?? id)
  const approve = confirmed({
    label: "Approve",
    about,
    question: "It may then use the API for the workspace at any time, without a person.",
    confirm: "Approve access without a person",
    tone: "plain",
    // What the owner reads here is what is approved: the client may have changed it since.
    ...forms("approve", { asked: String(question.askedAt) })
  })
  const refuse = (label: string, question: string) =>
    confirmed({
      label,
      about,
      question,
      confirm: "Refuse access without a person",
      tone: "danger",
      ...forms("refuse")
    })
  switch (question.standing) {
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

const chooser = (about: string, forms: Forms, of: Choice): Html => {
  const shown = of.options.map(
    ([value, words]) => html`<option value="${value}"${attributes({ selected: of.chosen === value })}>${words}</option>`
  )
  const { fields, path } = forms(of.action)
  return html`<details class="confirm" name="confirm">
<summary class="button small plain">${of.title}${aboutWhom(about)}</summary>
<form method="post" action="${path}" class="confirm-body">
${hidden(fields)}
<div class="field">
<label>${of.label}
<select name="${of.name}">${shown}</select></label>
<p class="hint">${of.hint}</p>
</div>
<button class="button plain wide" type="submit">Save${aboutWhom(about)}</button>
</form>
</details>`
}

/** An owner says which API the client is; only then may it introspect and exchange the tokens that it is sent (RFC 8693). */
const exchangeAction = ({ serves }: ClientRow, about: string, forms: Forms, resources: ReadonlyArray<string>): Html => {
  const all = serves === undefined || resources.includes(serves) ? resources : [...resources, serves]
  return chooser(about, forms, {
    action: "exchange",
    title: "Token exchange",
    label: "This client is the API",
    name: "resource",
    chosen: serves ?? "",
    options: [["", "None: it exchanges no tokens"], ...all.map((at) => [at, at] as const)],
    hint: "An access token that is sent to this API it may introspect, and exchange for a narrower one, to call another API for the same person."
  })
}

/** A client may ask to be held to more; an owner alone takes it back. */
const profileAction = ({ profile }: ClientRow, about: string, forms: Forms, profiles: ReadonlyArray<Profile>): Html =>
  chooser(about, forms, {
    action: "profile",
    title: "Security profile",
    label: "This client is held to",
    name: "profile",
    chosen: profile.name,
    options: profiles.map(({ name, title }) => [name, title] as const),
    hint: "A stricter profile refuses from now on what it forbids. The client may ask for one itself, and not come out of it."
  })

const clientActions = (
  client: ClientRow,
  about: string,
  page: Forms,
  { profiles, resources }: ClientsPage
): ReadonlyArray<Html> => {
  const forms = formsOf(page, client.id)
  const isConfidential = client.kind === "confidential"
  return [
    ...answers(client, about, page),
    ...secretActions(client, about, forms),
    ...(isConfidential ? [exchangeAction(client, about, forms, resources)] : []),
    ...(isConfidential && profiles.length > 1 ? [profileAction(client, about, forms, profiles)] : []),
    client.disabled
      ? actionButton({ label: "Enable", about, ...forms("enable") })
      : confirmed({
          label: "Disable",
          about,
          question: "It cannot connect and its tokens stop working until it is enabled again.",
          confirm: "Disable this client",
          tone: "plain",
          ...forms("disable")
        }),
    confirmed({
      label: "Delete",
      about,
      question: "Its registration and all access that people gave it are deleted for good.",
      confirm: "Delete this client",
      tone: "danger",
      ...forms("delete")
    })
  ]
}

const keptFor: Millis = 7 * day

/** A new secret works at once and the present one for a week more; of two, one has to go before another is made. */
const secretActions = ({ secrets }: ClientRow, about: string, forms: Forms): ReadonlyArray<Html> => {
  if (secrets.length === 0) return []
  if (secrets.length === 1) {
    return [
      confirmed({
        label: "New secret",
        about,
        question:
          "Makes another secret and shows it once. The present one works for 7 more days, or until you drop it.",
        confirm: "Make a new secret",
        tone: "plain",
        ...forms("new-secret")
      })
    ]
  }
  return [
    confirmed({
      label: "Drop older secret",
      about,
      question: "The older secret stops working. The audit log tells whether the client still uses it.",
      confirm: "Drop the older secret",
      tone: "danger",
      ...forms("drop-secret")
    }),
    confirmed({
      label: "Drop newer secret",
      about,
      question: "If you did not see the newer one: it stops working, and the older one goes on without an end.",
      confirm: "Drop the newer secret",
      tone: "danger",
      ...forms("drop-newer-secret")
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
const waitingRow = (client: ClientRow, forms: Forms, { now }: Visitor): ReadonlyArray<Row> => {
  const { question } = client
  if (question === undefined) return []
  return [
    {
      title: html`<bdi>${clientTitle(client.name)}</bdi>`,
      name: clientName(client.name),
      mark: client.id,
      subtitle: html`<span class="visually-hidden">Client id </span><code>${client.id}</code>`,
      facts: [
        ["Hosts", hostList(question.hosts)],
        ["Scopes", question.scopes.length === 0 ? html`None` : html`<code>${question.scopes.join(" ")}</code>`],
        ["Asked", ago(question.askedAt, now)],
        ["From", question.network === null ? html`Unknown` : html`<bdi>${question.network}</bdi>`]
      ],
      actions: (about) => answers(client, about, forms)
    }
  ]
}

const waitingSection = (
  path: string,
  visitor: Visitor,
  { clients, paging }: NonNullable<ClientsPage["waiting"]>
): Html => {
  const forms = formsAt(listedAt(path, { waiting: paging.after }), visitor)
  return listSection({
    id: "waiting",
    title: "Waiting for approval",
    lead: html`<p class="hint">These applications registered themselves and ask to use the API for the workspace, without a person. Their names are their own claim.</p>`,
    rows: clients.flatMap((client) => waitingRow(client, forms, visitor)),
    none: empty("No application waits", "No application asks for access without a person."),
    path,
    paging,
    second: { cursor: "waiting", label: "Pages of those that wait" }
  })
}

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
  value: named.typed,
  problem: namesNobody(named) ? "No application that asks for such access goes by this client_id." : undefined,
  hint: "An application that registered itself and that nobody has let in yet is in no list. Whoever runs it has its client_id.",
  maxlength: searchLength
})}
<div class="form-actions"><button class="button" type="submit">Look at it</button></div>
</form>
${named.client !== undefined && rows(waitingRow(named.client, formsAt(path, visitor), visitor))}
</section>`

const madeWords = ({ document, registeredItself }: ClientRow): string => {
  if (document !== undefined) return "described by its own document"
  return registeredItself ? "registered itself" : "registered by an owner"
}

const clientRow = (client: ClientRow, forms: Forms, { now }: Visitor, page: ClientsPage): Row => ({
  title: html`<bdi>${clientTitle(client.name)}</bdi>${client.disabled && html` <span class="badge badge-danger">Disabled</span>`}`,
  name: clientName(client.name),
  mark: client.document?.address ?? client.id,
  subtitle: html`<span class="visually-hidden">Client id </span><code>${client.document === undefined ? client.id : breakable(client.document.address)}</code>`,
  facts: [
    client.document !== undefined && ["Calls itself", html`<bdi>${clientName(client.document.name)}</bdi>`],
    ["Kind", html`${client.kind === "public" ? "Public" : "Confidential"}, ${madeWords(client)}`],
    ["Returns to", hostList(client.redirectHosts)],
    client.question !== undefined && ["Without a person", html`${standingWords[client.question.standing]}`],
    client.secrets.length > 1 && ["Secrets", secretList(client.secrets, now)],
    page.profiles[0]?.name !== client.profile.name && ["Held to", html`${client.profile.title}`],
    client.serves !== undefined && ["Exchanges tokens sent to", html`<bdi>${breakable(client.serves)}</bdi>`],
    ["Registered", ago(client.registeredAt, now)],
    ["Last used", client.lastUsedAt === undefined ? html`Never` : ago(client.lastUsedAt, now)]
  ],
  actions: (about) => clientActions(client, about, forms, page)
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
  const { clients, made, named, paging, search, waiting } = model
  const forms = formsAt(listedAt(path, { q: search, after: paging.after }), visitor)
  return settingsDocument(place, visitor, {
    section: "clients",
    title: "Registered clients",
    came: made !== undefined ? "done" : named !== undefined && namesNobody(named) ? "problem" : undefined,
    lead: html`Every application that is registered with <bdi>${place.name}</bdi>.`,
    main: html`${
      made !== undefined &&
      shownOnce({
        title: "Copy the new secret now",
        label: clientTitle(made.name),
        secret: made.secret,
        advice: html`Only a fingerprint of it is stored, so it cannot be shown again. The present one works for 7 more days.`
      })
    }
${waiting !== undefined && waitingSection(path, visitor, waiting)}
${named !== undefined && namedSection(path, visitor, named)}
${searchForm(path, search)}
${listSection({
  id: "clients",
  title: search === "" ? "All clients" : html`Clients that match “<bdi>${search}</bdi>”`,
  rows: clients.map((client) => clientRow(client, forms, visitor, model)),
  none: nothing(search),
  path,
  paging,
  search
})}`
  })
}

const section = {
  name: "clients",
  notices: {
    "client-disabled": doneNotice("The client is disabled. Its tokens have stopped working."),
    "client-enabled": doneNotice("The client is enabled. It can use what people allowed it again."),
    "client-approved": doneNotice("The client is approved: it may use the API without a person."),
    "client-refused": doneNotice("The client is refused: it has no access without a person."),
    "exchange-saved": doneNotice("Saved."),
    "exchange-impossible": problemNotice(
      "That client cannot exchange tokens for this API: it is public, or no token is for the API any more."
    ),
    "exchange-too-long": problemNotice(`The address ${addressTooLong}.`),
    "profile-saved": doneNotice("The client is held to this profile from now on."),
    "profile-impossible": problemNotice(
      "As it is registered, the client could do nothing under this profile. The command “tessera client profile” names the rules that it would break."
    ),
    "client-asked-anew": problemNotice(
      "The client has changed what it asks for since you read it. Nothing was approved: look at it again."
    ),
    "client-not-asked": problemNotice("The client does not ask for access without a person any more."),
    "secret-dropped": doneNotice("The older secret has stopped working."),
    "newer-secret-dropped": doneNotice(
      "The newer secret has stopped working. The older one goes on, and you can make another."
    ),
    "secret-not-made": problemNotice(
      "No secret was made: the client has none, or two of its secrets work already. If you just made the newer one and did not see it, drop it and make another."
    ),
    "client-deleted": doneNotice("The client is deleted, with everything that people allowed it."),
    "client-gone": problemNotice("This client is not registered. If you just deleted it, that worked.")
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

const rowOf = ({ call, services }: Inside, client: Client) => ({
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

const search = Effect.fn("settings.searchClients")(function* (inside: Inside, text: string, after: string | undefined) {
  const { call, services } = inside
  // A whole id needs no search.
  const id = after === undefined ? Option.getOrUndefined(readClientKey(text)) : undefined
  const exact = id === undefined ? undefined : yield* services.clients.find(call.workspace.id, id)
  if (exact !== undefined && isKnown(exact, call.now)) return { values: [rowOf(inside, exact)], last: undefined }
  return yield* collectPage(
    (page) => services.clients.list(call.workspace.id, page),
    after,
    (client) => Effect.succeed(isKnown(client, call.now) && matches(client, text) ? rowOf(inside, client) : undefined)
  )
})

/**
 * Those that wait for an owner, a page of them; nothing where none has to wait, or where another list was asked for.
 */
const waitingFor = Effect.fn("settings.waitingClients")(function* (inside: Inside, after: string | undefined) {
  const { call, services } = inside
  if (services.policy.workspaceAccess !== "approved") return {}
  const found = yield* collectPage(
    (page) => services.clients.list(call.workspace.id, page),
    after,
    (client) => {
      const { row } = rowOf(inside, client)
      return Effect.succeed(isKnown(client, call.now) && row.question?.standing === "waiting" ? row : undefined)
    }
  )
  const isEmpty = found.values.length === 0 && after === undefined && found.last === undefined
  return isEmpty ? {} : { waiting: { clients: found.values, paging: { after, nextCursor: found.last } } }
})

/** The client of an identifier that an owner was given; nothing where every client that waits is in the list. */
const namedFor = Effect.fnUntraced(function* (inside: Inside, typed: string) {
  const { call, services } = inside
  const { policy } = services
  if (policy.workspaceAccess !== "approved" || policy.registrationRows === "at_once") return {}
  const nobody = { named: { typed, client: undefined } }
  const identifier = readClientIdentifier(typed)
  if (Option.isNone(identifier)) return nobody
  const found = yield* findByIdentifier(services, call.workspace, identifier.value)
  if (found === undefined || !isKnown(found, call.now)) return nobody
  const { row } = rowOf(inside, found)
  if (row.question === undefined) return nobody
  const question = isBrought(identifier.value) ? { ...row.question, identifier: identifier.value } : row.question
  return { named: { typed, client: { ...row, question } } }
})

const show = Effect.fnUntraced(function* (inside: Inside) {
  const { call, services, visitor } = inside
  const asked = readParameters(call.request.query).parameters
  const text = (asked.get("q") ?? "").trim().slice(0, searchLength)
  const after = Option.getOrUndefined(readClientId(asked.get("after")))
  const typed = (asked.get("client_id") ?? "").trim().slice(0, searchLength)
  if (text !== "" || typed !== "") yield* takeOfAccount(inside)
  const found = yield* search(inside, text, after)
  const clients = yield* withLastUse(inside, "client", found.values)
  const isFirst = text === "" && after === undefined
  const waiting = isFirst ? yield* waitingFor(inside, Option.getOrUndefined(readClientId(asked.get("waiting")))) : {}
  const named = isFirst ? yield* namedFor(inside, typed) : {}
  return services.pages.show(call.workspace, 200, (place) =>
    clientsPage(place, visitor, {
      search: text,
      clients,
      paging: { after, nextCursor: found.last },
      ...choicesOf(inside),
      ...waiting,
      ...named
    })
  )
})

/** Where tokens may be for, the issuer with all below it and what is listed; and what clients may be held to. */
const choicesOf = ({ call, services }: Inside): Pick<ClientsPage, "profiles" | "resources"> => {
  const { issuer, resources = [] } = call.workspace
  return { resources: [...new Set([issuer, ...resources.map(resourceOf)])], profiles: profilesFor(services.policy) }
}

/** Shows a new secret, in the answer to the form that made it and nowhere else, with its client alone. */
const showNewSecret = Effect.fn("settings.newSecret")(function* (inside: Inside, id: ClientId) {
  const { call, services, visitor } = inside
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
  return services.pages.show(call.workspace, 200, (place) =>
    clientsPage(place, visitor, {
      search: id,
      clients: client === undefined ? [] : [rowOf(inside, client).row],
      paging: {},
      ...choicesOf(inside),
      made: { name: client?.about.client_name, secret: Redacted.value(made.text) }
    })
  )
})

const newSecret = (inside: Inside, form: Parameters) => {
  const id = readClientId(form.get("id"))
  return Option.isNone(id)
    ? Effect.succeed(backTo(inside.call, section, "client-gone"))
    : Effect.catchTag(showNewSecret(inside, id.value), "SecretRefused", () =>
        Effect.succeed(backTo(inside.call, section, "secret-not-made"))
      )
}

/** A form about one client. `change` says what became of it. */
const changing = (
  change: (
    inside: Inside,
    client: ClientId,
    form: Parameters
  ) => Effect.Effect<keyof typeof section.notices | "unknown", Fault>
) =>
  Effect.fn("settings.changeClient")(function* (inside: Inside, form: Parameters) {
    const id = readClientId(form.get("id"))
    const done = Option.isNone(id) ? "unknown" : yield* change(inside, id.value, form)
    return backTo(inside.call, section, done === "unknown" ? "client-gone" : done)
  })

const switching = (change: "disabled" | "enabled") =>
  changing((inside, client) =>
    Effect.map(setClientEnabled(inside.services, auditContext(inside), client, change), (outcome) =>
      outcome === "unknown" ? outcome : (`client-${change}` as const)
    )
  )

const dropping = (which: "newer" | "older") =>
  changing((inside, client) =>
    Effect.map(dropSecret(inside.services, auditContext(inside), client, which), (outcome) => {
      if (outcome === "unknown") return outcome
      return which === "newer" ? "newer-secret-dropped" : "secret-dropped"
    })
  )

const deleting = changing((inside, client) =>
  Effect.map(deleteClient(inside.services, auditContext(inside), client), (outcome) =>
    outcome === "unknown" ? outcome : "client-deleted"
  )
)

const exchange = changing(
  Effect.fnUntraced(function* (inside, client, form) {
    const { call, services } = inside
    const address = form.get("resource") ?? null
    const outcome = yield* setServedResource(services, auditContext(inside), call.workspace, client, address)
    if (outcome === "unknown") return outcome
    if (outcome === "too_long") return "exchange-too-long"
    return outcome === "public" || outcome === "no_resource" ? "exchange-impossible" : "exchange-saved"
  })
)

const profile = changing(
  Effect.fnUntraced(function* (inside, client, form) {
    const { services } = inside
    const asked = profilesFor(services.policy).find(({ name }) => name === form.get("profile"))
    if (asked === undefined) return yield* new ForgedForm({ reason: "field_missing" })
    const outcome = yield* setSecurityProfile(services, auditContext(inside), client, asked.name)
    if (outcome === "unknown") return outcome
    return typeof outcome === "object" ? "profile-impossible" : "profile-saved"
  })
)

const answering = (answer: "approved" | "refused") =>
  Effect.fnUntraced(function* (inside: Inside, form: Parameters) {
    const { call, services } = inside
    const identifier = readClientIdentifier(form.get("id"))
    if (Option.isNone(identifier)) return backTo(call, section, "client-gone")
    const asked = form.get("asked")
    const seen = asked === undefined ? undefined : Number(asked)
    const by = auditContext(inside)
    const outcome = yield* answerByIdentifier(services, by, call.workspace, identifier.value, answer, seen)
    if (outcome === "unknown") return backTo(call, section, "client-gone")
    if (outcome === "asked_anew") return backTo(call, section, "client-asked-anew")
    return backTo(call, section, outcome === "not_asked" ? "client-not-asked" : `client-${answer}`)
  })

export const clientsEndpoint = sectionEndpoint(section, {
  show,
  confirmed: {
    approve: answering("approved"),
    exchange,
    profile,
    "new-secret": newSecret,
    // The older one, which was to end, goes on by it.
    "drop-newer-secret": dropping("newer")
  },
  others: {
    refuse: answering("refused"),
    disable: switching("disabled"),
    enable: switching("enabled"),
    "drop-secret": dropping("older"),
    delete: deleting
  }
})
