import { Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { moveWorkspace } from "../../core/engine/Openings.ts"
import { Issuer } from "../../core/workspace/Workspace.ts"
import { administer, by } from "./administration.ts"
import { json, notFound, print } from "./output.ts"

const neverOpened = notFound("No server has opened this workspace yet, so it belongs to no issuer.")

const movedCommand = Command.make(
  "moved",
  {
    to: Flag.String("to").pipe(
      Flag.withDescription("The issuer that it has from now on: BASE_URL of its server"),
      Flag.withSchema(Issuer)
    ),
    json
  },
  (given) =>
    administer(({ note, services, workspace }) =>
      Effect.gen(function* () {
        const from = yield* moveWorkspace(services, workspace.id, given.to)
        if (from === undefined) return yield* neverOpened
        if (from === given.to) {
          return yield* print(given.json, { from, to: given.to }, [`It belongs to ${given.to} already.`])
        }
        yield* note({ _tag: "WorkspaceMoved", from, to: given.to, by })
        yield* print(given.json, { from, to: given.to }, [
          `It belonged to ${from}, and belongs to ${given.to} now.`,
          "What the former issuer sealed opens nothing any more: people allow their applications anew. API keys stay.",
          "A server that runs as the former issuer goes on until it is stopped."
        ])
      })
    )
).pipe(
  Command.withDescription("Say that the workspace has moved to another issuer, whose server is refused until then"),
  Command.withExamples([{ command: "tessera workspace moved --to https://auth.example.com" }])
)

export const workspace = Command.make("workspace").pipe(
  Command.withDescription("Whose the workspace in this storage is"),
  Command.withSubcommands([movedCommand])
)
