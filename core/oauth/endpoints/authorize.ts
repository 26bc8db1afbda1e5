import { Effect, Schema } from "effect"
import { isStranger } from "../../client/Client.ts"
import { takeOfAddress } from "../../http/addressLimit.ts"
import { seeOther } from "../../http/answer.ts"
import { refused } from "../../http/audit.ts"
import { commonErrorPage, faultPage, toWire } from "../../http/faults.ts"
import type { HttpResponse } from "../../http/Http.ts"
import { bound, type Call, type Endpoint, type HandlerOf, names, type Services } from "../../http/Route.ts"
import { addressOf, fitsSignIn, wellFormed } from "../../http/returnUrl.ts"
import { strangersError } from "../../pages/CommonErrors.ts"
import type { ConsentPage, ConsentResource } from "../../pages/Consent.ts"
import { allowances } from "../../ports/Limiter.ts"
import { type Interaction, interaction } from "../../request/interaction.ts"
import { type Choosing, choiceOf, type Offer } from "../../request/places.ts"
import { authorizeContract, type CheckedRequest, type Returned, returnRefusal } from "../../request/readRequest.ts"
import { Prompt } from "../../rules/Prompt.ts"
import { InvalidRequest } from "../../rules/Refusal.ts"
import { definitionAt } from "../../rules/Resource.ts"
import { authorizeAt, authorizePath, scopesOf, type Workspace } from "../../workspace/Workspace.ts"

/** What the grant is to be for, as people know it, where that is less than the whole workspace. */
const placesOf = (resources: CheckedRequest["resources"], workspace: Workspace): ReadonlyArray<ConsentResource> =>
  resources === null || resources.some((resource: string) => resource === workspace.issuer)
    ? []
    : resources.map((at) => {
        const name = definitionAt(workspace, at)?.name
        return name === undefined ? { at } : { at, name }
      })

/** Where a browser comes back to an authorization request, after sign-in or as somebody else. */
export const comeBackTo = ({ workspace }: Call, { query }: { readonly query: string }): string =>
  addressOf(authorizeAt(workspace), query)

/** A host's page elsewhere looks through all of them by itself. */
const choice = (
  { pages, policy }: Services,
  { workspace }: Call,
  offer: Offer,
  { scope }: CheckedRequest,
  choosing: Choosing
): Pick<ConsentPage, "places"> => {
  const places = choiceOf(offer, choosing, scope, scopesOf(policy, workspace), pages.consentAt !== undefined)
  return places === undefined ? {} : { places }
}

/** All that a person has to know to say yes or no. */
export const consentModel = (
  services: Services,
  call: Call,
  { allowed, form, last, offer, query, request, signedIn }: Extract<Interaction, { readonly _tag: "NeedsConsent" }>,
  choosing: Omit<Choosing, "last" | "hint"> = {}
): ConsentPage => ({
  ...choice(services, call, offer, request, { ...choosing, last, hint: request.placeHint }),
  client: {
    id: request.client.id,
    name: request.client.about.client_name,
    redirectUri: request.target,
    registeredItself: request.client.madeBy === "itself",
    registeredAt: request.client.createdAt
  },
  scopes: scopesOf(services.policy, call.workspace)
    .filter((scope) => request.scope.includes(scope.name))
    .map((scope) => ({
      scope: scope.name,
      words: scope.meaning,
      byDefault: request.scopeByDefault,
      ...(allowed.includes(scope.name) ? { allowedBefore: true } : {})
    })),
  resources: placesOf(request.resources, call.workspace),
  account: signedIn.label,
  acknowledge: isStranger(request.client),
  switchAccount: (services.owner.switchAt ?? services.owner.signInAt)(call.workspace, comeBackTo(call, { query })),
  ...form,
  now: call.now
})

const consentPageFor = (page: string, query: string): string =>
  `${page}${page.includes("?") ? "&" : "?"}request=${encodeURIComponent(wellFormed(query))}`

/** Back to the client at once, but for one that could have registered for nothing else: then the person decides. */
const refusedTo = (services: Services, call: Call, returned: Returned): HttpResponse => {
  const to = returnRefusal(returned, call.workspace.issuer)
  const { client, target } = returned.path
  if (!isStranger(client)) return seeOther(to)
  return commonErrorPage(services.pages, call, strangersError(toWire(returned.refusal).description, target, to))
}

const draw = (services: Services, call: Call, next: Interaction): HttpResponse => {
  switch (next._tag) {
    case "Page":
      return faultPage(services.pages, call, next.refusal)
    case "Redirect":
      return refusedTo(services, call, next.returned)
    case "NeedsLogin":
      return seeOther(next.at)
    case "NeedsConsent":
      return services.pages.consentAt === undefined
        ? services.pages.consent(call.workspace, consentModel(services, call, next))
        : seeOther(consentPageFor(services.pages.consentAt, next.query))
  }
}

const refusalOf = (next: Interaction) =>
  next._tag === "Page" ? next.refusal : next._tag === "Redirect" ? next.returned.refusal : undefined

/**
 * Signed in or not: the person may change the account on the consent page, or lose the session, and sign in with the
 * request in the address then.
 */
const tooLong = new InvalidRequest({
  reason: "request_too_long",
  message: "The request is longer than 12 KiB, as it is encoded in the address of the sign-in page."
})

/** What a request comes to, for somebody who asks no more often than they may. */
export const asked = Effect.fnUntraced(function* (services: Services, call: Call) {
  yield* takeOfAddress(services.limiter, call, allowances.authorize)
  const next = yield* interaction(services, call)
  const returnTo =
    next._tag === "NeedsLogin" ? next.returnTo : next._tag === "NeedsConsent" ? comeBackTo(call, next) : ""
  if (!fitsSignIn(returnTo)) return yield* tooLong
  if (next._tag === "NeedsConsent") {
    yield* services.limiter.take({
      allowance: allowances.account,
      workspace: call.workspace.id,
      of: next.signedIn.user
    })
  }
  const refusal = refusalOf(next)
  if (refusal !== undefined) yield* refused(services.audit, call, refusal)
  return next
})

/** RFC 6749 §3.1. */
const authorizeHandler =
  (services: Services): HandlerOf<typeof authorizeContract> =>
  (call) =>
    Effect.map(asked(services, call), (next) => draw(services, call, next))

const { code_challenge_method, response_mode, response_type } = authorizeContract.query.fields

export const authorizeEndpoint: Endpoint = {
  path: authorizePath,
  match: "exact",
  methods: { GET: bound(authorizeContract, authorizeHandler) },
  errors: "page",
  cors: false,
  metadata: {
    name: "authorization_endpoint",
    members: {
      response_types_supported: names(() => [response_type.literal]),
      response_modes_supported: names(() => [response_mode.schema.literal]),
      prompt_values_supported: names(() => Prompt.literals),
      code_challenge_methods_supported: names(() => [code_challenge_method.schema.literal]),
      // RFC 9207 §3: every answer to the client has `iss`.
      authorization_response_iss_parameter_supported: { schema: Schema.Boolean, value: () => true }
    }
  }
}
