import { Effect, Option, Redacted, Result } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { note } from "../../core/engine/AuditContext.ts"
import type { Hosting } from "../../core/engine/Hosting.ts"
import { moveWorkspace } from "../../core/engine/Openings.ts"
import { makeSetUpLink } from "../../core/people/firstOwner.ts"
import type { AuditEvent } from "../../core/ports/Audit.ts"
import { readTheme, type Theme } from "../../core/workspace/Theme.ts"
import { Issuer, type Workspace, WorkspaceId } from "../../core/workspace/Workspace.ts"
import { hostingProblem, workspaceOfFile } from "../server/hosting.ts"
import { type Administration, administerAll, by, soon } from "./administration.ts"
import {
  type CommandFailed,
  examples,
  facts,
  json,
  misused,
  notFound,
  print,
  refused,
  table,
  textFlag
} from "./output.ts"

const neverOpened = notFound("No server has opened this workspace yet, so it belongs to no issuer.")

const to = Flag.String("to").pipe(
  Flag.withDescription("The issuer that it has from now on: BASE_URL of its server"),
  Flag.withSchema(Issuer)
)

const whatMovingEnds =
  "What the former issuer sealed opens nothing any more: people allow their applications anew. API keys stay."

const movedCommand = Command.make("moved", { to, json }, (given) =>
  administerAll(function* ({ note, services, workspace }) {
    const from = yield* moveWorkspace(services, workspace.id, given.to)
    if (from === undefined) return yield* neverOpened
    if (from === given.to) {
      return yield* print(given.json, { from, to: given.to }, [`It belongs to ${given.to} already.`])
    }
    yield* note({ _tag: "WorkspaceMoved", from, to: given.to, by })
    yield* print(given.json, { from, to: given.to }, [
      `It belonged to ${from}, and belongs to ${given.to} now.`,
      whatMovingEnds,
      `A server that runs as the former issuer serves it no more within ${services.policy.clientStaleness / 1000} seconds.`
    ])
  })
).pipe(
  Command.withDescription(
    "Say that BASE_URL's workspace has moved to another issuer, whose server is refused until then"
  ),
  examples("tessera workspace moved --to https://auth.example.com")
)

/** The workspaces of the store, where that is where they are kept. */
const hostingOf = ({ hosted, settings }: Administration): Effect.Effect<Hosting, CommandFailed> => {
  if (hosted.hosting !== undefined) return Effect.succeed(hosted.hosting)
  return settings.hosting._tag === "File"
    ? misused(`The workspaces stand in ${settings.hosting.path}: change them there, and servers that run take it over.`)
    : misused(
        "This server has one workspace. Set WORKSPACES=store, for it and for this command, to keep more in the storage."
      )
}

/** The same, to do something to one of them: that of `BASE_URL`, which the list has too, is none. */
const hostingFor = Effect.fnUntraced(function* (
  administration: Administration,
  id: WorkspaceId,
  instead = "the server's variables say what it is"
): Effect.fn.Return<Hosting, CommandFailed> {
  const hosting = yield* hostingOf(administration)
  return id === administration.workspace.id
    ? yield* refused(`${id} is the workspace of BASE_URL: ${instead}.`)
    : hosting
})

const noteIn = ({ services }: Administration, workspace: WorkspaceId, event: AuditEvent) =>
  note(services.audit, { workspace, requestId: by }, event)

/** All that it is configured with, as an entry of a file has it. */
const described = ({ disabled = false, ...workspace }: Workspace) => ({ ...workspace, disabled })

const list = Command.make("list", { json }, (given) =>
  administerAll(function* ({ hosted }) {
    const all: Array<Workspace> = []
    yield* hosted.each((workspace) => Effect.sync(() => void all.push(workspace)))
    yield* print(
      given.json,
      all.map(described),
      table(
        ["ID", "ISSUER", "NAME", "STATE"],
        all.map(({ disabled, id, issuer, name }) => [id, issuer, name, disabled === true ? "disabled" : "enabled"])
      )
    )
  })
).pipe(Command.withDescription("List the workspaces, that of BASE_URL first"))

const id = Argument.String("id").pipe(
  Argument.withDescription("The workspace's id, of letters, digits, - and _"),
  Argument.withSchema(WorkspaceId)
)

const accent = textFlag(
  "accent",
  "The colour of buttons and links on its pages, as #b4451f; tinted where it cannot be read"
)
const logo = textFlag("logo", "The picture beside its name: an https URL, a path of its host, or a data: image")

const from = textFlag(
  "from",
  "A file with all that it is configured with, as an entry of a WORKSPACES file has it, in place of other flags"
)

/** The look with these in it; none where it is the server's. */
const themeWith = (
  before: Theme | undefined,
  given: { readonly accent: Option.Option<string>; readonly logo: Option.Option<string> }
): Effect.Effect<Theme | undefined, CommandFailed> => {
  const own = {
    ...before,
    ...Option.match(given.accent, { onNone: () => ({}), onSome: (accent) => ({ accent }) }),
    ...Option.match(given.logo, { onNone: () => ({}), onSome: (logo) => ({ logo }) })
  }
  if (Object.keys(own).length === 0) return Effect.succeed(undefined)
  const read = readTheme(own)
  return Result.isSuccess(read) ? Effect.succeed(read.success) : misused(`The look is refused: ${read.failure}`)
}

const isName = (name: string): boolean => /^(?!\s*$)[^\p{Cc}]{1,64}$/u.test(name)

const badName = misused("Give a name of at most 64 characters, as people read it.")

/** What the flags say of a workspace. */
interface Given {
  readonly id: WorkspaceId
  readonly issuer: Option.Option<Issuer>
  readonly name: Option.Option<string>
  readonly accent: Option.Option<string>
  readonly logo: Option.Option<string>
}

/** The entry of the file that is named, if one is. */
const entryOf = Effect.fnUntraced(function* (
  { id, ...flags }: Given,
  file: Option.Option<string>
): Effect.fn.Return<Workspace | undefined, CommandFailed> {
  if (Option.isNone(file)) return undefined
  if (Object.values(flags).some(Option.isSome)) {
    return yield* misused("With --from, the file says all that there is to say: leave the other flags out.")
  }
  const read = workspaceOfFile(file.value)
  if (Result.isFailure(read)) return yield* misused(read.failure.join("\n"))
  const entry = read.success
  return entry.id === id ? entry : yield* misused(`The id in ${file.value} is ${entry.id}, and not ${id}.`)
})

const workspaceOf = Effect.fnUntraced(function* (given: Given): Effect.fn.Return<Workspace, CommandFailed> {
  const { id } = given
  if (Option.isNone(given.issuer) || Option.isNone(given.name)) {
    return yield* misused("Say its --issuer and --name, or --from which file it comes.")
  }
  const name = given.name.value
  if (!isName(name)) return yield* badName
  const theme = yield* themeWith(undefined, given)
  return { id, issuer: given.issuer.value, name, ...(theme === undefined ? {} : { theme }) }
})

const add = Command.make(
  "add",
  {
    id,
    issuer: Flag.String("issuer").pipe(
      Flag.withDescription("Where it is found: https://acme.example.com, or a path of a host that others share"),
      Flag.withSchema(Issuer),
      Flag.optional
    ),
    name: textFlag("name", "What people read on its pages"),
    accent,
    logo,
    from,
    json
  },
  ({ from, json, ...given }) =>
    administerAll(function* (administration) {
      const { accounts, workspace: home } = administration
      const hosting = yield* hostingOf(administration)
      const workspace = (yield* entryOf(given, from)) ?? (yield* workspaceOf(given))
      const { id, issuer } = workspace
      const problem = hostingProblem(home, workspace)
      if (problem !== undefined) return yield* refused(`It is refused: ${problem}.`)
      const outcome = yield* hosting.add(workspace)
      if (outcome === "added") {
        yield* noteIn(administration, id, { _tag: "WorkspaceChanged", change: "added", by })
      }
      const secret = yield* makeSetUpLink(accounts, workspace)
      const link = secret === undefined ? null : Redacted.value(secret)
      yield* print(json, { ...described(workspace), outcome, set_up_link: link }, [
        ...facts([
          ["workspace", id],
          ["issuer", issuer]
        ]),
        outcome === "added" ? soon(administration) : "It was there already, and is as it was.",
        ...(link === null ? [] : ["Its first account is made here; the link works once, for a day:", "", `  ${link}`])
      ])
    })
).pipe(
  Command.withDescription("Add a workspace, which servers that run answer for without a restart"),
  examples(
    'tessera workspace add acme --issuer https://acme.example.com --name "Acme" --accent "#b4451f"',
    "tessera workspace add beta --issuer https://auth.example.com/beta --name Beta",
    "tessera workspace add gamma --from gamma.json"
  )
)

/** Why a file cannot take the place of what a workspace is configured with: some of it has commands of its own. */
const changeProblem = (before: Workspace, entry: Workspace): string | undefined => {
  if (entry.issuer !== before.issuer)
    return `Its issuer is ${before.issuer}: \`tessera workspace move\` gives it another.`
  const isDisabled = before.disabled === true
  return (entry.disabled ?? isDisabled) === isDisabled
    ? undefined
    : "`tessera workspace disable` and `enable` say whether it answers."
}

const change = Command.make(
  "change",
  {
    id,
    name: textFlag("name", "What people read on its pages"),
    accent,
    logo,
    from,
    json
  },
  ({ from, json, ...given }) =>
    administerAll(function* (administration) {
      const hosting = yield* hostingFor(administration, given.id)
      const before = yield* hosting.find(given.id)
      const entry = yield* entryOf({ ...given, issuer: Option.none() }, from)
      if (entry === undefined && [given.name, given.accent, given.logo].every(Option.isNone)) {
        return yield* misused("Say what to change: --name, --accent or --logo, or --from which file all of it comes.")
      }
      const problem = before === undefined || entry === undefined ? undefined : changeProblem(before, entry)
      if (problem !== undefined) return yield* refused(`It is refused: ${problem}`)
      const name = Option.getOrUndefined(given.name)
      if (name !== undefined && !isName(name)) return yield* badName
      const theme = yield* themeWith(before?.theme, given)
      const changed = yield* hosting.change(given.id, (found) =>
        entry === undefined
          ? { ...found, ...(name === undefined ? {} : { name }), ...(theme === undefined ? {} : { theme }) }
          : { ...entry, ...(found.disabled === undefined ? {} : { disabled: found.disabled }) }
      )
      yield* noteIn(administration, given.id, { _tag: "WorkspaceChanged", change: "changed", by })
      yield* print(json, described(changed), [`${given.id} is changed. ${soon(administration)}`])
    })
).pipe(Command.withDescription("Change a workspace's name or the look of its pages, or all that it is configured with"))

const switched = (name: "disable" | "enable", description: string) =>
  Command.make(name, { id, json }, (given) =>
    administerAll(function* (administration) {
      const hosting = yield* hostingFor(administration, given.id)
      const changed = yield* hosting.change(given.id, ({ disabled: _, ...found }) =>
        name === "disable" ? { ...found, disabled: true } : found
      )
      yield* noteIn(administration, given.id, { _tag: "WorkspaceChanged", change: `${name}d`, by })
      yield* print(given.json, described(changed), [`${given.id} is ${name}d. ${soon(administration)}`])
    })
  ).pipe(Command.withDescription(description))

const move = Command.make("move", { id, to, json }, (given) =>
  administerAll(function* (administration) {
    const hosting = yield* hostingFor(administration, given.id, "`tessera workspace moved` gives it another issuer")
    const found = yield* hosting.find(given.id)
    const problem =
      found === undefined ? undefined : hostingProblem(administration.workspace, { ...found, issuer: given.to })
    if (problem !== undefined) return yield* refused(`It is refused: ${problem}.`)
    const from = yield* hosting.move(given.id, given.to)
    if (from === given.to) {
      return yield* print(given.json, { from, to: given.to }, [`It belongs to ${given.to} already.`])
    }
    yield* noteIn(administration, given.id, { _tag: "WorkspaceMoved", from, to: given.to, by })
    yield* print(given.json, { from, to: given.to }, [
      `It belonged to ${from}, and belongs to ${given.to} now.`,
      whatMovingEnds,
      soon(administration)
    ])
  })
).pipe(
  Command.withDescription("Give a workspace another issuer"),
  examples("tessera workspace move acme --to https://login.acme.example")
)

export const workspace = Command.make("workspace").pipe(
  Command.withDescription("Look after the workspaces in this storage, and whose they are"),
  Command.withSubcommands([
    list,
    add,
    change,
    switched("disable", "Answer 503 for a workspace, and end nothing of it"),
    switched("enable", "Answer for a workspace again"),
    move,
    movedCommand
  ])
)
