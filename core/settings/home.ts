import { Effect, Option } from "effect"
import type { Endpoint } from "../http/Call.ts"
import type { Parts } from "../http/Parts.ts"
import { fieldFor } from "../http/sessionForm.ts"
import { homePage } from "../pages/Home.ts"
import { basePath } from "../workspace/Workspace.ts"
import type { SettingsOptions } from "./SettingsOptions.ts"

export const homeEndpoint = (parts: Parts, options: SettingsOptions): Endpoint =>
  Effect.fnUntraced(function* ({ workspace, request }) {
    const signedIn = Option.getOrUndefined(yield* parts.owner.current(workspace, request))
    const signInAt = parts.owner.signInAt(workspace, `${basePath(workspace.issuer)}/`)
    const visitor =
      signedIn === undefined
        ? undefined
        : {
            account: signedIn.label,
            csrf: fieldFor(parts, { workspace }, signedIn.session),
            accountsElsewhere: options.accountsElsewhere === true
          }
    return parts.pages.show(workspace, 200, (place) =>
      homePage(place, visitor === undefined ? { signInAt } : { signInAt, visitor }, options.homeOnly !== true)
    )
  })
