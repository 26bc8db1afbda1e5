import { Effect, Result } from "effect"
import { Command } from "effect/cli"
import { readSettings } from "../server/Settings.ts"
import { bad, type Finding, good } from "./Finding.ts"
import { failed, misused } from "./Outcome.ts"
import { json, print } from "./output.ts"

const marks = { good: "ok  ", doubtful: "note", bad: "BAD " } as const

const lines = (findings: ReadonlyArray<Finding>): ReadonlyArray<string> =>
  findings.flatMap(({ advice, says, state, what }) => [
    `${marks[state]}  ${what}: ${says}`,
    ...(advice === undefined ? [] : [`      ${advice}`])
  ])

export const doctor = Command.make("doctor", { json }, (given) =>
  Effect.gen(function* () {
    const read = yield* Effect.result(readSettings)
    if (Result.isFailure(read)) {
      const findings = read.failure.complaints.map((complaint) =>
        bad("configuration", complaint, "The README's table of variables says what each may be.")
      )
      yield* print(given.json, findings, lines(findings))
      return yield* misused("The server can't start like this.")
    }
    const settings = read.success
    const { examineAddress, examineClock, examineSealKeys, examineStorage, examineStrangers } = yield* Effect.promise(
      () => import("./examine.ts")
    )
    const { examineAuditFile } = yield* Effect.promise(() => import("./examineAuditFile.ts"))
    const { audit } = settings.observe
    const findings = [
      good("configuration", "every variable is as it should be"),
      yield* examineSealKeys(settings),
      yield* examineStorage(settings),
      ...(audit._tag === "File" ? [yield* examineAuditFile(audit.path)] : []),
      yield* examineClock(settings),
      yield* examineAddress(settings),
      examineStrangers(settings)
    ]
    yield* print(given.json, findings, lines(findings))
    if (findings.some(({ state }) => state === "bad")) return yield* failed("Something has to be done.")
  })
).pipe(
  Command.withDescription(
    "Look at configuration, seal keys, storage, audit file, clock, address and strangers, and say what to do"
  )
)
