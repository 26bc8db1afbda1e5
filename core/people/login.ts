import { Effect, Option, Redacted } from "effect"
import { knownAs } from "../client/Client.ts"
import { readClientKey } from "../client/ClientIdentifier.ts"
import { takeOfAddress } from "../http/addressLimit.ts"
import { seeOther } from "../http/answer.ts"
import { noteOf, refused } from "../http/audit.ts"
import { readForm, readParameters } from "../http/form.ts"
import type { HttpResponse } from "../http/Http.ts"
import type { Call, Handler, Services } from "../http/Route.ts"
import { lateFormNotice, safeReturnUrl } from "../http/returnUrl.ts"
import { clientName } from "../pages/Consent.ts"
import { field, hidden } from "../pages/Field.ts"
import { breakable, type Html, html } from "../pages/Html.ts"
import { card, type Document, doneNotice, type Notice, notice, type Place, problemLine } from "../pages/Layout.ts"
import { allowances, networkOf } from "../ports/Limiter.ts"
import type { StorageUnavailable } from "../ports/Storage.ts"
import { asksForLogin } from "../request/signInAsked.ts"
import { ForgedForm } from "../rules/Refusal.ts"
import { rootOf } from "../workspace/SessionPath.ts"
import { authorizeAt } from "../workspace/Workspace.ts"
import { emailLength, normaliseEmail, passwordBytes } from "./Account.ts"
import type { Accounts } from "./Accounts.ts"
import { drawForm, isOwnForm } from "./browserForm.ts"
import { browserOf } from "./browserOf.ts"
import { knownDevice } from "./DeviceCookie.ts"
import { loginOf } from "./signIn.ts"
import { welcome } from "./welcome.ts"

/** Posts `email`, `password`, `csrf` and `return_to` to `{base}/login`. */
interface LoginPage {
  readonly csrf: string
  /** The path that the browser goes to after sign-in, checked by `safeReturnUrl`. */
  readonly returnUrl: string
  /** The email as it was last sent. */
  readonly email?: string
  readonly problem?: string
  /** The reason for the sign-in, such as a form that came after the session had ended. */
  readonly notice?: Notice
  /** The email of the current session, which offers to continue without a new sign-in. */
  readonly signedInAs?: string
  /** Whether a session that the browser remembers may be sought, and the session's path where it was not found. */
  readonly seeks?: { readonly left: string | undefined }
  /** The registered name of the client whose authorization request led here. */
  readonly forClient?: string
}

const goOn = (
  email: string,
  returnUrl: string
): Html => html`${notice(doneNotice(`You are signed in as ${email}. To use another account, sign in below.`))}
<p class="actions"><a class="button wide" href="${returnUrl}"><span>Continue as <bdi>${breakable(email)}</bdi></span></a></p>`

export const loginPage = (place: Place, model: LoginPage): Document => ({
  name: "sign-in",
  title: model.problem === undefined && model.notice?.kind !== "problem" ? "Sign in" : "Problem: Sign in",
  // After sign-in, the authorization endpoint may redirect to the client at once.
  formsEnd: "anywhere",
  opener: "kept",
  ...(model.seeks === undefined ? {} : { session: { sought: model.returnUrl, left: model.seeks.left } }),
  body: card(
    place,
    html`<h1>Sign in</h1>
${
  model.forClient === undefined
    ? html`<p class="lead">to <bdi>${place.name}</bdi></p>`
    : html`<p class="lead">to <bdi>${place.name}</bdi>, to continue to <bdi class="name">${clientName(model.forClient)}</bdi></p>`
}
${model.notice !== undefined && notice(model.notice)}
${model.problem !== undefined && problemLine(model.problem)}
${model.signedInAs !== undefined && goOn(model.signedInAs, place.base + model.returnUrl.slice(rootOf(place).length))}
<form method="post" action="${place.base}/login">
${hidden({ csrf: model.csrf, return_to: model.returnUrl })}
${field({ label: "Email", name: "email", type: "email", autocomplete: "username", value: model.email, autofocus: model.email === undefined, maxlength: emailLength })}
${field({ label: "Password", name: "password", type: "password", autocomplete: "current-password", autofocus: model.email !== undefined, maxlength: passwordBytes })}
<button class="button primary wide" type="submit">Sign in</button>
</form>
<p class="aside">No account yet, or forgot your password? An owner of <bdi>${place.name}</bdi> can help.</p>`
  )
})

/** Split at the first question mark only: a URL among the parameters may have another. */
const partsOf = (address: string) => {
  const [path, ...queries] = address.split("?")
  return { path, query: queries.join("?") }
}

/** The name of the client whose authorization request the return URL is, if it is one. */
const clientNameOf = Effect.fnUntraced(function* (
  services: Services,
  call: Call,
  returnUrl: string
): Effect.fn.Return<string | undefined, StorageUnavailable> {
  const { path, query } = partsOf(returnUrl)
  if (path !== authorizeAt(call.workspace)) return undefined
  const id = readClientKey(readParameters(query).parameters.get("client_id"))
  const client = Option.isSome(id) ? yield* services.clients.find(call.workspace.id, id.value) : undefined
  return client && knownAs(client)
})

const draw = Effect.fnUntraced(function* (
  services: Services,
  call: Call,
  status: number,
  model: Omit<LoginPage, "csrf" | "forClient">
): Effect.fn.Return<HttpResponse, StorageUnavailable> {
  const { csrf, headers } = drawForm(services, call)
  const forClient = yield* clientNameOf(services, call, model.returnUrl)
  const whole = { ...model, csrf, ...(forClient === undefined ? {} : { forClient }) }
  return services.pages.show(call.workspace, status, (place) => loginPage(place, whole), headers)
})

/** Also for a signed-in person: "Not you?" on the consent page leads here. */
export const loginPageHandler = (services: Services, accounts: Accounts["Service"]): Handler =>
  Effect.fn("people.loginPage")(function* (call) {
    const { parameters } = readParameters(call.request.query)
    const returnUrl = safeReturnUrl(call.workspace, parameters.get("return_to"))
    // Any stranger may write a link: nothing is filled in but what is an email.
    const hinted = normaliseEmail(parameters.get("login_hint") ?? "")
    const filled = hinted === undefined ? {} : { email: hinted }
    const here = yield* accounts.here(call.workspace, call.request)
    if (here !== undefined) {
      const { email } = here.account
      const told = asksForLogin(returnUrl) ? { email, notice: onceMore } : { ...filled, signedInAs: email }
      return yield* draw(services, call, 200, { returnUrl, ...told })
    }
    // Only an address without a session's path seeks another one.
    if (call.workspace.sessionPath !== undefined) {
      const hints = hinted === undefined ? {} : { loginHint: hinted }
      return seeOther(services.owner.signInAt(call.workspace, returnUrl, undefined, hints))
    }
    const notice = lateFormNotice(partsOf(returnUrl).query)
    const seeks = { left: parameters.get("left") }
    return yield* draw(services, call, 200, {
      returnUrl,
      seeks,
      ...filled,
      ...(notice === undefined ? {} : { notice })
    })
  })

/** "Continue as" would lead back here, or to an error. */
const onceMore: Notice = doneNotice("The application asks you to sign in once more.")

const outdated = "This page was open for too long, or your browser does not keep cookies. Please sign in again."
const overtaken = "This form is out of date because you signed in in another tab."

/** The same words for both, so that the page does not tell which emails have an account. */
const wrong = "The email or the password is not right."

/** A form that was not drawn for this browser: nothing is tried, and the person may send it again, or goes on signed in. */
const forgedLogin = Effect.fnUntraced(function* (
  services: Services,
  accounts: Accounts["Service"],
  call: Call,
  model: Pick<LoginPage, "returnUrl" | "email">
) {
  yield* refused(services.audit, call, new ForgedForm({ reason: "csrf" }))
  const here = yield* accounts.here(call.workspace, call.request)
  const seeks = call.workspace.sessionPath === undefined ? { seeks: { left: undefined } } : {}
  const told =
    here === undefined
      ? { problem: outdated, ...seeks }
      : { problem: overtaken, ...(asksForLogin(model.returnUrl) ? {} : { signedInAs: here.account.email }) }
  return yield* draw(services, call, 403, { ...model, ...told })
})

export const loginFormHandler = (services: Services, accounts: Accounts["Service"]): Handler =>
  Effect.fn("people.loginForm")(function* (call) {
    const { request, workspace, now } = call
    const form = yield* Effect.fromResult(readForm(request))
    const email = form.get("email") ?? ""
    const password = form.get("password") ?? ""
    const returnUrl = safeReturnUrl(workspace, form.get("return_to"))
    const again = { returnUrl, ...(email === "" ? {} : { email }) }
    if (!isOwnForm(services, call, form)) return yield* forgedLogin(services, accounts, call, again)
    if (email === "" || password === "") {
      return yield* draw(services, call, 400, { ...again, problem: "Enter your email and your password." })
    }
    const login = loginOf(email)
    const device = knownDevice(services.keys.current(), workspace, request, login, now)
    // A browser that has been here needs nothing of its network's share: others there may have spent it on purpose.
    yield* device === undefined
      ? takeOfAddress(services.limiter, call, allowances.signIn)
      : services.limiter.take({ allowance: allowances.account, workspace: workspace.id, of: login })
    const outcome = yield* accounts.signIn(
      workspace.id,
      {
        email,
        password: Redacted.make(password, { label: "password" }),
        network: networkOf(request.peer ?? ""),
        browser: browserOf(request.headers.get("user-agent")),
        device
      },
      now
    )
    if (outcome._tag === "SignedIn") return yield* welcome(services, accounts, call, outcome, returnUrl)
    const { _tag, ...failing } = outcome
    yield* noteOf(services, call, { _tag: "SignInFailed", ...failing })
    return yield* draw(services, call, 403, { ...again, problem: wrong })
  })
