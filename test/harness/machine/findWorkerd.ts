import { Effect } from "effect"
import { runProgram } from "../runProgram.ts"
import { installByNpm, keptFile, type Packed } from "./fromNpm.ts"
import { NotInstalled } from "./installPackages.ts"
import { isExecutable } from "./onPath.ts"

/** A day, and which release of it. */
const day = "20261117"
const version = `1.${day}.1`

/** The builds, which npm has one package for each of; the package over them downloads by a script. */
const builds: Readonly<Record<string, string>> = {
  "linux x64": "linux-64",
  "linux arm64": "linux-arm64",
  "darwin x64": "darwin-64",
  "darwin arm64": "darwin-arm64"
}

const platform = `${process.platform} ${process.arch}`
const build = builds[platform]

export const isBuiltHere = build !== undefined

const saidVersion = `workerd ${day.slice(0, 4)}-${day.slice(4, 6)}-${day.slice(6)}`

const isGood = (file: string): Effect.Effect<boolean> =>
  isExecutable(file)
    ? runProgram(file, ["--version"]).pipe(
        Effect.map(({ status, stdout }) => status === 0 && stdout.trim() === saidVersion)
      )
    : Effect.succeed(false)

const packedOf = (build: string): Packed => ({
  keptAs: "workerd",
  package: `@cloudflare/workerd-${build}`,
  version,
  program: "workerd",
  isGood
})

const leftOut = Effect.sync(() => {
  process.stderr.write(`There is no workerd for ${platform}: what runs on Workers is left out\n`)
  return undefined
})

/** The engine of Workers: from the environment, or by npm and kept. `undefined` where there is none for the platform. */
export const findWorkerd: Effect.Effect<string | undefined, NotInstalled> = Effect.gen(function* () {
  const named = process.env.TEST_WORKERD
  if (named !== undefined && named !== "") return named
  if (build === undefined) return yield* leftOut
  const packed = packedOf(build)
  if (yield* isGood(keptFile(packed))) return keptFile(packed)
  const wrong = yield* installByNpm(packed)
  if (wrong === undefined) return keptFile(packed)
  return yield* new NotInstalled({ message: `workerd ${version} is needed: name one in TEST_WORKERD (${wrong})` })
})
