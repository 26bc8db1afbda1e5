import { Context, Layer } from "effect"
import type { HeaderPairs, HttpResponse } from "../http/Http.ts"
import { page } from "../pages/answer.ts"
import { type ConsentPage, consentPage } from "../pages/Consent.ts"
import { type ConsentAnsweredPage, consentAnsweredPage } from "../pages/ConsentAnswered.ts"
import type { Document } from "../pages/Document.ts"
import { type ErrorPage, errorPage } from "../pages/ErrorPage.ts"
import { type Place, placeOf } from "../pages/Place.ts"
import type { Theme } from "../pages/Theme.ts"
import type { Workspace } from "../workspace/Workspace.ts"

/** What the protocol has to show to a person. A host may draw these itself; the models say all that belongs on them. */
export class Pages extends Context.Service<
  Pages,
  {
    readonly consent: (workspace: Workspace, model: ConsentPage) => HttpResponse
    readonly consentAnswered: (workspace: Workspace, model: ConsentAnsweredPage) => HttpResponse
    readonly error: (workspace: Workspace, status: number, model: ErrorPage) => HttpResponse
    /** Any other page of ours, in the workspace's place and colours. */
    readonly show: (
      workspace: Workspace,
      status: number,
      draw: (place: Place) => Document,
      headers?: HeaderPairs
    ) => HttpResponse
  }
>()("tessera/core/ports/Pages") {
  /** Tessera's own, in the colours of a theme. */
  static readonly layer = (theme?: Theme) => {
    const show: Pages["Service"]["show"] = (workspace, status, draw, headers = []) => {
      const place = placeOf(workspace, theme)
      return page(status, draw(place), { place, headers })
    }
    return Layer.succeed(Pages, {
      show,
      consent: (workspace, model) => show(workspace, 200, (place) => consentPage(place, model)),
      consentAnswered: (workspace, model) =>
        show(workspace, model.answer.state === "expired" ? 400 : 200, (place) => consentAnsweredPage(place, model)),
      error: (workspace, status, model) => show(workspace, status, (place) => errorPage(place, model))
    })
  }
}
