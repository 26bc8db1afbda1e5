import { Effect, Option } from "effect"
import { fieldFor } from "../http/csrf.ts"
import type { Handler, Services } from "../http/Route.ts"
import { hidden } from "../pages/Field.ts"
import { breakable, type Html, html } from "../pages/Html.ts"
import { card, type Document, type Place, type Visitor } from "../pages/Layout.ts"
import { rootOf } from "../workspace/SessionPath.ts"
import { basePath } from "../workspace/Workspace.ts"
import type { SettingsOptions } from "./inside.ts"

interface HomePage {
  /** `ResourceOwner.signInAt(workspace, <this page>)` */
  readonly signInAt: string
  /** Absent if the visitor is not signed in. */
  readonly visitor?: Pick<Visitor, "account" | "csrf">
  readonly accountsElsewhere?: boolean
}

const signedIn = (place: Place, visitor: NonNullable<HomePage["visitor"]>, accountsElsewhere: boolean): Html => {
  const account = html`<p class="aside">Signed in as <bdi class="name">${breakable(visitor.account)}</bdi></p>`
  return accountsElsewhere
    ? account
    : html`<form method="post" action="${place.base}/logout" class="sign-out">
${hidden({ csrf: visitor.csrf })}
${account}
<button class="button small" type="submit">Sign out</button>
</form>`
}

const sessionOf = (place: Place, { accountsElsewhere, visitor }: HomePage): Pick<Document, "session"> => {
  if (accountsElsewhere === true) return {}
  return { session: visitor === undefined ? { sought: `${rootOf(place)}/`, left: place.sessionPath } : "kept" }
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
  ...sessionOf(place, model),
  body: card(
    place,
    html`<h1><bdi>${place.name}</bdi></h1>
<p class="prose">This is the authorization server of <bdi>${place.name}</bdi>. Applications send you here to ask whether they may use your account${settings && ", and here you can see what you allowed and revoke it"}.</p>
${
  model.visitor === undefined
    ? html`<p class="actions"><a class="button primary wide" href="${model.signInAt}">Sign in</a></p>`
    : html`${settings && html`<p class="actions"><a class="button primary wide" href="${place.base}/settings">Open settings</a></p>`}
${signedIn(place, model.visitor, model.accountsElsewhere === true)}`
}
<details class="fold">
<summary>For developers</summary>
<div class="fold-body">
<p>The metadata has everything that a client needs, including the registration endpoint.</p>
<dl class="facts">
<div><dt>Issuer</dt><dd><code>${breakable(place.issuer)}</code></dd></div>
<div><dt>Authorization server metadata</dt><dd><a href="/.well-known/oauth-authorization-server${rootOf(place)}"><code>/.well-known/oauth-authorization-server${rootOf(place)}</code></a></dd></div>
<div><dt>Protected resource metadata</dt><dd><a href="/.well-known/oauth-protected-resource${rootOf(place)}"><code>/.well-known/oauth-protected-resource${rootOf(place)}</code></a></dd></div>
</dl>
</div>
</details>`
  )
})

export const homeHandler = (services: Services, options: SettingsOptions): Handler =>
  Effect.fn("settings.home")(function* ({ workspace, request }) {
    const current = yield* services.owner.current(workspace, request)
    const signInAt = services.owner.signInAt(workspace, `${basePath(workspace.issuer)}/`)
    const accountsElsewhere = options.accountsElsewhere === true
    const model = Option.match(current, {
      onNone: () => ({ signInAt, accountsElsewhere }),
      onSome: ({ label, session }) => ({
        signInAt,
        accountsElsewhere,
        visitor: { account: label, csrf: fieldFor(services, { workspace }, session) }
      })
    })
    return services.pages.show(workspace, 200, (place) => homePage(place, model, options.homeOnly !== true))
  })
