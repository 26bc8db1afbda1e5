import { Effect, Option, Redacted } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { collectAll } from "../../core/engine/lists.ts"
import { type AccountRefusal, type Active, normaliseEmail } from "../../core/people/Account.ts"
import { hasAccounts } from "../../core/people/firstOwner.ts"
import { readPlace, removePlace, setPlace } from "../../core/people/places.ts"
import { removeAccount, tellRevoked } from "../../core/people/removal.ts"
import { readUserId } from "../../core/rules/Id.ts"
import { namesIn } from "../../core/rules/Scope.ts"
import { scopesOf } from "../../core/workspace/Workspace.ts"
import { type Administration, administer, by, WorkspaceFlag } from "./administration.ts"
import { type CommandFailed, examples, json, misused, notFound, print, table } from "./output.ts"

/** What came behind the line that was asked for: the next question's answer. */
interface Ahead {
  text: string
}

/** What was typed, without showing it. `undefined`: Ctrl-D. */
const readHidden = (prompt: string, ahead: Ahead): Effect.Effect<string | undefined> =>
  Effect.callback((resume) => {
    const { stdin } = process
    let typed = ""
    const done = (answer: Effect.Effect<string | undefined>, rest: string) => {
      stop()
      ahead.text = rest
      process.stderr.write("\n")
      resume(answer)
    }
    const onData = (chunk: string) => {
      let read = 0
      for (const character of chunk) {
        read += character.length
        const rest = chunk.slice(read)
        if (character === "\r" || character === "\n") return done(Effect.succeed(typed), rest)
        if (character === "\u0003") return done(Effect.interrupt, rest)
        if (character === "\u0004") return done(Effect.succeed(undefined), rest)
        if (character === "\u007f" || character === "\b") typed = [...typed].slice(0, -1).join("")
        else typed += character
      }
    }
    const stop = () => {
      stdin.off("data", onData)
      stdin.setRawMode(false)
      stdin.pause()
    }
    // First: an answer that comes at once is not to be seen on the screen.
    stdin.setRawMode(true)
    process.stderr.write(prompt)
    stdin.setEncoding("utf8")
    stdin.on("data", onData)
    stdin.resume()
    if (ahead.text !== "") onData(ahead.text)
    return Effect.sync(stop)
  })

const readAll: Effect.Effect<string> = Effect.promise(async () => {
  process.stdin.setEncoding("utf8")
  let text = ""
  for await (const chunk of process.stdin) text += chunk
  return text
})

/**
 * Arguments are seen by every user of the machine, so a secret is typed twice at the prompt, or comes from standard
 * input.
 */
const newSecret = Effect.fnUntraced(function* (
  what: string
): Effect.fn.Return<Redacted.Redacted<string>, CommandFailed> {
  if (!process.stdin.isTTY) {
    const given = (yield* readAll).replace(/\r?\n$/, "")
    if (given === "") return yield* misused(`The ${what} is read from standard input, and nothing came.`)
    return Redacted.make(given, { label: what })
  }
  const ahead: Ahead = { text: "" }
  const first = yield* readHidden(`New ${what}: `, ahead)
  const second = first === undefined ? undefined : yield* readHidden(`The same ${what} again: `, ahead)
  if (first === undefined || second === undefined) return yield* misused("Nothing was changed.")
  if (first !== second) return yield* misused(`The two differ. Nothing was changed.`)
  return Redacted.make(first, { label: what })
})

const email = Argument.String("email").pipe(Argument.withDescription("What the person signs in with"))

export const person = Argument.String("person").pipe(
  Argument.withDescription("Their email address, or the id that `user list` tells")
)

const described = (account: Active) => ({
  id: account.id,
  email: account.email,
  name: account.name,
  role: account.role,
  places: account.places ?? []
})

export const findUser = ({ accounts, workspace }: Administration, text: string) =>
  Effect.gen(function* () {
    const [normal, id] = [normaliseEmail(text), readUserId(text)]
    const byEmail = normal === undefined ? undefined : yield* accounts.book.byEmail(workspace.id, normal)
    if (byEmail !== undefined) return byEmail
    const byId = Option.isNone(id) ? undefined : yield* accounts.book.findActive(workspace.id, id.value)
    return byId ?? (yield* notFound("There is no such account."))
  })

/** The grants of people, each that ends told in the audit stream. */
export const grantsFor = ({ note, services }: Administration) =>
  tellRevoked(services, (grant, why) => note({ _tag: "GrantRevoked", grant, why, by }))

/** Tells the audit stream, as pages do, what of an account was refused. */
const noteRefusal =
  ({ note }: Pick<Administration, "note">, change: string, account?: Active) =>
  ({ reason }: AccountRefusal) =>
    note({ _tag: "AccountRefused", change, reason, by, ...(account === undefined ? {} : { account: account.id }) })

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
      administer(function* (administration) {
        const { accounts, note, workspace } = administration
        const role = (yield* hasAccounts(accounts, workspace.id)) ? given.role : "owner"
        const draft = { email: given.email, name: given.name, role, password } as const
        const refused = noteRefusal(administration, "opened")
        const account = yield* Effect.tapErrorTag(accounts.open(workspace.id, draft), "AccountRefusal", refused)
        yield* note({ _tag: "AccountChanged", account: account.id, change: "opened", by, role })
        yield* print(given.json, described(account), [`${account.email} may sign in, as ${account.role}.`])
      })
    )
).pipe(
  Command.withDescription("Let a person sign in; the password is asked for, or read from standard input"),
  examples("tessera user add ada@example.com --name Ada --role owner")
)

const list = Command.make("list", { json }, (given) =>
  administer(function* ({ accounts, workspace }) {
    const all = yield* collectAll((page) => accounts.book.list(workspace.id, page))
    const active = all.filter((account): account is Active => account._tag === "Active")
    yield* print(
      given.json,
      active.map(described),
      table(
        ["EMAIL", "NAME", "ROLE", "ID", "PLACES"],
        active.map((account) => [
          account.email,
          account.name ?? "-",
          account.role,
          account.id,
          account.places?.map(({ id }) => id).join(" ") ?? "-"
        ])
      )
    )
  })
).pipe(Command.withDescription("List who may sign in, and at which places they let applications act"))

const password = Command.make("password", { person, json }, (given) =>
  Effect.flatMap(newSecret("password"), (secret) =>
    administer(function* (administration) {
      const { accounts, note, workspace } = administration
      const account = yield* findUser(administration, given.person)
      const { farewell } = grantsFor(administration)
      const changing = accounts.changePassword(workspace, account.id, secret, farewell)
      yield* Effect.tapErrorTag(changing, "AccountRefusal", noteRefusal(administration, "password", account))
      yield* note({ _tag: "AccountChanged", account: account.id, change: "password", by })
      yield* print(given.json, described(account), [
        `${account.email} has a new password, and is signed out everywhere.`
      ])
    })
  )
).pipe(Command.withDescription("Give a person a new password; it is asked for, or read from standard input"))

const remove = Command.make("remove", { person, json }, (given) =>
  administer(function* (administration) {
    const { accounts, note, workspace } = administration
    const account = yield* findUser(administration, given.person)
    const grants = grantsFor(administration)
    const noted = note({ _tag: "AccountChanged", account: account.id, change: "removed", by })
    const removing = removeAccount(accounts, grants, workspace, account.id, noted)
    const refused = noteRefusal(administration, "removed", account)
    const outcome = yield* Effect.tapErrorTag(removing, "AccountRefusal", refused)
    yield* print(given.json, { ...described(account), removed: true }, [
      outcome === "removed"
        ? `${account.email} is removed: signed out, and everything that they allowed is revoked.`
        : `${account.email} is removed and signed out. A server that runs revokes what they allowed within minutes.`,
      ...(account.role === "owner" ? ["API keys and client secrets that they saw still work: rotate these."] : [])
    ])
  })
).pipe(Command.withDescription("Remove a person, and revoke all that they allowed"))

const place = Argument.String("place").pipe(
  Argument.withDescription("Its id, which tokens tell as `place`: at most 128 characters without a space")
)

const setThere = Command.make(
  "add",
  {
    person,
    place,
    label: Flag.String("label").pipe(
      Flag.withDescription("How people know it; its id where this is left out"),
      Flag.withDefault("")
    ),
    detail: Flag.String("detail").pipe(Flag.withDescription("Tells two of one name apart"), Flag.withDefault("")),
    scope: Flag.String("scope").pipe(
      Flag.withDescription(
        'All that an application can be allowed there, such as "orders:read"; anything where this is left out'
      ),
      Flag.withDefault("")
    ),
    json
  },
  (given) =>
    administer(function* (administration) {
      const { accounts, note, services, workspace } = administration
      const account = yield* findUser(administration, given.person)
      const typed = { id: given.place, label: given.label, detail: given.detail, scopes: namesIn(given.scope) }
      const read = yield* Effect.fromResult(readPlace(typed, scopesOf(services.policy, workspace)))
      const changed = yield* setPlace(accounts, grantsFor(administration), workspace.id, account.id, read)
      yield* note({ _tag: "AccountChanged", account: account.id, change: "place set", place: read.id, by })
      yield* print(given.json, described(changed), [`${account.email} may let applications act at ${read.id}.`])
    })
).pipe(
  Command.withDescription("Give a person a place, or say anew how it is called and what it takes"),
  examples('tessera user place add ada@example.com acme --label "Acme" --scope "api profile"')
)

const removeThere = Command.make("remove", { person, place, json }, (given) =>
  administer(function* (administration) {
    const { accounts, note, workspace } = administration
    const account = yield* findUser(administration, given.person)
    const noted = note({
      _tag: "AccountChanged",
      account: account.id,
      change: "place removed",
      place: given.place,
      by
    })
    const grants = grantsFor(administration)
    const outcome = yield* removePlace(accounts, grants, workspace.id, account.id, given.place, noted)
    if (outcome === "unknown") return yield* notFound("The person does not have this place.")
    yield* print(given.json, { account: account.id, place: given.place, removed: true }, [
      outcome === "removed"
        ? `${account.email} has left ${given.place}, and what applications were allowed there has ended.`
        : `${account.email} has left ${given.place}. A server that runs ends what applications were allowed there within minutes.`
    ])
  })
).pipe(Command.withDescription("Take a place from a person, and end what applications were allowed there"))

const places = Command.make("place").pipe(
  Command.withDescription("Say at which places people let applications act: with several, they are asked at which"),
  Command.withSubcommands([setThere, removeThere])
)

export const user = Command.make("user").pipe(
  Command.withDescription("Look after the people who may sign in"),
  Command.withSubcommands([add, list, password, remove, places]),
  Command.withGlobalFlags([WorkspaceFlag])
)
