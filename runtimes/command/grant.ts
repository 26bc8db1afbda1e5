import { Option } from "effect"
import { Command, Flag } from "effect/cli"
import { endAll } from "../../core/engine/administerGrants.ts"
import { PlaceId, UserId } from "../../core/rules/Id.ts"
import { administer, WorkspaceFlag } from "./administration.ts"
import { readId } from "./client.ts"
import { examples, json, misused, print } from "./output.ts"

const named = <A>(flag: Flag.Flag<A>, what: string) => flag.pipe(Flag.withDescription(what), Flag.optional)

const end = Command.make(
  "end",
  {
    user: named(
      Flag.String("user").pipe(Flag.withSchema(UserId)),
      "What that person allowed: their id, as `sub` tells it"
    ),
    place: named(Flag.String("place").pipe(Flag.withSchema(PlaceId)), "What is allowed there: the id of a place"),
    client: named(Flag.String("client"), "What that client was allowed: its id, or the address of its document"),
    json
  },
  (given) =>
    administer(function* ({ auditContext, scan, services }) {
      const which = {
        user: Option.getOrUndefined(given.user),
        place: Option.getOrUndefined(given.place),
        client: Option.isNone(given.client) ? undefined : yield* readId(given.client.value)
      }
      if (Object.values(which).every((id) => id === undefined)) {
        return yield* misused("Name a --user, a --place or a --client: nothing named would end everything.")
      }
      const ended = yield* endAll(services, auditContext, which, scan)
      if (ended === "needs_user") return yield* misused("This store cannot be read as a whole: name a --user.")
      yield* print(given.json, { ended }, [`${ended} ${ended === 1 ? "grant has" : "grants have"} ended.`])
    })
).pipe(
  Command.withDescription(
    "End what people allowed clients: all that the person, place and client named have in common"
  ),
  examples("tessera grant end --user 5Xq0aVbW1uYt2mKc7nLd8g --place org_12")
)

export const grant = Command.make("grant").pipe(
  Command.withDescription("Look after what people allowed clients"),
  Command.withSubcommands([end]),
  Command.withGlobalFlags([WorkspaceFlag])
)
