import { Console, Effect } from "effect"
import { Command } from "effect/cli"
import { readSettings } from "../server/Settings.ts"
import { explain } from "./explain.ts"

export const openapi = Command.make("openapi", {}, () =>
  Effect.gen(function* () {
    const settings = yield* readSettings
    const { describeApi } = yield* Effect.promise(() => import("../server/describeApi.ts"))
    yield* Console.log(JSON.stringify(yield* describeApi(settings), undefined, 2))
  }).pipe(Effect.mapError(explain))
).pipe(
  Command.withDescription("Print the OpenAPI document of a server that is configured like this; no storage is opened"),
  Command.withExamples([{ command: "BASE_URL=https://auth.example.com tessera openapi > openapi.json" }])
)
