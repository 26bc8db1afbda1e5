import { Context, Layer } from "effect"
import type { HttpResponse } from "../http/Http.ts"
import { page } from "../pages/answer.ts"
import { type ConsentPage, consentPage } from "../pages/Consent.ts"
import { type ConsentAnsweredPage, consentAnsweredPage } from "../pages/ConsentAnswered.ts"
import { type ErrorPage, errorPage } from "../pages/ErrorPage.ts"
import { placeOf } from "../pages/Place.ts"
import type { Theme } from "../pages/Theme.ts"
import type { Workspace } from "../workspace/Workspace.ts"

/** What the protocol has to show to a person. A host may draw these itself; the models say all that belongs on them. */
export class Pages extends Context.Service<
  Pages,
  {
    readonly consent: (workspace: Workspace, model: ConsentPage) => HttpResponse
    readonly consentAnswered: (workspace: Workspace, model: ConsentAnsweredPage) => HttpResponse
    readonly error: (workspace: Workspace, status: number, model: ErrorPage) => HttpResponse
  }
>()("tessera/core/ports/Pages") {
  /** Tessera's own, in the colours of a theme. */
  static readonly layer = (theme?: Theme) =>
    Layer.succeed(Pages, {
      consent: (workspace, model) => {
        const place = placeOf(workspace, theme)
        return page(200, consentPage(place, model), { place })
      },
      consentAnswered: (workspace, model) => {
        const place = placeOf(workspace, theme)
        const status = model.answer.state === "expired" ? 400 : 200
        return page(status, consentAnsweredPage(place, model), { place })
      },
      error: (workspace, status, model) => {
        const place = placeOf(workspace, theme)
        return page(status, errorPage(place, model), { place })
      }
    })
}
