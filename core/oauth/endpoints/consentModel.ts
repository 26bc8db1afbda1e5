import { type Client, isStranger, shownIdentifier } from "../../client/Client.ts"
import type { Call, Services } from "../../http/Route.ts"
import { addressOf } from "../../http/returnUrl.ts"
import { type ConsentPage, type ConsentResource, returnAddress } from "../../pages/Consent.ts"
import type { AnswerPlace } from "../../request/AuthorizationRequest.ts"
import type { Interaction } from "../../request/interaction.ts"
import { type Choosing, choiceOf, type Offer } from "../../request/places.ts"
import type { CheckedRequest } from "../../request/readRequest.ts"
import { consentGiven } from "../../request/rememberedConsent.ts"
import { definitionAt } from "../../rules/Resource.ts"
import { groupedCode } from "../../rules/UserCode.ts"
import { authorizeAt, scopesOf, type Workspace } from "../../workspace/Workspace.ts"

/** What the grant is to be for, as people know it, where that is less than the whole workspace. */
const placesOf = (resources: CheckedRequest["resources"], workspace: Workspace): ReadonlyArray<ConsentResource> =>
  resources === null || resources.some((resource: string) => resource === workspace.issuer)
    ? []
    : resources.map((at) => {
        const name = definitionAt(workspace, at)?.name
        return name === undefined ? { at } : { at, name }
      })

/** Where a browser comes back to an authorization request, after sign-in or as another person. */
export const returnUrlOfRequest = ({ workspace }: Call, { query }: { readonly query: string }): string =>
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

const documentIn = ({ origin, redirectUris }: Client) =>
  origin?.document === undefined
    ? {}
    : {
        host: origin.document.host,
        staysOnComputer: redirectUris.every((uri) => returnAddress(uri).kind === "thisDevice")
      }

const pagesOf = ({ policy_uri, tos_uri }: Client["about"]) => ({
  ...(policy_uri === undefined ? {} : { policyUri: policy_uri }),
  ...(tos_uri === undefined ? {} : { tosUri: tos_uri })
})

const whereTo = (to: AnswerPlace): Pick<ConsentPage["client"], "redirectUri" | "userCode"> =>
  to._tag === "Redirect" ? { redirectUri: to.target } : to.code === undefined ? {} : { userCode: groupedCode(to.code) }

/** RFC 8628 §5.4: what a link may have led to is approved by who says that the code is on a device of theirs. */
export const asksTick = ({ client, to }: Pick<CheckedRequest, "client" | "to">): boolean =>
  to._tag === "Device" || isStranger(client)

/** All that a person has to know to say yes or no. */
export const consentModel = (
  services: Services,
  call: Call,
  { allowed, form, last, offer, query, request, signedIn }: Extract<Interaction, { readonly _tag: "NeedsConsent" }>,
  choosing: Omit<Choosing, "last" | "hint"> = {}
): ConsentPage => ({
  ...choice(services, call, offer, request, { ...choosing, last, hint: request.placeHint }),
  client: {
    id: shownIdentifier(request.client),
    name: request.client.about.client_name,
    ...whereTo(request.to),
    registeredItself: request.client.madeBy === "itself",
    registeredAt: request.client.createdAt,
    ...pagesOf(request.client.about),
    ...documentIn(request.client)
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
  acknowledge: asksTick(request),
  ...(consentGiven(services.policy, request.client, request.to, call.now) === undefined ? {} : { remembers: true }),
  switchAccount: (services.owner.switchAt ?? services.owner.signInAt)(
    call.workspace,
    returnUrlOfRequest(call, { query })
  ),
  ...form,
  now: call.now
})
