import { Effect } from "effect"
import { Command } from "effect/cli"
import { variableNames } from "../server/Settings.ts"
import type { Surroundings } from "../server/serve.ts"
import { client } from "./client.ts"
import { copy } from "./copy.ts"
import { doctor } from "./doctor.ts"
import { grant } from "./grant.ts"
import { health } from "./health.ts"
import { issuer } from "./issuer.ts"
import { key } from "./key.ts"
import { explain } from "./output.ts"
import { resource } from "./resource.ts"
import { session } from "./session.ts"
import { signingKeys } from "./signingKeys.ts"
import { migrate, openapi, sealKeys, sweep } from "./upkeep.ts"
import { user } from "./user.ts"
import { workspace } from "./workspace.ts"

const serving = (surroundings: Surroundings) =>
  Command.make("serve", {}, () =>
    Effect.promise(() => import("../server/serve.ts")).pipe(
      Effect.flatMap(({ serve }) => serve(surroundings)),
      Effect.mapError(explain)
    )
  ).pipe(
    Command.withDescription(
      `Run the authorization server, until Ctrl-C or SIGTERM. Its variables: ${Effect.runSync(variableNames).join(", ")}.`
    )
  )

/** The whole command line. */
export const tessera = (surroundings: Surroundings) =>
  Command.make("tessera").pipe(
    Command.withDescription(
      "An OAuth 2.0 authorization server. It is configured by the environment: `tessera serve --help` names the variables. Exit status: 0 done, 1 failed, 2 wrong usage or configuration, 3 not found, 4 refused by a rule."
    ),
    Command.withSubcommands([
      serving(surroundings),
      client,
      grant,
      key,
      user,
      session,
      workspace,
      resource,
      issuer,
      sealKeys,
      signingKeys,
      sweep,
      doctor,
      health,
      openapi,
      migrate,
      copy
    ])
  )
