import type { ConsentPage } from "../pages/Consent.ts"
import type { Call } from "./Call.ts"
import type { Interaction } from "./interaction.ts"
import type { Parts } from "./Parts.ts"

const isEverything = (resource: string, call: Call): boolean => resource === call.workspace.issuer

/** All that a person has to know to say yes or no. `comeBackTo` is the authorization request, for who is somebody else. */
export const consentModel = (
  parts: Parts,
  call: Call,
  { form, request, signedIn }: Extract<Interaction, { readonly _tag: "NeedsConsent" }>,
  comeBackTo: string
): ConsentPage => ({
  client: {
    id: request.client.id,
    name: request.client.about.client_name,
    redirectUri: request.target,
    registeredItself: request.client.madeBy === "itself",
    registeredAt: request.client.createdAt
  },
  scopes: parts.policy.scopes
    .filter((scope) => request.scope.includes(scope.name))
    .map((scope) => ({ scope: scope.name, words: scope.meaning, byDefault: request.scopeByDefault })),
  ...(request.resource === null || isEverything(request.resource, call) ? {} : { resource: request.resource }),
  account: signedIn.label,
  switchAccount: (parts.owner.switchAt ?? parts.owner.signInAt)(call.workspace, comeBackTo),
  ...form,
  now: call.now
})
