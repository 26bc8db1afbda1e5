import type { Instant } from "../rules/Instant.ts"
import { sanitizeName, spellOut } from "../rules/sanitizeName.ts"
import { isLoopbackHost } from "../workspace/Workspace.ts"
import { hidden } from "./Field.ts"
import { attributes, breakable, type Html, html } from "./Html.ts"
import { card, type Document, type Place } from "./Layout.ts"
import { ago } from "./Timestamp.ts"

/** The target of a redirect URI in the terms of a person. */
export type ReturnAddress =
  | { readonly kind: "site"; readonly host: string }
  | { readonly kind: "thisDevice"; readonly host: string }
  /** `opens`: how the links begin that lead to it. */
  | { readonly kind: "app"; readonly scheme: string; readonly opens: string }
  | { readonly kind: "unknown" }

/** Where the answer goes, in the same terms: also to a device that waits, and shows this code. */
export type AnswerAddress = ReturnAddress | { readonly kind: "device"; readonly userCode: string }

const longest = 120

/** A scheme with a dot belongs to one application; one without to an editor, whose extension is the host. */
const appAddress = ({ host, protocol }: URL): ReturnAddress => {
  const shared = !protocol.includes(".") && host !== ""
  return {
    kind: "app",
    scheme: sanitizeName(protocol.slice(0, -1), longest) ?? "",
    opens: sanitizeName(shared ? `${protocol}//${host}` : protocol, longest) ?? ""
  }
}

/** The host is in its ASCII form, so that no letter passes for another. */
export const returnAddress = (redirectUri: string): ReturnAddress => {
  if (!URL.canParse(redirectUri)) return { kind: "unknown" }
  const url = new URL(redirectUri)
  const web = url.protocol === "https:" || url.protocol === "http:"
  if (!web) return appAddress(url)
  return { kind: isLoopbackHost(url.hostname) ? "thisDevice" : "site", host: url.host }
}

export const addressIn = ({ redirectUri = "", userCode }: ConsentPage["client"]): AnswerAddress =>
  userCode === undefined ? returnAddress(redirectUri) : { kind: "device", userCode }

/** A scope as a person reads it. */
export interface ScopeInWords {
  /** `api` */
  readonly scope: string
  /** "Read and write your companies": what follows "will be able to", starting with a capital. */
  readonly words: string
}

/** An API that a grant is to be for. */
export interface ConsentResource {
  readonly at: string
  /** As an owner called it. */
  readonly name?: string
}

/** A place where the person may let the client act: an organisation of the host's, say. */
export interface ConsentPlace {
  readonly id: string
  readonly label: string
  readonly detail?: string
  /** Chosen until the person chooses another. */
  readonly chosen: boolean
  /** What approving grants there, where that is less than the page says. */
  readonly only?: ReadonlyArray<ScopeInWords>
}

interface ConsentPlaces {
  /** Some of them, where there are many; `decision` = `search` with `place_search` draws the page with others. */
  readonly shown: ReadonlyArray<ConsentPlace>
  readonly count: number
  readonly search?: string
  /** None was chosen that the person has. */
  readonly problem?: string
}

/** Posts `decision` (`approve` or `deny`), `csrf`, `ticket` and, where it is asked for, `acknowledged` to `{base}/consent`. */
export interface ConsentPage {
  readonly client: {
    readonly id: string
    /** As registered: the client chose it, so it proves nothing. */
    readonly name: string | undefined
    /** The one that this request named. Not there where a device waits for the answer. */
    readonly redirectUri?: string
    /** RFC 8628: the code that the device shows, in two groups; the person has to find it there. */
    readonly userCode?: string
    /** False if an owner of the workspace registered it. */
    readonly registeredItself: boolean
    readonly registeredAt?: Instant
    /** Of one that brings a metadata document: the host that it was read from, which is all that is known for certain. */
    readonly host?: string
    /** As registered: where it says what it does with what it learns, and on which terms. */
    readonly policyUri?: string
    readonly tosUri?: string
    /** Whatever it asks, the answer goes to a program on the person's own computer: each program there could be meant. */
    readonly staysOnComputer?: boolean
  }
  /** Each scope that approving grants. */
  readonly scopes: ReadonlyArray<
    ScopeInWords & {
      readonly byDefault: boolean
      /** The person let this client have it before, and it still has it. */
      readonly allowedBefore?: boolean
    }
  >
  /** The requested resources, if they are less than the whole workspace. */
  readonly resources: ReadonlyArray<ConsentResource>
  /** Where the person has a choice: the form posts the `id` of one as `place`. Not there where there is none to make. */
  readonly places?: ConsentPlaces
  /** `SignedIn.label` */
  readonly account: string
  /** Where "Not you?" leads: `ResourceOwner.signInAt(workspace, <this request>)`. */
  readonly switchAccount: string
  /**
   * Approving takes `acknowledged` = `yes`, from a box that the person ticks: no person here has let this client in
   * yet.
   */
  readonly acknowledge: boolean
  /** Approving once counts for the same again. */
  readonly remembers?: boolean
  /** The box was not ticked. */
  readonly problem?: string
  readonly csrf: string
  /** The authorization request, as this page was drawn for it. */
  readonly ticket: string
  readonly now: Instant
}

const named = (name: string | undefined, otherwise: string): string => sanitizeName(name ?? "", 60) ?? otherwise

/** The name of a client in a sentence, and at the beginning of one. */
export const clientName = (name: string | undefined): string => named(name, "an unnamed application")
export const clientTitle = (name: string | undefined): string => named(name, "An unnamed application")

const destination = (address: AnswerAddress): Html => {
  switch (address.kind) {
    case "site":
      return html`<strong class="host"><bdi>${breakable(address.host)}</bdi></strong>`
    case "thisDevice":
      return html`an application on this computer, at <strong class="host"><bdi>${breakable(address.host)}</bdi></strong>`
    case "app":
      return html`the application on this device that opens <strong class="host"><bdi>${breakable(address.opens)}</bdi></strong> links`
    case "device":
      return html`a device that shows <strong class="host user-code">${address.userCode}</strong>`
    case "unknown":
      return html`the application`
  }
}

const ofDocument = (place: Place, host: string, { client }: ConsentPage): Html =>
  html`<div class="notice notice-caution"><p>All that <bdi>${place.name}</bdi> knows of this application is what <bdi>${breakable(host)}</bdi> says of it: unverified.${
    client.staysOnComputer === true && " Any program on this computer can ask in its name, and would get the answer."
  } Approve only if you started this yourself and know that address.</p></div>`

/** RFC 8628 §5.4. */
const ofDevice = html`<div class="notice notice-caution"><p>Whoever has the device gets into your account. If somebody sent you this code, or a link to a page with it, deny.</p></div>`

const origin = (place: Place, model: ConsentPage): Html =>
  model.client.host !== undefined
    ? ofDocument(place, model.client.host, model)
    : model.client.registeredItself
      ? html`<div class="notice notice-caution"><p>This application registered itself${
          model.client.registeredAt !== undefined && html` ${ago(model.client.registeredAt, model.now)}`
        }; <bdi>${place.name}</bdi> has not verified it. Approve only if you started this yourself${model.client.userCode === undefined && " and know the address that it returns you to"}.</p></div>`
      : html``

/** Each with its host: the client that registered the address may want it to look like another site's page. */
const ownPages = ({ client: { policyUri, tosUri } }: ConsentPage): Html | false => {
  const links = [
    { label: "Privacy policy", uri: policyUri },
    { label: "Terms", uri: tosUri }
  ].flatMap(({ label, uri = "" }) =>
    /^https?:/i.test(uri) && URL.canParse(uri)
      ? [
          html`<dd><a href="${new URL(uri).href}" rel="noreferrer noopener nofollow" target="_blank">${label}</a> at <span class="host"><bdi>${breakable(new URL(uri).host)}</bdi></span></dd>`
        ]
      : []
  )
  return links.length > 0 && html`<div><dt>Its own pages</dt>${links}</div>`
}

/** A second thing to do, elsewhere on the page: two clicks that a person was lured into give nothing away. */
const acknowledgement = ({ client, problem }: ConsentPage): Html => html`<div class="check">
<input id="acknowledged" name="acknowledged" type="checkbox" value="yes" required${attributes({
  autofocus: problem !== undefined,
  "aria-invalid": problem === undefined ? undefined : "true",
  "aria-describedby": problem === undefined ? undefined : "acknowledged-problem"
})}>
<label for="acknowledged">${
  client.userCode === undefined
    ? "I started this myself, and I know the address above."
    : html`I started this myself, and I see <strong class="user-code">${client.userCode}</strong> on my device.`
}</label>
${problem !== undefined && html`<p class="field-problem" id="acknowledged-problem">${problem}</p>`}
</div>`

const choice = (
  { chosen, detail, id, label, only }: ConsentPlace,
  index: number,
  autofocus: boolean
): Html => html`<div class="choice">
<input id="place-${index}" name="place" type="radio" value="${id}" required${attributes({ checked: chosen, autofocus })}>
<label for="place-${index}"><bdi>${breakable(sanitizeName(label, 100) ?? id)}</bdi>${
  detail !== undefined && html` <span class="hint"><bdi>${breakable(spellOut(detail, 200))}</bdi></span>`
}${
  only !== undefined && html` <span class="hint">There only: ${only.map(({ words }) => words).join("; ")}.</span>`
}</label>
</div>`

const search = ({ count, search: sought = "", shown }: ConsentPlaces): Html => html`<div class="search">
<label for="place-search">Search all ${count}</label>
<div class="search-line">
<input id="place-search" name="place_search" type="search" value="${sought}" maxlength="100" autocomplete="off"${attributes(
  {
    autofocus: sought !== "",
    "aria-describedby": "place-count"
  }
)}>
<button class="button" type="submit" name="decision" value="search" formnovalidate>Search</button>
</div>
<p class="hint" id="place-count" role="status">${
  sought === "" ? html`The first ${shown.length} of ${count} are here.` : html`${shown.length} of ${count} are here.`
}</p>
</div>`

/** Enter in a choice presses a form's first button: here one that changes nothing. */
const stay = html`<button class="visually-hidden" type="submit" name="decision" value="search" tabindex="-1" formnovalidate>Draw the page again</button>`

/** Whoever chose none is led to the first, or to what they searched for. */
const isFirst = ({ problem, search = "" }: ConsentPlaces, index: number): boolean =>
  problem !== undefined && search === "" && index === 0

const where = (places: ConsentPlaces): Html => html`<fieldset class="places"${attributes({
  "aria-describedby": places.problem === undefined ? undefined : "place-problem"
})}>
<legend>Where may it act for you?</legend>
${places.problem !== undefined && html`<p class="field-problem" id="place-problem" role="alert">${places.problem}</p>`}
${places.count > places.shown.length || places.search !== undefined ? search(places) : stay}
${places.shown.map((one, index) => choice(one, index, isFirst(places, index)))}
</fieldset>`

const permission = (scope: ConsentPage["scopes"][number]): Html =>
  html`<li><span class="tick" aria-hidden="true"></span><span>${scope.words} <code class="scope">${scope.scope}</code>${
    scope.byDefault &&
    html` <span class="hint">Included because the application did not ask for specific permissions.</span>`
  }</span></li>`

const only = ({ at, name }: ConsentResource): Html => {
  const address = html`<bdi>${breakable(spellOut(at, 300))}</bdi>`
  return name === undefined
    ? html`<dd>${address}</dd>`
    : html`<dd><bdi>${name}</bdi> <span class="hint">${address}</span></dd>`
}

const list = (id: string, title: string, scopes: ConsentPage["scopes"]): Html =>
  html`<h2 id="${id}">${title}</h2>
<ul class="permissions" aria-labelledby="${id}">
${scopes.map(permission)}
</ul>`

/** A client that comes back for more: what is new stands first, and beside it what it has. */
const permissions = ({ scopes }: ConsentPage): Html => {
  const before = scopes.filter(({ allowedBefore }) => allowedBefore === true)
  const more = scopes.filter(({ allowedBefore }) => allowedBefore !== true)
  if (before.length === 0) return list("permissions", "It will be able to", scopes)
  return html`${more.length > 0 && list("permissions", "New: it will also be able to", more)}
${list("allowed", "You already allow it to", before)}`
}

/** Whom the person lets in: of a document, its host, and only below that the name which it gives itself. */
const heading = ({ client: { host, name } }: ConsentPage): Html =>
  host === undefined
    ? html`<h1>Allow <bdi class="name">${clientName(name)}</bdi> to use your account?</h1>`
    : html`<h1>Allow <bdi class="name">${breakable(host)}</bdi> to use your account?</h1>
<p class="claim">It calls itself <bdi>${clientName(name)}</bdi> <span class="badge">unverified</span></p>`

/** `settings`: whether there are pages where people can revoke access. */
export const consentPage = (place: Place, model: ConsentPage, settings = true): Document => {
  const name = model.client.host ?? clientName(model.client.name)
  return {
    name: "consent",
    title: `${model.problem === undefined && model.places?.problem === undefined ? "" : "Problem: "}Allow ${name}?`,
    formsEnd: "anywhere",
    opener: "kept",
    session: "kept",
    body: card(
      place,
      html`${heading(model)}
<dl class="terms">
<div><dt>Your account</dt><dd><bdi>${breakable(model.account)}</bdi></dd><dd class="terms-aside"><a class="quiet-link" href="${model.switchAccount}">Not you?</a></dd></div>
<div><dt>${model.client.userCode === undefined ? "Returns you to" : "Connects"}</dt><dd>${destination(addressIn(model.client))}</dd></div>
${model.resources.length > 0 && html`<div><dt>Only for</dt>${model.resources.map(only)}</div>`}
${ownPages(model)}
</dl>
${model.client.userCode !== undefined && ofDevice}
${origin(place, model)}
${permissions(model)}
<form method="post" action="${place.base}/consent" class="decide">
${hidden({ csrf: model.csrf, ticket: model.ticket })}
${model.places !== undefined && where(model.places)}
${model.acknowledge && acknowledgement(model)}
<button class="button" type="submit" name="decision" value="deny" formnovalidate>Deny</button>
<button class="button primary" type="submit" name="decision" value="approve">Approve</button>
</form>
${settings && html`<p class="aside">${model.remembers === true && "You will not be asked for this again. "}You can revoke this at any time in <bdi>${place.name}</bdi>, under Settings, Connected apps.</p>`}`
    )
  }
}
