import { Effect, Redacted } from "effect"
import { noteOf } from "../http/audit.ts"
import type { Fault } from "../http/Fault.ts"
import type { Parameters } from "../http/form.ts"
import type { HttpResponse } from "../http/Http.ts"
import { type FieldProblem, field, hidden, problemAt } from "../pages/Field.ts"
import { html } from "../pages/Html.ts"
import { type Document, doneNotice, type Place, problemLine, type Visitor } from "../pages/Layout.ts"
import { AccountRefusal, passwordBytes, personNameLength } from "../people/Account.ts"
import { problemOf } from "../people/accountProblems.ts"
import { enterAt } from "../people/Cookie.ts"
import { farewellBy } from "../people/endSessions.ts"
import { signedInAnew } from "../people/welcome.ts"
import {
  backTo,
  doneUrl,
  type Inside as InsideOf,
  type Section,
  type SignedInAccount,
  sectionEndpoint
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
  /** `form`: of no field. */
  readonly problem?: FieldProblem<"name" | "current_password" | "new_password" | "form">
}

export const profilePage = (place: Place, visitor: Visitor, model: ProfilePage): Document => {
  const path = sectionPath(place, "profile")
  const { problem } = model
  return settingsDocument(place, visitor, {
    section: "profile",
    title: "Profile",
    came: problem && "problem",
    lead: html`Applications see this if you allow them to read your profile.`,
    main: html`${problem?.field === "form" && problemLine(problem.text)}
<section aria-labelledby="you">
<h2 id="you">You</h2>
<form method="post" action="${path}" class="panel padded">
${hidden({ csrf: visitor.csrf, action: "profile" })}
${field({ label: "Name", name: "name", autocomplete: "name", value: model.name, problem: problemAt(problem, "name"), maxlength: personNameLength })}
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
  problem: problemAt(problem, "current_password"),
  maxlength: passwordBytes
})}
${field({
  label: "New password",
  name: "new_password",
  type: "password",
  autocomplete: "new-password",
  problem: problemAt(problem, "new_password"),
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
    profile: doneNotice("Your name is saved."),
    password: doneNotice("Your password is changed, and you are signed out everywhere else.")
  }
} as const satisfies Section

type Inside = InsideOf<SignedInAccount>

const draw = (
  { call, services, signedIn: { account, accounts }, visitor }: Inside,
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

const rename = Effect.fn("settings.rename")(function* ({ call, services, signedIn }: Inside, form: Parameters) {
  const { account, accounts } = signedIn
  const { id } = account
  yield* accounts.rename(call.workspace.id, id, form.get("name") ?? "")
  yield* noteOf(services, call, { _tag: "AccountChanged", account: id, change: "name", by: id })
  return backTo(call, section, "profile")
})

const changePassword = Effect.fn("settings.changePassword")(function* (
  { call, services, signedIn: { account, accounts, session } }: Inside,
  form: Parameters
) {
  const typed = Redacted.make(form.get("current_password") ?? "", { label: "password" })
  const known = yield* accounts.confirm(call.workspace.id, account, typed, `session ${session}`, call.now)
  if (!known) return yield* new AccountRefusal({ reason: "wrong_password" })
  const fresh = Redacted.make(form.get("new_password") ?? "", { label: "password" })
  const farewell = farewellBy(services, call, account.id)
  const changed = yield* accounts.changePassword(call.workspace, account.id, fresh, farewell, account.epoch)
  yield* noteOf(services, call, { _tag: "AccountChanged", account: account.id, change: "password", by: account.id })
  const next = doneUrl(call, section, "password")
  return yield* signedInAnew(services, accounts, call, changed, next, (secret) =>
    Effect.succeed(enterAt(call.workspace, secret, accounts.policy.sessionTtl, next))
  )
})

const problemIn = (refusal: AccountRefusal, passwordLength: number): NonNullable<ProfilePage["problem"]> => {
  const { field, text } = problemOf(refusal, passwordLength)
  if (refusal.reason === "wrong_password") return { field: "current_password", text }
  if (field === "password") return { field: "new_password", text }
  return { field: field === "name" ? "name" : "form", text }
}

/** Audits what the person is refused, and draws the page again with what they typed. */
const orRefused =
  (
    change: "name" | "password",
    act: (inside: Inside, form: Parameters) => Effect.Effect<HttpResponse, Fault | AccountRefusal>
  ) =>
  (inside: Inside, form: Parameters) =>
    Effect.catchTag(act(inside, form), "AccountRefusal", (refusal) => {
      const { call, services, signedIn } = inside
      const { account, accounts } = signedIn
      const { id } = account
      const problem = problemIn(refusal, accounts.policy.passwordLength)
      const typed = change === "name" ? { name: form.get("name") ?? "" } : {}
      return Effect.as(
        noteOf(services, call, { _tag: "AccountRefused", change, reason: refusal.reason, account: id, by: id }),
        draw(inside, 400, { problem, ...typed })
      )
    })

export const profileEndpoint = sectionEndpoint<SignedInAccount>(section, {
  show: (inside) => Effect.sync(() => draw(inside, 200, {})),
  others: { profile: orRefused("name", rename), password: orRefused("password", changePassword) }
})
