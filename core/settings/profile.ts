import { Effect, Redacted } from "effect"
import { seeOther } from "../http/answer.ts"
import { noteOf } from "../http/audit.ts"
import { type Parameters, readParameters } from "../http/form.ts"
import type { HttpResponse } from "../http/Http.ts"
import type { Handler, Parts } from "../http/Route.ts"
import { field, hidden } from "../pages/Field.ts"
import { html } from "../pages/Html.ts"
import { type Document, type Place, problemLine, type Visitor } from "../pages/Layout.ts"
import { AccountRefusal, passwordBytes, personNameLength } from "../people/Account.ts"
import type { Accounts } from "../people/Accounts.ts"
import { problemOf } from "../people/browserForm.ts"
import { setSessionCookie } from "../people/Cookie.ts"
import { signedInAnew } from "../people/welcome.ts"
import { ForgedForm } from "../rules/Refusal.ts"
import { basePath } from "../workspace/Workspace.ts"
import { type Inside, insideForm, insidePage, visitorOf } from "./insideAccounts.ts"
import { sectionPath, settingsDocument } from "./SettingsLayout.ts"

/**
 * Its forms post to `{base}/settings/profile` with `csrf` and `action`:
 * `profile` (`name`), `password` (`current_password`, `new_password`).
 */
interface ProfilePage {
  readonly name?: string
  readonly email: string
  /** The shortest password that is accepted. */
  readonly passwordLength: number
  readonly problems?: {
    readonly name?: string
    readonly currentPassword?: string
    readonly newPassword?: string
    readonly form?: string
  }
}

const firstProblem = (problems: ProfilePage["problems"]) =>
  (["name", "currentPassword", "newPassword"] as const).find((field) => problems?.[field] !== undefined)

export const profilePage = (place: Place, visitor: Visitor, model: ProfilePage): Document => {
  const path = sectionPath(place, "profile")
  const wrong = firstProblem(model.problems)
  return settingsDocument(place, visitor, {
    section: "profile",
    title: "Profile",
    came: model.problems === undefined ? undefined : "problem",
    lead: html`What applications see of you when you allow them to read your profile.`,
    main: html`${model.problems?.form !== undefined && problemLine(model.problems.form)}
<section aria-labelledby="you">
<h2 id="you">You</h2>
<form method="post" action="${path}" class="panel padded">
${hidden({ csrf: visitor.csrf, action: "profile" })}
${field({ label: "Name", name: "name", type: "text", autocomplete: "name", value: model.name, problem: model.problems?.name, autofocus: wrong === "name", maxlength: personNameLength })}
${field({
  label: "Email",
  name: "email",
  type: "email",
  autocomplete: "email",
  value: model.email,
  readonly: true,
  hint: "You sign in with it. It can't be changed here."
})}
<div class="form-actions"><button class="button primary" type="submit">Save</button></div>
</form>
</section>
<section aria-labelledby="password">
<h2 id="password">Password</h2>
<form method="post" action="${path}" class="panel padded">
${hidden({ csrf: visitor.csrf, action: "password" })}
<input type="text" value="${model.email}" autocomplete="username" aria-label="Username" readonly hidden>
${field({
  label: "Current password",
  name: "current_password",
  type: "password",
  autocomplete: "current-password",
  problem: model.problems?.currentPassword,
  autofocus: wrong === "currentPassword",
  maxlength: passwordBytes
})}
${field({
  label: "New password",
  name: "new_password",
  type: "password",
  autocomplete: "new-password",
  problem: model.problems?.newPassword,
  autofocus: wrong === "newPassword",
  hint: `At least ${model.passwordLength} characters. You are signed out everywhere else.`,
  minlength: model.passwordLength,
  maxlength: passwordBytes
})}
<div class="form-actions"><button class="button primary" type="submit">Change password</button></div>
</form>
</section>`
  })
}

/** What the form before did; anything else in the address says nothing. */
const done: ReadonlyMap<string, string> = new Map([
  ["profile", "Saved."],
  ["password", "Your password is changed, and you are signed out everywhere else."]
])

const draw = (
  parts: Parts,
  accounts: Accounts["Service"],
  inside: Inside,
  status: number,
  model: Partial<ProfilePage>
): HttpResponse => {
  const { call } = inside
  const { account } = inside.here
  const text = done.get(readParameters(call.request.query).parameters.get("done") ?? "")
  const notice = text === undefined || call.request.method === "POST" ? undefined : ({ kind: "done", text } as const)
  const visitor = visitorOf(inside, notice)
  const profile = {
    ...(account.name === null ? {} : { name: account.name }),
    email: account.email,
    passwordLength: accounts.policy.passwordLength,
    ...model
  }
  return parts.pages.show(call.workspace, status, (place) => profilePage(place, visitor, profile))
}

export const profileHandler = (parts: Parts, accounts: Accounts["Service"]): Handler =>
  insidePage(parts, accounts, "anybody", (inside) => Effect.sync(() => draw(parts, accounts, inside, 200, {})))

const doneAt = ({ call }: Inside, what: "profile" | "password") =>
  `${basePath(call.workspace.issuer)}/settings/profile?done=${what}`

const rename = Effect.fnUntraced(function* (
  parts: Parts,
  accounts: Accounts["Service"],
  inside: Inside,
  form: Parameters
) {
  const { call, here } = inside
  yield* accounts.rename(call.workspace.id, here.account.id, form.get("name") ?? "")
  yield* noteOf(parts, call, { _tag: "AccountChanged", account: here.account.id, change: "name", by: here.account.id })
  return seeOther(doneAt(inside, "profile"))
})

const changePassword = Effect.fnUntraced(function* (
  parts: Parts,
  accounts: Accounts["Service"],
  inside: Inside,
  form: Parameters
) {
  const { call, here } = inside
  const { account, session } = here
  const typed = Redacted.make(form.get("current_password") ?? "", { label: "password" })
  const device = `session ${session.id}`
  const known = yield* accounts.confirm(call.workspace.id, account, typed, device, call.now)
  if (!known) return yield* new AccountRefusal({ reason: "wrong_password" })
  const fresh = Redacted.make(form.get("new_password") ?? "", { label: "password" })
  const changed = yield* accounts.changePassword(call.workspace.id, account.id, fresh, account.epoch)
  yield* noteOf(parts, call, { _tag: "AccountChanged", account: account.id, change: "password", by: account.id })
  const goOn = doneAt(inside, "password")
  return yield* signedInAnew(parts, accounts, call, changed, goOn, (secret) =>
    Effect.succeed(seeOther(goOn, [setSessionCookie(call.workspace, secret, accounts.policy.sessionTtl)]))
  )
})

const problems = (refusal: AccountRefusal, passwordLength: number): NonNullable<ProfilePage["problems"]> => {
  const { field, text } = problemOf(refusal, passwordLength)
  if (refusal.reason === "wrong_password") return { currentPassword: text }
  return field === "password" ? { newPassword: text } : field === "name" ? { name: text } : { form: text }
}

export const profileFormHandler = (parts: Parts, accounts: Accounts["Service"]): Handler =>
  insideForm(
    parts,
    accounts,
    "anybody",
    Effect.fnUntraced(function* (inside, form) {
      const action = form.get("action")
      if (action !== "profile" && action !== "password") return yield* new ForgedForm({ reason: "field_missing" })
      const change = action === "profile" ? rename : changePassword
      const answered = yield* Effect.result(change(parts, accounts, inside, form))
      if (answered._tag === "Success") return answered.success
      if (answered.failure._tag !== "AccountRefusal") return yield* answered.failure
      const { id } = inside.here.account
      yield* noteOf(parts, inside.call, {
        _tag: "AccountRefused",
        change: action === "profile" ? "name" : "password",
        reason: answered.failure.reason,
        account: id,
        by: id
      })
      const model = { problems: problems(answered.failure, accounts.policy.passwordLength) }
      return draw(
        parts,
        accounts,
        inside,
        400,
        action === "profile" ? { ...model, name: form.get("name") ?? "" } : model
      )
    })
  )
