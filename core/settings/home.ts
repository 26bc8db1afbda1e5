import { Effect, Option } from "effect"
import { fieldFor } from "../http/csrf.ts"
import type { Handler, Services } from "../http/Route.ts"
import { hidden } from "../pages/Field.ts"
import { breakable, type Html, html } from "../pages/Html.ts"
import { card, type Document, type Place, type Visitor } from "../pages/Layout.ts"
import { basePath } from "../workspace/Workspace.ts"
import type { SettingsOptions } from "./inside.ts"

interface HomePage {
  /** `ResourceOwner.signInAt(workspace, <this page>)` */
  readonly signInAt: string
  /** Absent if the visitor is not signed in. */
  readonly visitor?: Pick<Visitor, "account" | "csrf" | "accountsElsewhere">
}

const signedIn = (place: Place, visitor: NonNullable<HomePage["visitor"]>): Html => {
  const account = html`<p class="aside">Signed in as <bdi class="name">${breakable(visitor.account)}</bdi></p>`
  return visitor.accountsElsewhere === true
    ? account
    : html`<form method="post" action="${place.base}/logout" class="sign-out">
${hidden({ csrf: visitor.csrf })}
${account}
<button class="button small" type="submit">Sign out</button>
</form>`
}

/**
 * RFC 8414 §3.1, RFC 9728 §3.1: the well-known part stands before the issuer's path.
 * `settings`: whether there are settings to link to.
 */
export const homePage = (place: Place, model: HomePage, settings = true): Document => ({
  name: "home",
  title: "Authorization server",
  formsEnd: "here",
  opener: "kept",
  body: card(
    place,
    html`<h1><bdi>${place.name}</bdi></h1>
<p class="prose">This is the authorization server of <bdi>${place.name}</bdi>. Applications send you here to ask whether they may use your account${settings && ", and here you can see what you allowed and revoke it"}.</p>
${
  model.visitor === undefined
    ? html`<p class="actions"><a class="button primary wide" href="${model.signInAt}">Sign in</a></p>`
    : html`${settings && html`<p class="actions"><a class="button primary wide" href="${place.base}/settings">Open settings</a></p>`}
${signedIn(place, model.visitor)}`
}
<details class="fold">
<summary>For developers</summary>
<div class="fold-body">
<p>The metadata has everything that a client needs, including the registration endpoint.</p>
<dl class="facts">
<div><dt>Issuer</dt><dd><code>${breakable(place.issuer)}</code></dd></div>
<div><dt>Authorization server metadata</dt><dd><a href="/.well-known/oauth-authorization-server${place.base}"><code>/.well-known/oauth-authorization-server${place.base}</code></a></dd></div>
<div><dt>Protected resource metadata</dt><dd><a href="/.well-known/oauth-protected-resource${place.base}"><code>/.well-known/oauth-protected-resource${place.base}</code></a></dd></div>
</dl>
</div>
</details>`
  )
})

export const homeHandler = (services: Services, options: SettingsOptions): Handler =>
  Effect.fn("settings.home")(function* ({ workspace, request }) {
    const current = yield* services.owner.current(workspace, request)
    const signInAt = services.owner.signInAt(workspace, `${basePath(workspace.issuer)}/`)
    const model = Option.match(current, {
      onNone: () => ({ signInAt }),
      onSome: ({ label, session }) => ({
        signInAt,
        visitor: {
          account: label,
          csrf: fieldFor(services, { workspace }, session),
          accountsElsewhere: options.accountsElsewhere === true
        }
      })
    })
    return services.pages.show(workspace, 200, (place) => homePage(place, model, options.homeOnly !== true))
  })
