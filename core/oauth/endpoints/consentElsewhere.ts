import { Effect } from "effect"
import { isStranger } from "../../client/Client.ts"
import { secretJson } from "../../http/answer.ts"
import { refused } from "../../http/audit.ts"
import { oauthError } from "../../http/faults.ts"
import { readParameters } from "../../http/form.ts"
import type { HeaderPairs } from "../../http/Http.ts"
import { type Call, type Endpoint, type Handler, page, pageEndpoint, type Services } from "../../http/Route.ts"
import {
  type AnswerAddress,
  addressIn,
  type ConsentPage,
  type ConsentPlace,
  type ConsentResource,
  clientName
} from "../../pages/Consent.ts"
import type { Interaction } from "../../request/interaction.ts"
import { returnRefusal } from "../../request/readRequest.ts"
import { authorizeAt, authorizePath, consentPath, originOf } from "../../workspace/Workspace.ts"
import { asked } from "./authorize.ts"
import { type ConsentDecision, consentDecision } from "./consent.ts"
import { consentModel, returnUrlOfRequest } from "./consentModel.ts"

/** What a consent page of the host's own is told: what to show, or where the browser has to go instead. */
export type ConsentAsked =
  | {
      readonly state: "consent"
      readonly client: {
        readonly id: string
        /** Chosen by who registered it, so it proves nothing; without what could trick a reader. */
        readonly name: string
        readonly returnsTo: AnswerAddress
        /** False where an owner of the workspace made it. */
        readonly registeredItself: boolean
        /** In milliseconds since 1970. */
        readonly registeredAt?: number
        /**
         * Of one that brings a metadata document: where that was read, which is all that is known for certain. Shown more
         * loudly than the name.
         */
        readonly host?: string
        /** Its answers all go to programs on the person's computer, each of which may use its name. */
        readonly staysOnComputer?: boolean
      }
      readonly scopes: ConsentPage["scopes"]
      /** Those that it is to be for, where that is less than the whole workspace. */
      readonly resources: ReadonlyArray<ConsentResource>
      /** Whether approving takes a box that the person ticks: `acknowledged` = `yes` in what is posted. */
      readonly acknowledge: boolean
      /** Where the person has a choice of places: all of them. What is posted names one as `place`. */
      readonly places?: ReadonlyArray<ConsentPlace>
      readonly account: string
      /** For "Not you?". */
      readonly switchAccount: string
      /** To be posted to `{issuer}/consent/answer`, with `decision` (`approve` or `deny`). */
      readonly form: { readonly csrf: string; readonly ticket: string }
    }
  /** `remembered`: an earlier yes answers this request, once the browser goes there. */
  | { readonly state: "sign_in" | "refused" | "remembered"; readonly continueTo: string }

/** What the answer came to. Where there is a `continueTo`, the browser has to go there. */
export type ConsentTold =
  | { readonly state: "sign_in" | "done" | "waiting"; readonly continueTo: string }
  /**
   * `approved`: for a device, which learns of it by itself. `unacknowledged`: the box was not ticked, and the page still stands. `place`: none was chosen that the person has, so
   * the page has to be asked for and drawn again.
   */
  | {
      readonly state: "approved" | "used" | "denied" | "expired" | "unacknowledged" | "place"
      readonly continueTo?: never
    }

/** The authorization request as the browser would make it, by itself. */
const authorizing = (call: Call, query: string): Call => {
  const { headers, peer } = call.request
  const path = authorizeAt(call.workspace)
  return { ...call, path: authorizePath, request: { method: "GET", path, query, headers, body: "", peer } }
}

/** Of a stranger our own page tells, so that the person decides about the way to it; of a device there is no way. */
const refusedAt = (call: Call, next: Extract<Interaction, { readonly _tag: "Redirect" }>): string => {
  const { path, refusal } = next.returned
  return path.to._tag === "Device" || isStranger(path.client)
    ? returnUrlOfRequest(call, next)
    : returnRefusal(path.to, refusal, call.workspace.issuer)
}

const tellAsked = (services: Services, call: Call, next: Exclude<Interaction, { _tag: "Page" }>): ConsentAsked => {
  switch (next._tag) {
    case "NeedsLogin":
      return { state: "sign_in", continueTo: next.at }
    case "Remembered":
      return { state: "remembered", continueTo: returnUrlOfRequest(call, next) }
    case "Redirect":
      return {
        state: "refused",
        continueTo: refusedAt(call, next)
      }
    case "NeedsConsent": {
      const { client, csrf, now: _, places, ticket, ...page } = consentModel(services, call, next)
      const { name, redirectUri: _uri, userCode: _code, ...known } = client
      return {
        state: "consent",
        client: { ...known, name: clientName(name), returnsTo: addressIn(client) },
        ...page,
        ...(places === undefined ? {} : { places: places.shown }),
        form: { csrf, ticket }
      }
    }
  }
}

const tellDecision = (decision: ConsentDecision): ConsentTold => {
  switch (decision._tag) {
    case "SignIn":
      return { state: "sign_in", continueTo: decision.at }
    case "Return":
      return { state: "done", continueTo: decision.to }
    case "Answered":
      return decision.page.answer
    case "Outdated":
      return { state: "place" }
    case "Again":
      return { state: decision.lacks === "tick" ? "unacknowledged" : "place" }
  }
}

/** The host's page may be of another origin than the issuer: that one reads what is told here, and no other. */
const readers = (call: Call, consentAt: string): HeaderPairs => {
  const { issuer } = call.workspace
  const { origin } = new URL(consentAt, issuer)
  const own: HeaderPairs = [
    ["vary", "Origin"],
    ["cross-origin-resource-policy", "same-origin"]
  ]
  return origin === originOf(issuer) || call.request.headers.get("origin") !== origin
    ? own
    : [
        ...own,
        ["access-control-allow-origin", origin],
        ["access-control-allow-credentials", "true"],
        ["access-control-expose-headers", "Retry-After, X-Request-Id"]
      ]
}

/** Told as JSON, refusals too, to a page of the host's own. Without such a page these endpoints are not there. */
const elsewhere =
  (answer: (services: Services, call: Call) => ReturnType<Handler>) =>
  (services: Services): Handler =>
    Effect.fnUntraced(function* (call) {
      const told = yield* Effect.catch(answer(services, call), (fault) =>
        Effect.as(refused(services.audit, call, fault), oauthError(fault))
      )
      return { ...told, headers: [...told.headers, ...readers(call, services.pages.consentAt ?? "")] }
    })

const model = elsewhere(
  Effect.fnUntraced(function* (services: Services, call: Call) {
    const query = readParameters(call.request.query).parameters.get("request") ?? ""
    const request = authorizing(call, query)
    const next = yield* asked(services, request)
    return next._tag === "Page" ? oauthError(next.refusal) : secretJson(200, tellAsked(services, request, next))
  })
)

const answer = elsewhere((services, call) =>
  Effect.map(consentDecision(services, call), (decision) => secretJson(200, tellDecision(decision)))
)

const present: Endpoint["present"] = ({ pages }) => pages.consentAt !== undefined

export const consentModelEndpoint: Endpoint = {
  ...pageEndpoint(`${consentPath}/model`, { GET: page(model) }),
  present
}

export const consentAnswerEndpoint: Endpoint = {
  ...pageEndpoint(`${consentPath}/answer`, { POST: page(answer) }),
  present
}
