import { Context, Layer } from "effect"
import type { HeaderPairs, HttpResponse } from "../http/Http.ts"
import { type ConsentPage, consentPage } from "../pages/Consent.ts"
import { type ConsentAnsweredPage, consentAnsweredPage } from "../pages/ConsentAnswered.ts"
import { type ErrorPage, errorPage } from "../pages/ErrorPage.ts"
import { type Document, type Place, placeOf } from "../pages/Layout.ts"
import { ownPage, page } from "../pages/pageAnswer.ts"
import type { Theme } from "../workspace/Theme.ts"
import type { OpenWorkspace } from "../workspace/Workspace.ts"

/** What the protocol has to show to a person. A host may draw these itself; the models say all that belongs on them. */
export class Pages extends Context.Service<
  Pages,
  {
    readonly consent: (workspace: OpenWorkspace, model: ConsentPage) => HttpResponse
    /**
     * Where the host's own consent page is, if it is elsewhere: a path of the issuer's origin, or a URL. It is opened
     * with the authorization request as `request`, asks for the model and posts the answer
     * (`oauth/endpoints/consentElsewhere.ts`).
     */
    readonly consentAt?: string
    readonly consentAnswered: (workspace: OpenWorkspace, model: ConsentAnsweredPage) => HttpResponse
    readonly error: (workspace: OpenWorkspace, status: number, model: ErrorPage) => HttpResponse
    /** Any other page of ours, in the workspace's place and colours. */
    readonly show: (
      workspace: OpenWorkspace,
      status: number,
      draw: (place: Place) => Document,
      headers?: HeaderPairs
    ) => HttpResponse
  }
>()("tessera/core/ports/Pages") {
  /**
   * Tessera's own, in the colours of a theme, but for those that the host has of its own. `settings`: whether there are
   * pages to send people to who want to take something back.
   */
  static readonly layer = (theme?: Theme, own: OwnPages = {}, settings = true) => {
    const show: Pages["Service"]["show"] = (workspace, status, draw, headers = []) => {
      const place = placeOf(workspace, theme)
      return page(status, draw(place), { place, headers })
    }
    const { consent, consentAnswered, consentAt, error } = own
    return Layer.succeed(Pages, {
      show,
      ...(consentAt === undefined ? {} : { consentAt }),
      consent: (workspace, model) =>
        consent === undefined
          ? show(workspace, 200, (place) => consentPage(place, model, settings))
          : ownPage(consent(workspace, model)),
      consentAnswered: (workspace, model) =>
        consentAnswered === undefined
          ? show(workspace, model.answer.state === "expired" ? 400 : 200, (place) =>
              consentAnsweredPage(place, model, settings)
            )
          : ownPage(consentAnswered(workspace, model)),
      error: (workspace, status, model) =>
        error === undefined
          ? show(workspace, status, (place) => errorPage(place, model))
          : ownPage(error(workspace, status, model))
    })
  }
}

/** The pages that a host draws itself, or has elsewhere. */
export type OwnPages = Partial<Pick<Pages["Service"], "consent" | "consentAnswered" | "consentAt" | "error">>
