import { Effect } from "effect"
import { findChromium } from "./findChromium.ts"
import { findPostgres } from "./findPostgres.ts"
import { findRedis, type RedisPrograms } from "./findRedis.ts"
import { canInstallPackages, installPackages, NotInstalled } from "./installPackages.ts"

export interface Machine {
  readonly postgresBin: string | undefined
  readonly redis: RedisPrograms | undefined
  readonly chromium: string | undefined
}

/** Values from the environment are taken unchecked. */
const look = (): Machine => ({
  postgresBin: process.env.TEST_POSTGRES_BIN || findPostgres(),
  redis: findRedis(),
  chromium: process.env.CHROMIUM_PATH || findChromium()
})

const missing = ({ postgresBin, redis, chromium }: Machine): ReadonlyArray<string> => [
  ...(postgresBin === undefined ? ["postgresql"] : []),
  ...(redis === undefined ? ["redis-server"] : []),
  ...(chromium === undefined ? ["chromium"] : [])
]

/** A server in the environment replaces the program, except for tests that kill their own. */
const isElsewhere = (name: string) =>
  (name === "postgresql" && Boolean(process.env.TEST_POSTGRES_URL)) ||
  (name === "redis-server" && Boolean(process.env.TEST_REDIS_URL && process.env.TEST_REDIS_CLUSTER_URL))

const say = (line: string) => Effect.sync(() => process.stderr.write(`${line}\n`))

/** The programs that tests need: found here, or installed by the package manager. */
export const equip: Effect.Effect<Machine, NotInstalled> = Effect.gen(function* () {
  const wanted = missing(look())
  if (wanted.length === 0) return look()

  if (canInstallPackages()) {
    yield* say(`Installing ${wanted.join(", ")} by apt-get …`)
    yield* installPackages(wanted)
  }
  const absent = missing(look())
  const needed = absent.filter((name) => !isElsewhere(name))
  if (needed.length > 0) {
    return yield* new NotInstalled({
      message: `The tests need ${needed.join(", ")}: install them (on Debian: apt-get install ${needed.join(" ")})`
    })
  }
  if (absent.length > 0)
    yield* say(`Without ${absent.join(", ")} here, tests that start servers of their own will fail`)
  return look()
})
