import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { Active } from "../../core/accounts/Account.ts"
import { normaliseEmail } from "../../core/accounts/Email.ts"
import { hasAccounts } from "../../core/accounts/firstOwner.ts"
import { removeAccount, tellRevoked } from "../../core/accounts/removal.ts"
import { wholeList } from "../../core/server/wholeList.ts"
import { type Administration, administer, by } from "./administration.ts"
import { notFound } from "./Outcome.ts"
import { json, print, table } from "./output.ts"
import { newSecret } from "./secretInput.ts"

const email = Argument.String("email").pipe(Argument.withDescription("What the person signs in with"))

const described = (account: Active) => ({
  id: account.id,
  email: account.email,
  name: account.name,
  role: account.role
})

const find = ({ accounts, workspace }: Administration, text: string) =>
  Effect.gen(function* () {
    const normal = normaliseEmail(text)
    const account = Option.isNone(normal) ? undefined : yield* accounts.book.byEmail(workspace.id, normal.value)
    return account ?? (yield* notFound("There is no such account."))
  })

const add = Command.make(
  "add",
  {
    email,
    name: Flag.String("name").pipe(Flag.withDescription("How the person is called"), Flag.withDefault("")),
    role: Flag.Literals("role", ["owner", "member"]).pipe(
      Flag.withDescription("Owners manage clients, keys and members; the first account always does"),
      Flag.withDefault("member")
    ),
    json
  },
  (given) =>
    Effect.flatMap(newSecret("password"), (password) =>
      administer(({ accounts, note, workspace }) =>
        Effect.gen(function* () {
          const role = (yield* hasAccounts(accounts, workspace.id)) ? given.role : "owner"
          const draft = { email: given.email, name: given.name, role, password } as const
          const account = yield* accounts.open(workspace.id, draft)
          yield* note({ _tag: "AccountChanged", account: account.id, change: "opened", by, role })
          yield* print(given.json, described(account), [`${account.email} may sign in, as ${account.role}.`])
        })
      )
    )
).pipe(
  Command.withDescription("Let somebody sign in; the password is asked for, or read from standard input"),
  Command.withExamples([{ command: "tessera user add ada@example.com --name Ada --role owner" }])
)

const list = Command.make("list", { json }, (given) =>
  administer(({ accounts, workspace }) =>
    Effect.gen(function* () {
      const all = yield* wholeList((page) => accounts.book.list(workspace.id, page))
      const active = all.filter((account): account is Active => account._tag === "Active")
      yield* print(
        given.json,
        active.map(described),
        table(
          ["EMAIL", "NAME", "ROLE", "ID"],
          active.map((account) => [account.email, account.name ?? "-", account.role, account.id])
        )
      )
    })
  )
).pipe(Command.withDescription("List who may sign in"))

const password = Command.make("password", { email, json }, (given) =>
  Effect.flatMap(newSecret("password"), (secret) =>
    administer((administration) =>
      Effect.gen(function* () {
        const { accounts, note, workspace } = administration
        const account = yield* find(administration, given.email)
        yield* accounts.changePassword(workspace.id, account.id, secret)
        yield* note({ _tag: "AccountChanged", account: account.id, change: "password", by })
        yield* print(given.json, described(account), [
          `${account.email} has a new password, and is signed out everywhere.`
        ])
      })
    )
  )
).pipe(Command.withDescription("Give somebody a new password; it is asked for, or read from standard input"))

const remove = Command.make("remove", { email, json }, (given) =>
  administer((administration) =>
    Effect.gen(function* () {
      const { accounts, note, parts, workspace } = administration
      const account = yield* find(administration, given.email)
      const grants = tellRevoked(parts.grants, (grant, why) => note({ _tag: "GrantRevoked", grant, why, by }))
      const noted = note({ _tag: "AccountChanged", account: account.id, change: "removed", by })
      const outcome = yield* removeAccount(accounts, grants, workspace.id, account.id, noted)
      yield* print(given.json, { ...described(account), removed: true }, [
        outcome === "removed"
          ? `${account.email} is removed: signed out, and everything that they allowed is revoked.`
          : `${account.email} is removed and signed out. A server that runs revokes what they allowed within minutes.`
      ])
    })
  )
).pipe(Command.withDescription("Remove somebody, and revoke all that they allowed"))

export const user = Command.make("user").pipe(
  Command.withDescription("Look after the people who may sign in"),
  Command.withSubcommands([add, list, password, remove])
)
