import { Effect, Redacted } from "effect"
import { seeOther } from "../http/answer.ts"
import type { Endpoint } from "../http/Call.ts"
import { type Parameters, readParameters } from "../http/form.ts"
import type { HttpResponse } from "../http/Http.ts"
import { noteOf } from "../http/occasion.ts"
import type { Parts } from "../http/Parts.ts"
import { type ProfilePage, profilePage } from "../pages/settings/Profile.ts"
import { ForgedForm } from "../rules/Refusal.ts"
import { basePath } from "../workspace/Workspace.ts"
import { AccountRefusal } from "./AccountRefusal.ts"
import type { Accounts } from "./Accounts.ts"
import { type Inside, insideForm, insidePage, visitorOf } from "./inside.ts"
import { problemOf } from "./problems.ts"
import { setSessionCookie } from "./sessionCookie.ts"
import { signedInAnew } from "./signedInAnew.ts"

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

export const profileEndpoint = (parts: Parts, accounts: Accounts["Service"]): Endpoint =>
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

export const profileFormEndpoint = (parts: Parts, accounts: Accounts["Service"]): Endpoint =>
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
