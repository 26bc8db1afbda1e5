import { passwordBytes, personNameLength } from "../../rules/AccountLengths.ts"
import type { Document } from "../Document.ts"
import { field, hidden } from "../Field.ts"
import { html } from "../Html.ts"
import { problemLine } from "../Notice.ts"
import type { Place } from "../Place.ts"
import type { Visitor } from "../Visitor.ts"
import { sectionPath, settingsDocument } from "./SettingsLayout.ts"

/**
 * Its forms post to `{base}/settings/profile` with `csrf` and `action`:
 * `profile` (`name`), `password` (`current_password`, `new_password`).
 */
export interface ProfilePage {
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
