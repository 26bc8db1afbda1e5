import { Option } from "effect"
import { Command } from "effect/cli"
import { endSessions } from "../../core/people/endSessions.ts"
import { lastUseOf, liveSessions, sessionMark } from "../../core/people/Sessions.ts"
import { currentInstant } from "../../core/rules/Instant.ts"
import { administer, by, WorkspaceFlag } from "./administration.ts"
import { examples, json, notFound, print, table, textFlag, timeText } from "./output.ts"
import { findUser, grantsFor, person } from "./user.ts"

const list = Command.make("list", { person, json }, (given) =>
  administer(function* (administration) {
    const { accounts, workspace } = administration
    const account = yield* findUser(administration, given.person)
    const sessions = (yield* liveSessions(accounts.sessions, workspace.id, account, yield* currentInstant)).map(
      (session) => ({
        id: sessionMark(session),
        browser: session.browser ?? null,
        since: timeText(session.createdAt),
        lastUsed: timeText(lastUseOf(session))
      })
    )
    yield* print(
      given.json,
      sessions,
      table(
        ["ID", "BROWSER", "SINCE", "LAST USED"],
        sessions.map(({ browser, id, lastUsed, since }) => [id, browser ?? "-", since, lastUsed])
      )
    )
  })
).pipe(Command.withDescription("List the browsers that a person is signed in with, the last used first"))

const end = Command.make(
  "end",
  {
    person,
    id: textFlag("id", "The one that `list` calls so; without it, all"),
    json
  },
  (given) =>
    administer(function* (administration) {
      const { accounts, note, workspace } = administration
      const account = yield* findUser(administration, given.person)
      const { farewell } = grantsFor(administration)
      const ended = yield* endSessions(
        accounts.sessions,
        workspace,
        account.id,
        (session) => Option.isNone(given.id) || sessionMark(session) === given.id.value,
        farewell
      )
      if (ended === 0 && Option.isSome(given.id)) return yield* notFound("There is no such session.")
      if (ended > 0) yield* note({ _tag: "AccountChanged", account: account.id, change: "signed_out", by })
      yield* print(given.json, { account: account.id, ended }, [
        Option.isSome(given.id)
          ? `${account.email} is signed out there.`
          : `${account.email} is signed out everywhere: ${ended} ${ended === 1 ? "session" : "sessions"}.`
      ])
    })
).pipe(
  Command.withDescription("Sign a person out of one browser, or of all; they can sign in again"),
  examples("tessera session end ada@example.com")
)

export const session = Command.make("session").pipe(
  Command.withDescription("See where people are signed in, and sign them out"),
  Command.withSubcommands([list, end]),
  Command.withGlobalFlags([WorkspaceFlag])
)
