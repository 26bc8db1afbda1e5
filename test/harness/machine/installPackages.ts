import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { Effect, Schema } from "effect"
import { runProgram } from "../runProgram.ts"
import { isExecutable, onPath } from "./onPath.ts"

export class NotInstalled extends Schema.TaggedError<NotInstalled>()("NotInstalled", { message: Schema.String }) {}

const policyFile = "/usr/sbin/policy-rc.d"
const mark = "# written by the tests of tessera"

/**
 * Debian's policy file, which forbids a new package to start its service. It forbids only while this process lives,
 * so that a killed run leaves nothing forbidden.
 */
const policy = `#!/bin/sh\n${mark}\nkill -0 ${process.pid} 2>/dev/null && exit 101\nexit 0\n`

const withoutServices = Effect.acquireRelease(
  Effect.sync(() => {
    const ours = !existsSync(policyFile) || readFileSync(policyFile, "utf8").includes(mark)
    if (ours) writeFileSync(policyFile, policy, { mode: 0o755 })
    return ours
  }),
  (ours) => Effect.sync(() => (ours ? rmSync(policyFile, { force: true }) : undefined))
)

const apt = Effect.fnUntraced(function* (...args: ReadonlyArray<string>) {
  // Waits for another run that is installing.
  const { status, stdout, stderr } = yield* runProgram("apt-get", ["-q", "-o", "DPkg::Lock::Timeout=600", ...args], {
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" }
  })
  if (status === 0) return
  const [reason] = `${stderr}\n${stdout}`.split("\n").filter((line) => line.startsWith("E:"))
  return yield* new NotInstalled({ message: `apt-get ${args[0]} failed: ${reason ?? `status ${status}`}` })
})

/** Not every distribution has the smaller one. */
const smaller: Readonly<Record<string, string>> = { chromium: "chromium-headless-shell" }

const smallest = (name: string) => {
  const other = smaller[name]
  if (other === undefined) return Effect.succeed(name)
  return apt("install", "--simulate", other).pipe(Effect.match({ onSuccess: () => other, onFailure: () => name }))
}

export const canInstallPackages = (): boolean => process.getuid?.() === 0 && onPath("apt-get").some(isExecutable)

/** Installs Debian packages without starting their services. */
export const installPackages = (wanted: ReadonlyArray<string>): Effect.Effect<void, NotInstalled> =>
  Effect.gen(function* () {
    yield* apt("update")
    const names = yield* Effect.forEach(wanted, smallest)
    yield* apt("install", "--yes", "--no-install-recommends", "--download-only", ...names)
    yield* withoutServices
    // A late answer to Ctrl-C is better than half an installation.
    yield* Effect.uninterruptible(apt("install", "--yes", "--no-install-recommends", ...names))
  }).pipe(Effect.scoped)
