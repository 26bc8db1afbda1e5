import { Effect, Schema } from "effect"
import { isStranger } from "../../client/Client.ts"
import { takeOfAddress } from "../../http/addressLimit.ts"
import { seeOther } from "../../http/answer.ts"
import { refused } from "../../http/audit.ts"
import { commonErrorPage, faultPage, toWire } from "../../http/faults.ts"
import { formType, isForm } from "../../http/form.ts"
import type { HttpResponse } from "../../http/Http.ts"
import {
  bound,
  type Call,
  type Contract,
  type Endpoint,
  type HandlerOf,
  names,
  type Services
} from "../../http/Route.ts"
import { addressOf, fitsSignIn, wellFormed } from "../../http/returnUrl.ts"
import { strangersError } from "../../pages/CommonErrors.ts"
import { allowances } from "../../ports/Limiter.ts"
import { type Interaction, interaction } from "../../request/interaction.ts"
import { authorizeContract, type Returned, returnRefusal } from "../../request/readRequest.ts"
import { Prompt } from "../../rules/Prompt.ts"
import { InvalidRequest } from "../../rules/Refusal.ts"
import { authorizeAt, authorizePath, type Workspace } from "../../workspace/Workspace.ts"
import { approveRemembered } from "./consent.ts"
import { consentModel, returnUrlOfRequest } from "./consentModel.ts"

const consentPageFor = (page: string, query: string): string =>
  `${page}${page.includes("?") ? "&" : "?"}request=${encodeURIComponent(wellFormed(query))}`

/** Back to the client at once, where there is a way; but for one that could have registered for nothing else: then the person decides. */
const refusedTo = (services: Services, call: Call, returned: Returned): HttpResponse => {
  const { path, refusal } = returned
  if (path.to._tag === "Device") return faultPage(services.pages, call, refusal)
  const to = returnRefusal(path.to, refusal, call.workspace.issuer)
  if (!isStranger(path.client)) return seeOther(to)
  return commonErrorPage(services.pages, call, strangersError(toWire(refusal).description, path.to.target, to))
}

const draw = (services: Services, call: Call, next: Exclude<Interaction, { _tag: "Remembered" }>): HttpResponse => {
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

/** What a request comes to, for a caller within its rate limit. */
export const asked = Effect.fnUntraced(function* (services: Services, call: Call) {
  yield* takeOfAddress(services.limiter, call, allowances.authorize)
  const next = yield* interaction(services, call)
  const returnTo =
    next._tag === "NeedsLogin" ? next.returnTo : next._tag === "NeedsConsent" ? returnUrlOfRequest(call, next) : ""
  if (!fitsSignIn(returnTo)) return yield* tooLong
  if (next._tag === "NeedsConsent" || next._tag === "Remembered") {
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
    Effect.flatMap(asked(services, call), (next) =>
      next._tag === "Remembered" ? approveRemembered(services, call, next) : Effect.succeed(draw(services, call, next))
    )

const byPostContract = {
  id: "authorizeByPost",
  heading: "OAuth",
  summary: "Ask a person, by a form",
  description: "OpenID Connect Core §3.1.2.1: the same request as a form. The browser is sent on with it as a query.",
  form: authorizeContract.query,
  callers: [{ shows: "nothing" }],
  answers: [{ description: "To the same request as a query.", like: () => seeOther("/") }],
  faults: [InvalidRequest]
} as const satisfies Contract

const formOnly = new InvalidRequest({ reason: "wrong_content_type", message: `The body has to be ${formType}.` })

/** RFC 3986 §3.4: what no form of a browser has unencoded, and no address may have. */
const outsideQuery = /%(?![0-9A-Fa-f]{2})|[^A-Za-z0-9\-._~!$&'()*+,;=:@/?%\p{Surrogate}]+/gu

/**
 * A form of another site comes without the session's cookie, which is `SameSite=Lax`: the navigation that follows brings
 * it. Nothing of the request is read before.
 */
const byPostHandler = (): HandlerOf<typeof byPostContract> => (call) => {
  if (!isForm(call.request)) return Effect.fail(formOnly)
  const query = call.request.body.replace(outsideQuery, encodeURIComponent)
  const to = addressOf(authorizeAt(call.workspace), query)
  return fitsSignIn(to) ? Effect.succeed(seeOther(to)) : Effect.fail(tooLong)
}

const { code_challenge_method, response_mode, response_type } = authorizeContract.query.fields

export const authorizeEndpoint: Endpoint = {
  path: authorizePath,
  match: "exact",
  methods: { GET: bound(authorizeContract, authorizeHandler), POST: bound(byPostContract, byPostHandler) },
  errors: "page",
  cors: false,
  metadata: {
    name: "authorization_endpoint",
    members: ({ brought }) => ({
      response_types_supported: names(() => [response_type.literal]),
      response_modes_supported: names(() => [response_mode.schema.literal]),
      prompt_values_supported: names(() => Prompt.literals),
      code_challenge_methods_supported: names(() => [code_challenge_method.schema.literal]),
      // RFC 9207 §3: every answer to the client has `iss`.
      authorization_response_iss_parameter_supported: { schema: Schema.Boolean, value: () => true },
      // draft-ietf-oauth-client-id-metadata-document §6.
      ...(brought.offered && {
        client_id_metadata_document_supported: {
          schema: Schema.Boolean,
          value: (_: Services, workspace: Workspace) => brought.offeredIn(workspace)
        }
      })
    })
  }
}
