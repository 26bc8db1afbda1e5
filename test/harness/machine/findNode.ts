import { Effect } from "effect"
import { runProgram } from "../runProgram.ts"
import { installByNpm, keptFile, type Packed } from "./fromNpm.ts"
import { NotInstalled } from "./installPackages.ts"
import { isExecutable, onPath } from "./onPath.ts"

const platform = process.platform === "win32" ? "win" : process.platform

/** A major version of Node, and the oldest release of it that tests use. */
interface Wanted {
  readonly major: number
  readonly minor: number
}

const is = (version: string, { major, minor }: Wanted): boolean => {
  const [foundMajor = 0, foundMinor = 0] = version.replace("v", "").split(".").map(Number)
  return foundMajor === major && foundMinor >= minor
}

const runs = (file: string, wanted: Wanted) =>
  runProgram(file, ["--version"]).pipe(Effect.map(({ status, stdout }) => status === 0 && is(stdout.trim(), wanted)))

const packedOf = (wanted: Wanted): Packed => ({
  keptAs: `node${wanted.major}`,
  package: `node-${platform}-${process.arch}`,
  version: `${wanted.major}`,
  program: "node",
  isGood: (file) => runs(file, wanted)
})

/** A Node of that version: from the environment, this process, or the PATH; otherwise from npm. */
const findNode = Effect.fnUntraced(function* (wanted: Wanted) {
  const named = process.env[`TEST_NODE${wanted.major}`]
  if (named !== undefined && named !== "") return named
  const packed = packedOf(wanted)
  const present = [process.env.TEST_NODE ?? "", ...onPath("node"), keptFile(packed)].filter(isExecutable)
  for (const file of present) if (yield* runs(file, wanted)) return file
  const wrong = yield* installByNpm(packed)
  if (wrong === undefined) return keptFile(packed)
  return yield* new NotInstalled({
    message: `Node ${wanted.major} is needed beside ${process.env.TEST_NODE ?? "this one"}: install it, or name it in TEST_NODE${wanted.major} (${wrong})`
  })
})

export const findNode20: Effect.Effect<string, NotInstalled> = findNode({ major: 20, minor: 0 })

/** The first release with `node:sqlite` and no flag. */
export const findNode22: Effect.Effect<string, NotInstalled> = findNode({ major: 22, minor: 13 })

export const findNode24: Effect.Effect<string, NotInstalled> = findNode({ major: 24, minor: 0 })
