import { Effect, Redacted } from "effect"
import { noteOf } from "../http/audit.ts"
import type { Parameters } from "../http/form.ts"
import type { HttpResponse } from "../http/Http.ts"
import type { Handler, Services } from "../http/Route.ts"
import { field, hidden } from "../pages/Field.ts"
import { html } from "../pages/Html.ts"
import { type Document, type Place, problemLine, type Visitor } from "../pages/Layout.ts"
import { AccountRefusal, passwordBytes, personNameLength } from "../people/Account.ts"
import type { Accounts } from "../people/Accounts.ts"
import { problemOf } from "../people/accountProblems.ts"
import { enterAt } from "../people/Cookie.ts"
import { farewellBy } from "../people/endSessions.ts"
import { signedInAnew } from "../people/welcome.ts"
import { ForgedForm } from "../rules/Refusal.ts"
import {
  backTo,
  doneUrl,
  type Inside as InsideOf,
  insideForm,
  insidePage,
  type Section,
  type SignedInAccount,
  type Visitors
} from "./inside.ts"
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
    lead: html`Applications see this if you allow them to read your profile.`,
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
  hint: "You use it to sign in. It cannot be changed here."
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

const section = {
  name: "profile",
  notices: {
    profile: { kind: "done", text: "Your name is saved." },
    password: { kind: "done", text: "Your password is changed, and you are signed out everywhere else." }
  }
} as const satisfies Section

type Inside = InsideOf<SignedInAccount>

const draw = (
  services: Services,
  accounts: Accounts["Service"],
  { call, signedIn: { account }, visitor }: Inside,
  status: number,
  model: Partial<ProfilePage>
): HttpResponse => {
  const profile = {
    ...(account.name === null ? {} : { name: account.name }),
    email: account.email,
    passwordLength: accounts.policy.passwordLength,
    ...model
  }
  return services.pages.show(call.workspace, status, (place) => profilePage(place, visitor, profile))
}

export const profileHandler = (
  services: Services,
  accounts: Accounts["Service"],
  visitors: Visitors<SignedInAccount>
): Handler =>
  insidePage(services, visitors, section, (inside) => Effect.sync(() => draw(services, accounts, inside, 200, {})))

const rename = Effect.fn("settings.rename")(function* (
  services: Services,
  accounts: Accounts["Service"],
  { call, signedIn }: Inside,
  form: Parameters
) {
  const { id } = signedIn.account
  yield* accounts.rename(call.workspace.id, id, form.get("name") ?? "")
  yield* noteOf(services, call, { _tag: "AccountChanged", account: id, change: "name", by: id })
  return backTo(call, section, "profile")
})

const changePassword = Effect.fn("settings.changePassword")(function* (
  services: Services,
  accounts: Accounts["Service"],
  { call, signedIn: { account, session } }: Inside,
  form: Parameters
) {
  const typed = Redacted.make(form.get("current_password") ?? "", { label: "password" })
  const known = yield* accounts.confirm(call.workspace.id, account, typed, `session ${session}`, call.now)
  if (!known) return yield* new AccountRefusal({ reason: "wrong_password" })
  const fresh = Redacted.make(form.get("new_password") ?? "", { label: "password" })
  const changed = yield* accounts.changePassword(
    call.workspace,
    account.id,
    fresh,
    farewellBy(services, call, account.id),
    account.epoch
  )
  yield* noteOf(services, call, { _tag: "AccountChanged", account: account.id, change: "password", by: account.id })
  const next = doneUrl(call, section, "password")
  return yield* signedInAnew(services, accounts, call, changed, next, (secret) =>
    Effect.succeed(enterAt(call.workspace, secret, accounts.policy.sessionTtl, next))
  )
})

const problems = (refusal: AccountRefusal, passwordLength: number): NonNullable<ProfilePage["problems"]> => {
  const { field, text } = problemOf(refusal, passwordLength)
  if (refusal.reason === "wrong_password") return { currentPassword: text }
  return field === "password" ? { newPassword: text } : field === "name" ? { name: text } : { form: text }
}

/** By the `action` of the form: the change, its word in the audit stream, and what the form shows again. */
const changes = {
  profile: { make: rename, audited: "name", again: (form: Parameters) => ({ name: form.get("name") ?? "" }) },
  password: { make: changePassword, audited: "password", again: () => ({}) }
} as const

export const changeProfileHandler = (
  services: Services,
  accounts: Accounts["Service"],
  visitors: Visitors<SignedInAccount>
): Handler =>
  insideForm(
    services,
    visitors,
    section,
    Effect.fnUntraced(function* (inside, form) {
      const action = form.get("action")
      if (action !== "profile" && action !== "password") return yield* new ForgedForm({ reason: "field_missing" })
      const { again, audited: change, make } = changes[action]
      return yield* make(services, accounts, inside, form).pipe(
        Effect.catchTag(
          "AccountRefusal",
          Effect.fnUntraced(function* (refusal) {
            const { id } = inside.signedIn.account
            const { reason } = refusal
            yield* noteOf(services, inside.call, { _tag: "AccountRefused", change, reason, account: id, by: id })
            const wrong = problems(refusal, accounts.policy.passwordLength)
            return draw(services, accounts, inside, 400, { problems: wrong, ...again(form) })
          })
        )
      )
    })
  )
