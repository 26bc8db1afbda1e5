import { Effect } from "effect"
import { type BadHost, blockClientHost, takeClientDocuments, unblockClientHost } from "../engine/administerWorkspace.ts"
import { type Parameters, readParameters } from "../http/form.ts"
import { choiceField, type FieldProblem, field, hidden, problemAt } from "../pages/Field.ts"
import { type Html, html } from "../pages/Html.ts"
import { type Document, doneNotice, type Place, problemNotice, type Visitor } from "../pages/Layout.ts"
import { type DocumentHosts, hostsOfBoth } from "../rules/DocumentHosts.ts"
import { namesIn } from "../rules/Scope.ts"
import { auditContext, backTo, type Inside, type Section, sectionEndpoint } from "./inside.ts"
import { confirmed, empty, formsAt, listedAt, listSection, type Paging, pageOfList, type Row } from "./Rows.ts"
import { sectionPath, settingsDocument } from "./SettingsLayout.ts"

/** The values of `takes` in the form. */
const choices = {
  any: "Of any host",
  some: "Only of these hosts",
  none: "Of none"
} as const
type Choice = keyof typeof choices

const isChoice = (text: string): text is Choice => Object.hasOwn(choices, text)

const choiceOf = (hosts: DocumentHosts): Choice => {
  if (hosts === "any") return "any"
  return hosts.length === 0 ? "none" : "some"
}

/**
 * Owners only. Its forms post to `{base}/settings/documents` with `csrf` and `action`:
 * `take` (`takes`, `hosts`), `block` (`host`), `unblock` (`host`).
 */
interface DocumentsPage {
  /** What the server takes in this workspace, which no owner widens; `undefined`: none. */
  readonly most: DocumentHosts | undefined
  readonly takes: Choice
  /** As they stand in the field. */
  readonly hosts: string
  readonly blocked: ReadonlyArray<string>
  readonly paging: Paging
  /** `host`: as it was typed, where that is what is wrong. */
  readonly problem?: FieldProblem<"hosts" | "host"> & { readonly host?: string }
}

const mostWords = (most: DocumentsPage["most"]): Html => {
  if (most === undefined || most.length === 0) {
    return html`This server takes no documents here, so nothing that you choose has an effect.`
  }
  return most === "any"
    ? html`This server takes documents of any host.`
    : html`This server takes documents of no more than these hosts: <code>${most.join(" ")}</code>`
}

const takeForm = (path: string, csrf: string, { hosts, most, problem, takes }: DocumentsPage): Html =>
  html`<section aria-labelledby="take">
<h2 id="take">Whose documents count</h2>
<form method="post" action="${path}" class="panel padded inline-form">
${hidden({ csrf, action: "take" })}
${choiceField({ label: "Take documents", name: "takes", options: Object.entries(choices), chosen: takes, hint: mostWords(most) })}
${field({
  label: "Hosts",
  name: "hosts",
  value: hosts,
  problem: problemAt(problem, "hosts"),
  hint: "With a space between them: claude.ai *.example.com. Applications of other hosts keep what they have until they ask again.",
  optional: true
})}
<div class="form-actions"><button class="button primary" type="submit">Save</button></div>
</form>
</section>`

const blockForm = (path: string, csrf: string, { problem }: DocumentsPage): Html =>
  html`<section aria-labelledby="block">
<h2 id="block">Block a host</h2>
<form method="post" action="${path}" class="panel padded inline-form">
${hidden({ csrf, action: "block" })}
${field({
  label: "Host",
  name: "host",
  value: problem?.host,
  problem: problemAt(problem, "host"),
  hint: "As addresses have it: app.example.com, or *.example.com for all below it. What its applications were granted ends at once, for good."
})}
<div class="form-actions"><button class="button danger" type="submit">Block host</button></div>
</form>
</section>`

export const documentsPage = (place: Place, visitor: Visitor, model: DocumentsPage): Document => {
  const path = sectionPath(place, "documents")
  const { blocked, paging } = model
  const forms = formsAt(listedAt(path, paging), visitor)
  const row = (host: string): Row => ({
    title: html`<bdi>${host}</bdi>`,
    name: host,
    facts: [],
    actions: (about) => [
      confirmed({
        label: "Unblock",
        about,
        question: "Its documents count again. What was granted before stays ended.",
        confirm: "Unblock this host",
        tone: "plain",
        ...forms("unblock", { host })
      })
    ]
  })
  return settingsDocument(place, visitor, {
    section: "documents",
    title: "Client documents",
    came: model.problem && "problem",
    lead: html`Applications that nobody registered bring a web address at which they describe themselves. Here you say of which hosts that counts in <bdi>${place.name}</bdi>.`,
    main: html`${takeForm(path, visitor.csrf, model)}
${blockForm(path, visitor.csrf, model)}
${listSection({
  id: "blocked",
  title: "Blocked hosts",
  rows: blocked.map(row),
  none: empty("No host is blocked", "A person still has to approve each application."),
  path,
  paging
})}`
  })
}

const section = {
  name: "documents",
  notices: {
    "documents-taken": doneNotice("Documents are taken as you said."),
    "host-blocked": doneNotice("The host is blocked, and what its applications were granted has ended."),
    "host-unblocked": doneNotice("The host is no longer blocked."),
    "host-gone": problemNotice("This host is not blocked.")
  }
} as const satisfies Section

const draw = Effect.fnUntraced(function* (
  { call, services, visitor }: Inside,
  status: number,
  said: Partial<Pick<DocumentsPage, "takes" | "hosts" | "problem">>
) {
  const workspace = yield* services.openings.current(call.workspace, call.now)
  const { blockedHosts = [], clientDocuments, ownersDocuments = "any" } = workspace
  const after = readParameters(call.request.query).parameters.get("after")
  const { paging, shown } = pageOfList(blockedHosts, String, after)
  const { documents } = services.registration
  return services.pages.show(workspace, status, (place) =>
    documentsPage(place, visitor, {
      most: documents && hostsOfBoth(documents, clientDocuments),
      takes: choiceOf(ownersDocuments),
      hosts: ownersDocuments === "any" ? "" : ownersDocuments.join(" "),
      blocked: shown,
      paging,
      ...said
    })
  )
})

const whyNot = {
  host: "Enter hosts as addresses have them, such as claude.ai or *.example.com.",
  full: "There is no room for more.",
  any: "Choose “Only of these hosts” to take documents of no others, or leave this empty."
} as const satisfies Record<BadHost["reason"] | "any", string>

const longestTyped = 4096

const take = Effect.fn("settings.takeDocuments")(function* (inside: Inside, form: Parameters) {
  const { call, services } = inside
  const asked = form.get("takes") ?? ""
  const takes = isChoice(asked) ? asked : "none"
  const hosts = (form.get("hosts") ?? "").slice(0, longestTyped)
  const some = namesIn(hosts.trim().replaceAll(/[\s,]+/g, " "))
  const wanted = { any: "any", some, none: [] } as const
  const sentBack = (reason: keyof typeof whyNot) =>
    draw(inside, 400, { takes, hosts, problem: { field: "hosts", text: whyNot[reason] } })
  if (takes === "any" && some.length > 0) {
    const { ownersDocuments = "any" } = yield* services.openings.current(call.workspace, call.now)
    // An owner who typed hosts and left the choice as it was wants less than any; hosts that stood there were not typed.
    if (ownersDocuments === "any" || some.join(" ") !== ownersDocuments.join(" ")) return yield* sentBack("any")
  }
  if (takes === "some" && some.length === 0) return yield* sentBack("host")
  return yield* takeClientDocuments(services, auditContext(inside), call.workspace, wanted[takes]).pipe(
    Effect.as(backTo(call, section, "documents-taken")),
    Effect.catchTag("BadHost", ({ reason }) => sentBack(reason))
  )
})

const block = Effect.fn("settings.blockHost")(function* (inside: Inside, form: Parameters) {
  const { call, services } = inside
  const host = form.get("host") ?? ""
  return yield* blockClientHost(services, auditContext(inside), call.workspace, host).pipe(
    Effect.as(backTo(call, section, "host-blocked")),
    Effect.catchTag("BadHost", ({ reason }) =>
      draw(inside, 400, {
        problem: { field: "host", text: whyNot[reason], host: host.slice(0, longestTyped) }
      })
    )
  )
})

const unblock = Effect.fn("settings.unblockHost")(function* (inside: Inside, form: Parameters) {
  const { call, services } = inside
  const changed = yield* unblockClientHost(services, auditContext(inside), call.workspace, form.get("host") ?? "")
  return backTo(call, section, changed ? "host-unblocked" : "host-gone")
})

/** Each decides who comes in. */
export const documentsEndpoint = sectionEndpoint(section, {
  show: (inside) => draw(inside, 200, {}),
  confirmed: { take, block, unblock }
})
