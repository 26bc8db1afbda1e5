import { Argument, Command } from "effect/cli"
import { retireSigningKey, rotateSigningKeys } from "../../core/engine/administerWorkspace.ts"
import { goneAt, type Retirement, type SigningKey, type SigningKeys, stateAt } from "../../core/engine/signingKeys.ts"
import { currentInstant, type Instant } from "../../core/rules/Instant.ts"
import { administer, soon, WorkspaceFlag } from "./administration.ts"
import { json, notFound, print, refused, switchFlag, table, timeText } from "./output.ts"

const described = (keys: SigningKeys, key: SigningKey, now: Instant) => ({
  kid: key.kid,
  algorithm: key.algorithm,
  state: stateAt(keys, key, now),
  signs_from: timeText(key.signsFrom),
  published_until: timeText(goneAt(keys, key) ?? null),
  seal_key: key.wrapped.by
})

const shown = (asJson: boolean, keys: SigningKeys | undefined, now: Instant) => {
  const all = keys?.keys.map((key) => described(keys, key, now)) ?? []
  const rows = all.map((key) => [key.kid, key.algorithm, key.state, key.signs_from, key.published_until, key.seal_key])
  return print(
    asJson,
    all,
    all.length === 0
      ? ["Nothing was signed yet, so there are no keys."]
      : table(["KEY", "ALGORITHM", "STATE", "SIGNS FROM", "PUBLISHED UNTIL", "SEAL KEY"], rows)
  )
}

const list = Command.make("list", { json }, (given) =>
  administer(function* ({ services, workspace }) {
    yield* shown(given.json, yield* services.signing.stored(workspace), yield* currentInstant)
  })
).pipe(Command.withDescription("List the keys that the server signs with"))

const rotate = Command.make("rotate", { json }, (given) =>
  administer(function* ({ auditContext, services, workspace }) {
    const keys = yield* rotateSigningKeys(services, auditContext, workspace)
    yield* shown(given.json, keys, yield* currentInstant)
  })
).pipe(
  Command.withDescription(
    "Make the next keys, unless they wait already. They are published at once and sign later, so that every API knows them then; a server rotates every 90 days by itself"
  )
)

const kid = Argument.String("key").pipe(Argument.withDescription("As `tessera signing-keys list` shows it"))

const compromised = switchFlag(
  "compromised",
  "Others have it: end it now, with all that it signed; another signs in its place"
)

const whyNot = {
  unknown: notFound("There is no such key."),
  signs: refused("It signs, or is about to: rotate first. If others have it, --compromised ends it now."),
  is_needed: refused("What it signed still lives, and it goes by itself after that. --compromised ends both now.")
} as const satisfies Record<Exclude<Retirement, "retired">, unknown>

const retire = Command.make("retire", { kid, compromised, json }, (given) =>
  administer(function* ({ auditContext, services, workspace }) {
    const how = given.compromised ? "compromised" : "expired"
    const outcome = yield* retireSigningKey(services, auditContext, workspace, given.kid, how)
    if (outcome !== "retired") return yield* whyNot[outcome]
    yield* print(given.json, { kid: given.kid, retired: true }, [
      `${given.kid} is published no more.`,
      ...(given.compromised
        ? [
            `What it signed is refused. ${soon({ services })} Others refuse it once they fetch the keys anew: within five minutes, as far as they keep to that.`
          ]
        : [])
    ])
  })
).pipe(Command.withDescription("End a key that is not needed any more, or, with --compromised, one that others have"))

export const signingKeys = Command.make("signing-keys").pipe(
  Command.withDescription("Look after the keys that the server signs with"),
  Command.withSubcommands([list, rotate, retire]),
  Command.withGlobalFlags([WorkspaceFlag])
)
