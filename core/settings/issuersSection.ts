import { Effect } from "effect"
import {
  type BadIssuer,
  changeIssuer,
  type IssuerTyped,
  removeIssuer,
  trustIssuer
} from "../engine/administerWorkspace.ts"
import { type Parameters, readParameters } from "../http/form.ts"
import { choiceField, type FieldProblem, field, hidden, problemAt } from "../pages/Field.ts"
import { type Html, html } from "../pages/Html.ts"
import { type Document, doneNotice, type Place, problemNotice, type Visitor } from "../pages/Layout.ts"
import { namesIn } from "../rules/Scope.ts"
import { type KeysTyped, keysTypedOf, type TrustedIssuer } from "../rules/TrustedIssuer.ts"
import { auditContext, backTo, type Inside, type Section, sectionEndpoint } from "./inside.ts"
import {
  aboutWhom,
  confirmed,
  empty,
  type Forms,
  formsAt,
  listedAt,
  listSection,
  type Paging,
  pageOfList,
  type Row
} from "./Rows.ts"
import { scopeBoxes, scopeNames, tickedScopes } from "./ScopeBoxes.ts"
import { sectionPath, settingsDocument } from "./SettingsLayout.ts"

/** The values of `people` and of `takes` in the form, in words that a narrow phone has room for. */
const peopleChoices = {
  known: "Only those already here",
  made: "Others get an account"
} as const
const takesChoices = {
  "id-jag": "For their application",
  any: "For none as well"
} as const

/** The form as it was typed. */
interface Typed {
  readonly issuer: string
  readonly keys: string
  readonly clients: string
  readonly resources: string
  readonly domains: string
  readonly scopes: ReadonlyArray<string>
  readonly people: keyof typeof peopleChoices
  readonly takes: keyof typeof takesChoices
}

type Problem = FieldProblem<"issuer" | "keys" | "resources">

/**
 * Owners only. Its forms post to `{base}/settings/issuers` with `csrf` and `action`: `add` and `change` (`issuer`, `keys`,
 * `clients`, `resources`, `domains`, `people`, `takes`, and `scope.NAME` for each scope), `remove` (`issuer`). With
 * `change` in its address the form has what is trusted now.
 */
interface IssuersPage {
  readonly issuers: ReadonlyArray<{ readonly trusted: TrustedIssuer; readonly byOwner: boolean }>
  readonly paging: Paging
  /** The scopes that there are. */
  readonly scopes: ReadonlyArray<string>
  readonly action: "add" | "change"
  readonly form?: Typed
  readonly problem?: Problem
}

const issuerForm = (path: string, csrf: string, { action, form, problem, scopes }: IssuersPage): Html => {
  const line = (name: "issuer" | "keys" | "clients" | "resources" | "domains", label: string, hint: string) =>
    field({
      label,
      name,
      value: form?.[name],
      problem: problemAt<string>(problem, name),
      hint,
      optional: name !== "issuer" && (name !== "keys" || action === "change"),
      readonly: name === "issuer" && action === "change"
    })
  const title = action === "add" ? "Trust an issuer" : "Change an issuer"
  return html`<section aria-labelledby="typed">
<h2 id="typed">${title}</h2>
<form method="post" action="${path}" class="panel padded inline-form">
${hidden({ csrf, action })}
${line("issuer", "Issuer", "As it stands in its assertions: https://login.example.com.")}
${line(
  "keys",
  "Keys",
  action === "add"
    ? "The https address of its public keys, or a JWK Set."
    : "The https address of its public keys, or a JWK Set. Left empty, they stay. With others, what it brought ends."
)}
${line("clients", "Applications", "Ids, or addresses of documents, with a space between them. Empty: all that you gave the grant type.")}
${line("resources", "APIs", "Addresses that it can grant access to, with a space between them. Empty: all.")}
${line("domains", "Email domains", "Whom it speaks for, such as example.com, with a space between them. Empty: whom it names.")}
${choiceField({ label: "People", name: "people", options: Object.entries(peopleChoices), chosen: form?.people ?? "known" })}
${choiceField({ label: "Assertions", name: "takes", options: Object.entries(takesChoices), chosen: form?.takes ?? "id-jag", hint: "Whether each has to be made for the application that brings it (ID-JAG), or may be for none (RFC 7523)." })}
${scopes.length > 0 && scopeBoxes(scopes, form?.scopes ?? [], "The most that it can grant. With none ticked, what the application may have.")}
<div class="form-actions"><button class="button primary" type="submit">${action === "add" ? "Trust issuer" : "Save"}</button>${
    action === "change" && html`<a class="button" href="${path}">Cancel</a>`
  }</div>
</form>
</section>`
}

const listed = (values: ReadonlyArray<string> | undefined, all: string): Html =>
  values === undefined ? html`${all}` : html`<code>${values.join(" ")}</code>`

const issuerRow = ({ byOwner, trusted }: IssuersPage["issuers"][number], path: string, forms: Forms): Row => {
  const { clients, domains, issuer, keys, people, resources, scopes, takes = "id-jag" } = trusted
  return {
    title: html`<bdi>${issuer}</bdi>`,
    name: issuer,
    facts: [
      ["Keys", keys._tag === "Fetched" ? html`<code>${keys.jwksUri}</code>` : html`${keys.keys.length} given`],
      ["Applications", listed(clients, "All that may use assertions")],
      ["Scopes", listed(scopes, "What the application may have")],
      ["APIs", listed(resources, "All")],
      ["Email domains", listed(domains, "Any")],
      ["People", html`${peopleChoices[people]}`],
      ["Assertions", html`${takesChoices[takes]}`],
      ["Trusted by", byOwner ? html`An owner` : html`The server’s configuration`]
    ],
    actions: (about) =>
      byOwner
        ? [
            html`<a class="button small" href="${path}?${String(new URLSearchParams({ change: issuer }))}">Change${aboutWhom(about)}</a>`,
            confirmed({
              label: "Remove",
              about,
              question: "No assertion of it counts any more, and all that it brought ends.",
              confirm: "Remove this issuer",
              tone: "danger",
              ...forms("remove", { issuer })
            })
          ]
        : []
  }
}

export const issuersPage = (place: Place, visitor: Visitor, model: IssuersPage): Document => {
  const path = sectionPath(place, "issuers")
  const { issuers, paging } = model
  const forms = formsAt(listedAt(path, paging), visitor)
  return settingsDocument(place, visitor, {
    section: "issuers",
    title: "Trusted issuers",
    came: model.problem && "problem",
    lead: html`Sign-in services of a company that vouch for people of <bdi>${place.name}</bdi>: an application that brings an assertion of one gets access without asking the person.`,
    main: html`${issuerForm(path, visitor.csrf, model)}
${listSection({
  id: "issuers",
  title: "Issuers that are trusted",
  rows: issuers.map((one) => issuerRow(one, path, forms)),
  none: empty("No issuer is trusted", "Without one, people let each application in themselves."),
  path,
  paging
})}`
  })
}

const section = {
  name: "issuers",
  notices: {
    "issuer-added": doneNotice("The issuer is trusted."),
    "issuer-changed": doneNotice("The issuer is trusted as you said."),
    "issuer-removed": doneNotice("The issuer is trusted no more, and what it brought has ended."),
    "issuer-gone": problemNotice("No owner has trusted this issuer. What is configured stays.")
  }
} as const satisfies Section

/** As the form has it: keys that were given are not written out again. */
const typedOf = (trusted: TrustedIssuer): Typed => {
  const { clients = [], domains = [], issuer, keys, people, resources = [], scopes = [], takes = "id-jag" } = trusted
  return {
    issuer,
    keys: keys._tag === "Fetched" ? keys.jwksUri : "",
    clients: clients.join(" "),
    resources: resources.join(" "),
    domains: domains.join(" "),
    scopes,
    people,
    takes
  }
}

const draw = Effect.fnUntraced(function* (
  { call, services, visitor }: Inside,
  status: number,
  said: Partial<Pick<IssuersPage, "action" | "form" | "problem">>
) {
  const workspace = yield* services.openings.current(call.workspace, call.now)
  const { parameters } = readParameters(call.request.query)
  const { trustedIssuers = [] } = workspace
  const { paging, shown } = pageOfList(trustedIssuers, ({ issuer }) => issuer, parameters.get("after"))
  const changed = trustedIssuers.find((one) => one.since !== undefined && one.issuer === parameters.get("change"))
  const asked: Pick<IssuersPage, "action" | "form"> =
    changed === undefined ? { action: "add" } : { action: "change", form: typedOf(changed) }
  return services.pages.show(workspace, status, (place) =>
    issuersPage(place, visitor, {
      issuers: shown.map((trusted) => ({ trusted, byOwner: trusted.since !== undefined })),
      paging,
      scopes: scopeNames(services, call),
      ...asked,
      ...said
    })
  )
})

const problems = {
  malformed: {
    field: "issuer",
    text: "The issuer and the address of its keys have to be https addresses, applications ids or https addresses, and domains such as example.com."
  },
  keys: { field: "keys", text: "Enter the https address of its public keys, or a JWK Set with public keys alone." },
  // The form has only the scopes that there are.
  scopes: { field: "issuer", text: "One of the scopes is gone. Choose again." },
  resources: { field: "resources", text: "Not every one of these is an API of this workspace." },
  trusted: { field: "issuer", text: "This issuer is trusted already." },
  full: { field: "issuer", text: "There is no room for more. Remove one first." }
} as const satisfies Record<BadIssuer["reason"], Problem>

/** A JWK Set of one key takes half a kilobyte. */
const longestTyped = 16_384

const readTyped = ({ call, services }: Inside, form: Parameters): Typed => {
  const text = (name: string) => (form.get(name) ?? "").trim().slice(0, longestTyped)
  return {
    issuer: text("issuer"),
    keys: text("keys"),
    clients: text("clients"),
    resources: text("resources"),
    domains: text("domains"),
    scopes: tickedScopes(scopeNames(services, call), form),
    people: form.get("people") === "made" ? "made" : "known",
    takes: form.get("takes") === "any" ? "any" : "id-jag"
  }
}

const keysTyped = (text: string): KeysTyped => {
  if (!text.startsWith("{")) return text === "" ? {} : { jwksUri: text }
  try {
    return { jwks: JSON.parse(text) }
  } catch {
    return {}
  }
}

const wordsIn = (text: string): ReadonlyArray<string> => namesIn(text.replaceAll(/[\s,]+/g, " "))

const askedOf = (typed: Typed, keys: KeysTyped): IssuerTyped => ({
  ...keys,
  issuer: typed.issuer,
  clients: wordsIn(typed.clients),
  resources: wordsIn(typed.resources),
  domains: wordsIn(typed.domains),
  scopes: typed.scopes,
  people: typed.people,
  ...(typed.takes === "any" ? { takes: "any" } : {})
})

/** A set with a private key is not written back. */
const sentBack = (inside: Inside, action: "add" | "change", form: Typed, { reason }: BadIssuer) =>
  draw(inside, 400, {
    action,
    form: form.keys.startsWith("{") ? { ...form, keys: "" } : form,
    problem: problems[reason]
  })

const add = Effect.fn("settings.trustIssuer")(function* (inside: Inside, form: Parameters) {
  const { call, services } = inside
  const typed = readTyped(inside, form)
  const workspace = yield* services.openings.current(call.workspace, call.now)
  return yield* trustIssuer(services, auditContext(inside), workspace, askedOf(typed, keysTyped(typed.keys))).pipe(
    Effect.as(backTo(call, section, "issuer-added")),
    Effect.catchTag("BadIssuer", (fault) => sentBack(inside, "add", typed, fault))
  )
})

const change = Effect.fn("settings.changeIssuer")(function* (inside: Inside, form: Parameters) {
  const { call, services } = inside
  const typed = readTyped(inside, form)
  const workspace = yield* services.openings.current(call.workspace, call.now)
  const before = workspace.trustedIssuers?.find(({ issuer }) => issuer === typed.issuer)
  if (before?.since === undefined) return backTo(call, section, "issuer-gone")
  const asked = askedOf(typed, typed.keys === "" ? keysTypedOf(before) : keysTyped(typed.keys))
  return yield* changeIssuer(services, auditContext(inside), workspace, asked).pipe(
    Effect.map((changed) => backTo(call, section, changed === undefined ? "issuer-gone" : "issuer-changed")),
    Effect.catchTag("BadIssuer", (fault) => sentBack(inside, "change", typed, fault))
  )
})

const remove = Effect.fn("settings.removeIssuer")(function* (inside: Inside, form: Parameters) {
  const { call, services } = inside
  const removed = yield* removeIssuer(services, auditContext(inside), call.workspace, form.get("issuer") ?? "")
  return backTo(call, section, removed ? "issuer-removed" : "issuer-gone")
})

/** Each decides who comes in. */
export const issuersEndpoint = sectionEndpoint(section, {
  show: (inside) => draw(inside, 200, {}),
  confirmed: { add, change, remove }
})
