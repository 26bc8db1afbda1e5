import { randomBytes } from "node:crypto"
import { chownSync, existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, type Scope } from "effect"
import { freePort } from "./freePort.ts"
import { postgresBin } from "./given.ts"
import { madeOnce } from "./madeOnce.ts"
import { runProgram } from "./runProgram.ts"
import { type Server, ServerFailed, startServer } from "./Server.ts"
import { throwawayFolder } from "./throwawayFolder.ts"
import { type User, unprivilegedUser } from "./unprivilegedUser.ts"

export interface PostgresOptions {
  /** The folder with `postgres` and `initdb`. Default: that of the environment. */
  readonly bin?: string
  /** As in `postgresql.conf`: `{ max_connections: "20" }`. Durability keeps PostgreSQL's defaults. */
  readonly settings?: Readonly<Record<string, string>>
}

const superuser = "tessera"

/**
 * Sorts by a language's collation, as most databases do, so that SQL that needs code unit order has to say so. A
 * PostgreSQL without ICU (before 15, or built without) sorts by code unit.
 */
const locales = [["--locale=C", "--locale-provider=icu", "--icu-locale=en-US"], ["--locale=C"]]

const passwordIn = (folder: string) => join(folder, "password")

const initialise = Effect.fnUntraced(function* (bin: string, folder: string, user: User | undefined) {
  const passwordFile = passwordIn(folder)
  writeFileSync(passwordFile, randomBytes(16).toString("hex"), { mode: 0o644 })
  const common = ["-D", "data", "-U", superuser, "-E", "UTF8", "-A", "scram-sha-256", "--pwfile", passwordFile]
  let last = ""
  for (const locale of locales) {
    const { status, stderr } = yield* runProgram(join(bin, "initdb"), [...common, ...locale, "--no-sync"], {
      cwd: folder,
      user
    })
    if (status === 0) return
    last = stderr
  }
  return yield* new ServerFailed({ message: `initdb failed: ${last.trim()}` })
})

/** What `initdb` made for another of the run, as a copy: that takes a fifth of its processor time. */
const copied = Effect.fnUntraced(function* (bin: string, folder: string, user: User | undefined) {
  const first = yield* madeOnce("postgres", (made) => {
    if (user !== undefined) chownSync(made, user.uid, user.gid)
    return Effect.orDie(initialise(bin, made, user))
  })
  const { status, stderr } = yield* runProgram("cp", ["-R", passwordIn(first), join(first, "data"), folder], { user })
  if (status !== 0) return yield* new ServerFailed({ message: `a copy of ${first} failed: ${stderr.trim()}` })
})

const countsStatements = Effect.fnUntraced(function* (bin: string) {
  const { stdout } = yield* runProgram(join(bin, "pg_config"), ["--pkglibdir"])
  return stdout !== "" && existsSync(join(stdout.trim(), "pg_stat_statements.so"))
})

/**
 * A PostgreSQL for one test. `url` has the superuser and the database `postgres`. `pg_stat_statements` is loaded if
 * the machine has it; `create extension pg_stat_statements` makes its view.
 */
export const startPostgres = Effect.fnUntraced(function* (
  options: PostgresOptions = {}
): Effect.fn.Return<Server, ServerFailed, Scope.Scope> {
  const bin = options.bin ?? postgresBin()
  const user = unprivilegedUser()
  const folder = yield* throwawayFolder("postgres", user)
  yield* (process.env.TEST_MADE === undefined ? initialise : copied)(bin, folder, user)
  const password = readFileSync(passwordIn(folder), "utf8")

  const settings: Record<string, string> = {
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    ...((yield* countsStatements(bin)) ? { shared_preload_libraries: "pg_stat_statements" } : {}),
    ...options.settings
  }

  return yield* Effect.gen(function* () {
    const port = yield* freePort
    return yield* startServer({
      name: "postgres",
      url: `postgres://${superuser}:${password}@127.0.0.1:${port}/postgres`,
      port,
      folder,
      command: join(bin, "postgres"),
      args: [
        "-D",
        "data",
        "-p",
        `${port}`,
        ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])
      ],
      user,
      stopSignal: "SIGINT",
      discardSignal: "SIGQUIT",
      answers: runProgram(join(bin, "pg_isready"), ["-q", "-h", "127.0.0.1", "-p", `${port}`]).pipe(
        Effect.map(({ status }) => status === 0)
      )
    })
  }).pipe(Effect.retry({ times: 4, while: (error) => /address already in use/i.test(error.message) }))
})
