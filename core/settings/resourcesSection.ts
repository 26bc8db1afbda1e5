import { Effect } from "effect"
import { addResource, type BadResource, type ResourceTyped, removeResource } from "../engine/administerWorkspace.ts"
import { type Parameters, readParameters } from "../http/form.ts"
import { choiceField, type FieldProblem, field, hidden, problemAt } from "../pages/Field.ts"
import { type Html, html } from "../pages/Html.ts"
import { type Document, doneNotice, type Place, problemNotice, type Visitor } from "../pages/Layout.ts"
import { minute } from "../rules/Instant.ts"
import { longestAddress, longestName, type ResourceDefinition } from "../rules/Resource.ts"
import type { OpenWorkspace } from "../workspace/Workspace.ts"
import { auditContext, backTo, type Inside, type Section, sectionEndpoint } from "./inside.ts"
import {
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

/** The values of `tokens` in the form, in words that a narrow phone has room for. */
const tokenChoices = {
  opaque: { words: "Opaque", asks: {} },
  "jwt-5m": {
    words: "JWTs for 5 minutes",
    asks: { accessTokenFormat: "jwt", accessTokenTtl: 5 * minute }
  },
  jwt: {
    words: "JWTs for as long as any",
    asks: { accessTokenFormat: "jwt" }
  }
} as const satisfies Record<
  string,
  { readonly words: string; readonly asks: Pick<ResourceTyped, "accessTokenFormat" | "accessTokenTtl"> }
>
type TokenChoice = keyof typeof tokenChoices

const isTokenChoice = (text: string): text is TokenChoice => Object.hasOwn(tokenChoices, text)

/** What a listed API asks, in words. */
const askedWords = ({ accessTokenFormat = "opaque", accessTokenTtl }: ResourceRow): string => {
  const format = accessTokenFormat === "jwt" ? "JWTs" : "Opaque"
  return accessTokenTtl === undefined ? format : `${format}, for at most ${Math.ceil(accessTokenTtl / 1000)} seconds`
}

interface ResourceRow extends Pick<ResourceDefinition, "accessTokenFormat" | "accessTokenTtl"> {
  readonly at: string
  readonly name: string
  /** Absent if it takes all. */
  readonly scopes?: ReadonlyArray<string>
  /** Listed by an owner, so that an owner can remove it. */
  readonly byOwner: boolean
}

/**
 * Owners only. Its forms post to `{base}/settings/resources` with `csrf` and `action`:
 * `add` (`at`, `name`, `tokens`, and `scope.NAME` for each scope), `remove` (`at`).
 */
interface ResourcesPage {
  readonly resources: ReadonlyArray<ResourceRow>
  readonly paging: Paging
  /** The scopes that there are. */
  readonly scopes: ReadonlyArray<string>
  /** The form as it was sent, with its problem. */
  readonly form?: ResourceTyped & { readonly tokens: TokenChoice; readonly problem: Problem }
}

type Problem = FieldProblem<"at" | "name">

const addForm = (path: string, csrf: string, { form, scopes }: ResourcesPage): Html =>
  html`<section aria-labelledby="add">
<h2 id="add">Add an API</h2>
<form method="post" action="${path}" class="panel padded inline-form">
${hidden({ csrf, action: "add" })}
${field({
  label: "Address",
  name: "at",
  value: form?.at,
  problem: problemAt(form?.problem, "at"),
  hint: "As applications call it: https://mcp.example.com/tools. Everything below it belongs to it."
})}
${field({
  label: "Name",
  name: "name",
  value: form?.name,
  problem: problemAt(form?.problem, "name"),
  hint: "People read it when an application asks for access. Without one they read its host.",
  maxlength: longestName,
  optional: true
})}
${scopes.length > 0 && scopeBoxes(scopes, form?.scopes ?? [], "It takes those that are ticked. With none ticked it takes all.")}
${choiceField({
  label: "Access tokens",
  name: "tokens",
  options: Object.entries(tokenChoices).map(([value, { words }]) => [value, words] as const),
  chosen: form?.tokens ?? "opaque",
  hint: "Opaque: the API asks this server about each. A JWT it verifies itself: one works until it ends, also after it was revoked, wherever nobody asks this server."
})}
<div class="form-actions"><button class="button primary" type="submit">Add API</button></div>
</form>
</section>`

const resourceRow = (row: ResourceRow, forms: Forms): Row => {
  const { at, byOwner, name, scopes } = row
  return {
    title: html`<bdi>${name}</bdi>`,
    name: at,
    subtitle: html`<code>${at}</code>`,
    facts: [
      ["Takes", scopes === undefined ? html`All scopes` : html`<code>${scopes.join(" ")}</code>`],
      ["Access tokens", html`${askedWords(row)}`],
      ["Listed by", byOwner ? html`An owner` : html`The server’s configuration`]
    ],
    actions: (about) =>
      byOwner
        ? [
            confirmed({
              label: "Remove",
              about,
              question: "No new token is for this API. Those that are out go on until they expire.",
              confirm: "Remove this API",
              tone: "danger",
              ...forms("remove", { at })
            })
          ]
        : []
  }
}

export const resourcesPage = (place: Place, visitor: Visitor, model: ResourcesPage): Document => {
  const path = sectionPath(place, "resources")
  const { paging, resources } = model
  const forms = formsAt(listedAt(path, paging), visitor)
  return settingsDocument(place, visitor, {
    section: "resources",
    title: "APIs",
    came: model.form && "problem",
    lead: html`The APIs of <bdi>${place.name}</bdi> that applications can ask tokens for, wherever they are. A token opens only those that it names.`,
    main: html`${addForm(path, visitor.csrf, model)}
${listSection({
  id: "resources",
  title: "Listed APIs",
  rows: resources.map((one) => resourceRow(one, forms)),
  none: empty(
    "No API is listed",
    `Tokens are for ${place.issuer} and everything below it. Once one is listed, they are for that address itself and what is listed.`
  ),
  path,
  paging
})}`
  })
}

const section = {
  name: "resources",
  notices: {
    "resource-added": doneNotice("The API is listed. Applications can ask for tokens for it."),
    "resource-removed": doneNotice("The API is no longer listed. No new token is for it."),
    "resource-gone": problemNotice("No owner has listed this API. What is configured stays.")
  }
} as const satisfies Section

const pageOf = ({ listed = [], resources = [] }: OpenWorkspace, after: string | undefined) => {
  const { paging, shown } = pageOfList(resources, ({ at }) => at, after)
  return { resources: shown.map((one): ResourceRow => ({ ...one, byOwner: listed.includes(one) })), paging }
}

const draw = Effect.fnUntraced(function* (
  { call, services, visitor }: Inside,
  status: number,
  said: Pick<ResourcesPage, "form">
) {
  const workspace = yield* services.openings.current(call.workspace, call.now)
  const list = pageOf(workspace, readParameters(call.request.query).parameters.get("after"))
  return services.pages.show(workspace, status, (place) =>
    resourcesPage(place, visitor, { ...list, ...said, scopes: scopeNames(services, call) })
  )
})

const problems = {
  address: { field: "at", text: "Enter an https address without query, fragment or user, as a browser writes it." },
  listed: { field: "at", text: "This API is already listed." },
  full: { field: "at", text: "There is no room for more. Remove one first." },
  name: { field: "name", text: "Enter a name that can be read." },
  // The form has only the scopes that there are.
  scopes: { field: "at", text: "One of the scopes is gone. Choose again." },
  // Nor has it another life.
  life: { field: "at", text: "Access tokens last for a second at least." }
} as const satisfies Record<BadResource["reason"], Problem>

const add = Effect.fn("settings.addResource")(function* (inside: Inside, form: Parameters) {
  const { call, services } = inside
  const asked = form.get("tokens") ?? ""
  const tokens = isTokenChoice(asked) ? asked : "opaque"
  const typed: ResourceTyped = {
    at: (form.get("at") ?? "").trim(),
    name: form.get("name") ?? "",
    scopes: tickedScopes(scopeNames(services, call), form),
    ...tokenChoices[tokens].asks
  }
  return yield* addResource(services, auditContext(inside), call.workspace, typed).pipe(
    Effect.as(backTo(call, section, "resource-added")),
    Effect.catchTag("BadResource", ({ reason }) =>
      draw(inside, 400, {
        form: {
          ...typed,
          tokens,
          at: typed.at.slice(0, longestAddress),
          name: typed.name.slice(0, longestName),
          problem: problems[reason]
        }
      })
    )
  )
})

const remove = Effect.fn("settings.removeResource")(function* (inside: Inside, form: Parameters) {
  const { call, services } = inside
  const removed = yield* removeResource(services, auditContext(inside), call.workspace, form.get("at") ?? "")
  return backTo(call, section, removed ? "resource-removed" : "resource-gone")
})

/** Either can widen what a token opens: an API that is removed falls to one above it, which may take more scopes. */
export const resourcesEndpoint = sectionEndpoint(section, {
  show: (inside) => draw(inside, 200, {}),
  confirmed: { add, remove }
})
