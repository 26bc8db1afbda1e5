import { Effect, Redacted } from "effect"
import { takeOfAddress } from "../http/addressLimit.ts"
import { noteOf, refused } from "../http/audit.ts"
import { readForm, readParameters } from "../http/form.ts"
import type { HttpResponse } from "../http/Http.ts"
import type { Call, Handler, Parts } from "../http/Route.ts"
import { lateFormNotice, safeReturnUrl } from "../http/returnUrl.ts"
import { clientName } from "../pages/Consent.ts"
import { field, hidden } from "../pages/Field.ts"
import { breakable, type Html, html } from "../pages/Html.ts"
import { card, type Document, type Notice, notice, type Place, problemLine } from "../pages/Layout.ts"
import { allowances, networkOf } from "../ports/Limiter.ts"
import type { StorageUnavailable } from "../ports/Storage.ts"
import { readClientId } from "../rules/Id.ts"
import { ForgedForm } from "../rules/Refusal.ts"
import { authorizeAt } from "../workspace/Workspace.ts"
import { emailLength, passwordBytes } from "./Account.ts"
import type { Accounts } from "./Accounts.ts"
import { drawForm, isOwnForm } from "./browserForm.ts"
import { knownDevice } from "./Device.ts"
import { welcome } from "./welcome.ts"

/** Posts `email`, `password`, `csrf` and `return_to` to `{base}/login`. */
interface LoginPage {
  readonly csrf: string
  /** Where the browser goes afterwards: a path of this server that the endpoint has checked. */
  readonly returnTo: string
  /** What was typed the last time. */
  readonly email?: string
  /** The same words for an unknown email and a wrong password. */
  readonly problem?: string
  /** What led here: "You are signed out.", "Please sign in again." */
  readonly notice?: Notice
  /** The email of who is signed in already, and may go on without doing so again. */
  readonly signedInAs?: string
  /** Whom the person signs in for: the application's name as registered, where they came from its authorization request. */
  readonly forClient?: string
}

const goOn = (
  email: string,
  returnTo: string
): Html => html`${notice({ kind: "done", text: `You are signed in as ${email}. Sign in below to change to another account.` })}
<p class="actions"><a class="button wide" href="${returnTo}"><span>Continue as <bdi>${breakable(email)}</bdi></span></a></p>`

export const loginPage = (place: Place, model: LoginPage): Document => ({
  title: model.problem === undefined ? "Sign in" : "Problem: Sign in",
  // After sign-in, authorize may go on to the client at once.
  formsEnd: "anywhere",
  opener: "kept",
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
${model.signedInAs !== undefined && goOn(model.signedInAs, model.returnTo)}
<form method="post" action="${place.base}/login">
${hidden({ csrf: model.csrf, return_to: model.returnTo })}
${field({ label: "Email", name: "email", type: "email", autocomplete: "username", value: model.email, autofocus: model.email === undefined, maxlength: emailLength })}
${field({ label: "Password", name: "password", type: "password", autocomplete: "current-password", autofocus: model.email !== undefined, maxlength: passwordBytes })}
<button class="button primary wide" type="submit">Sign in</button>
</form>
<p class="aside">No account yet, or forgot your password? An owner of <bdi>${place.name}</bdi> can help.</p>`
  )
})

/** Parted at the first question mark alone: an address among the parameters may have one of its own. */
const partsOf = (address: string) => {
  const [path, ...queries] = address.split("?")
  return { path, query: queries.join("?") }
}

/** The name of the application that sent the person here, where its request is what they go on to. */
const sentBy = Effect.fnUntraced(function* (
  parts: Parts,
  call: Call,
  returnTo: string
): Effect.fn.Return<string | undefined, StorageUnavailable> {
  const { path, query } = partsOf(returnTo)
  if (path !== authorizeAt(call.workspace)) return undefined
  const id = readClientId(readParameters(query).parameters.get("client_id"))
  const client = id._tag === "Some" ? yield* parts.clients.find(call.workspace.id, id.value) : undefined
  return client?.about.client_name
})

const draw = Effect.fnUntraced(function* (
  parts: Parts,
  call: Call,
  status: number,
  model: Omit<LoginPage, "csrf" | "forClient">
): Effect.fn.Return<HttpResponse, StorageUnavailable> {
  const { csrf, headers } = drawForm(parts, call)
  const forClient = yield* sentBy(parts, call, model.returnTo)
  const whole = { ...model, csrf, ...(forClient === undefined ? {} : { forClient }) }
  return parts.pages.show(call.workspace, status, (place) => loginPage(place, whole), headers)
})

/** Also for who is signed in already: "not you?" leads here. */
export const loginFormHandler = (parts: Parts, accounts: Accounts["Service"]): Handler =>
  Effect.fnUntraced(function* (call) {
    const asked = readParameters(call.request.query).parameters.get("return_to")
    const here = yield* accounts.here(call.workspace, call.request)
    const returnTo = safeReturnUrl(call.workspace, asked)
    if (here._tag === "None") {
      const notice = lateFormNotice(partsOf(returnTo).query)
      return yield* draw(parts, call, 200, { returnTo, ...(notice === undefined ? {} : { notice }) })
    }
    return yield* draw(parts, call, 200, { returnTo, signedInAs: here.value.account.email })
  })

const outdated = "This page was open for too long, or your browser keeps no cookies. Please sign in again."
const overtaken = "This form is out of date: you signed in in another tab."

/** The same words, whichever of the two was wrong. */
const wrong = "The email or the password is not right."

export const loginHandler = (parts: Parts, accounts: Accounts["Service"]): Handler =>
  Effect.fnUntraced(function* (call) {
    const form = yield* Effect.fromResult(readForm(call.request))
    const returnTo = safeReturnUrl(call.workspace, form.get("return_to"))
    const email = form.get("email") ?? ""
    if (!isOwnForm(parts, call, form)) {
      yield* refused(parts.audit, call, new ForgedForm({ reason: "csrf" }))
      const here = yield* accounts.here(call.workspace, call.request)
      return yield* draw(parts, call, 403, {
        returnTo,
        ...(email === "" ? {} : { email }),
        ...(here._tag === "None" ? { problem: outdated } : { problem: overtaken, signedInAs: here.value.account.email })
      })
    }
    const password = form.get("password") ?? ""
    if (email === "" || password === "") {
      const problem = "Enter your email and your password."
      return yield* draw(parts, call, 400, { returnTo, problem, ...(email === "" ? {} : { email }) })
    }
    yield* takeOfAddress(parts.limiter, call, allowances.signIn)
    const { request, workspace, now } = call
    const outcome = yield* accounts.signIn(
      workspace.id,
      {
        email,
        password: Redacted.make(password, { label: "password" }),
        network: request.peer === undefined ? undefined : networkOf(request.peer),
        deviceOf: (login) => knownDevice(parts.keys.current(), workspace, request, login, now)
      },
      now
    )
    if (outcome._tag === "SignedIn") return yield* welcome(parts, accounts, call, outcome, returnTo)
    const { _tag, ...failing } = outcome
    yield* noteOf(parts, call, { _tag: "SignInFailed", ...failing })
    return yield* draw(parts, call, 403, { returnTo, email, problem: wrong })
  })
