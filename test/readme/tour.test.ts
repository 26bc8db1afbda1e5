import { describe, expect, test } from "bun:test"
import { cpSync, existsSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { Effect, type Scope } from "effect"
import { freshDatabase } from "../adapters/postgres/freshDatabase.ts"
import { hiddenFields } from "../given/flow.ts"
import { Visitor } from "../given/serverVisitor.ts"
import { freePort } from "../harness/freePort.ts"
import { postgresUrl } from "../harness/given.ts"
import { pollUntil } from "../harness/pollUntil.ts"
import { type Block, house, serverPage, under } from "./blocks.ts"
import { freshClone } from "./freshClone.ts"
import { looksLike } from "./looksLike.ts"
import { type Ports, withPorts } from "./Ports.ts"
import { openShell, type Shell } from "./Shell.ts"
import { startFamily } from "./startFamily.ts"

const printed = (...blocks: ReadonlyArray<Block | undefined>) => blocks.filter((block) => block !== undefined)

const [start = { text: "" }, ...first] = under("README.md", "Register, ask, exchange, call")
const tour = [...first, ...under(serverPage, "The tour goes on")]
const [, email = "", password = ""] = /OWNER_EMAIL=(\S+) OWNER_PASSWORD='([^']+)'/.exec(start.text) ?? []

const setUp = Effect.gen(function* () {
  const ports: Ports = { server: yield* freePort, callback: yield* freePort }
  const clone = yield* freshClone
  const env = { ...clone.env, PORT: String(ports.server) }
  return { ports, folder: clone.folder, env, url: `http://127.0.0.1:${ports.server}` }
})

// The shape is npm's; without the program, every command fails.
const { bin } = JSON.parse(readFileSync(join(house, "package.json"), "utf8")) as {
  readonly bin: { readonly tessera: string }
}

/**
 * The first command goes by npm, which finds the program in `package.json`; the others by what it found, because looking
 * takes npm longer than most commands take.
 */
const npxOnce = `npx() {
  npx() { if [ "$1" = tessera ]; then shift; node ${bin.tessera} "$@"; else command npx "$@"; fi; }
  command npx "$@"
}`

/** A terminal whose foreground a server has; done when the banner is there. */
const startIn = Effect.fnUntraced(function* (folder: string, env: Readonly<Record<string, string>>, block: string) {
  const child = yield* startFamily("bash", ["-c", block], { cwd: folder, env })
  yield* Effect.promise(() => child.says(/To register an application/))
  return {
    banner: child.stdout,
    stop: Effect.promise(() => {
      child.process.kill("SIGTERM")
      return child.ended
    })
  }
})

/** Pastes blocks in their order, and holds what each prints to the output that stands below it. */
const pasteAll = async (shell: Shell, blocks: ReadonlyArray<Block>, ports: Ports, person?: () => Promise<void>) => {
  for (const [i, block] of blocks.entries()) {
    if (block.language !== "sh") continue
    const text = withPorts(block.text, ports)
    const printing = shell.paste(text)
    if (text.includes("/oauth/authorize")) await person?.()
    const answer = await printing
    expect([answer.stderr, answer.status, text]).toEqual(["", 0, text])
    const output = blocks[i + 1]
    if (output?.language === "text") expect(answer.stdout).toMatch(looksLike(withPorts(output.text, ports)))
  }
}

const thanks = "Back to the terminal."

/** The person who opens the printed address: signs in, approves, and is sent to the application. */
const approve = async (visitor: Visitor, shell: Shell) => {
  const [, address = ""] = await shell.says(/Open (http\S+)\n/)
  const back = await visitor.decide(address)
  // A person takes longer than the application to be there.
  const arrived = Effect.promise(() =>
    fetch(back).then(
      (answer) => answer.text().then((text) => text === thanks),
      () => false
    )
  )
  expect(await Effect.runPromise(pollUntil(arrived, 20_000))).toBe(true)
}

const run = <E>(body: Effect.Effect<void, E, Scope.Scope>) => Effect.runPromise(Effect.scoped(body))

describe("the README", () => {
  test(
    "starts with two commands that exist, and the first says where the server is and how to make an account",
    () =>
      run(
        Effect.gen(function* () {
          const { env, folder, url } = yield* setUp
          const [npmStart, npmTest] = under("README.md", "Two commands")
          const server = yield* startIn(folder, env, npmStart?.text ?? "")
          expect(server.banner()).toContain(`listening on  ${url}`)
          expect(existsSync(join(folder, "data/tessera.db"))).toBe(true)
          const [link = ""] = /http\S+\/set-up\?token=\S+/.exec(server.banner()) ?? []
          const page = yield* Effect.promise(() => fetch(link))
          expect(page.status).toBe(200)
          expect(yield* Effect.promise(() => page.text())).toContain('name="password"')
          yield* server.stop
          expect(
            yield* Effect.promise(() =>
              fetch(link).then(
                () => "answers",
                () => "is gone"
              )
            )
          ).toBe("is gone")
          // The second runs this very test; that it is there is all that can be asked here.
          expect(npmTest?.text).toBe("npm test")
        })
      ),
    120_000
  )

  test(
    "has a tour, commands, a backup, a change of keys and a move that work as printed",
    () =>
      run(
        Effect.gen(function* () {
          const { env, folder, ports, url } = yield* setUp
          const block = withPorts(start.text, ports)
          const shell = yield* openShell(folder, env)
          yield* Effect.promise(() => shell.paste(npxOnce))
          const paste = (blocks: ReadonlyArray<Block>, person?: () => Promise<void>) =>
            Effect.promise(() => pasteAll(shell, blocks, ports, person))
          const statusOf = (token: string) =>
            Effect.promise(async () => {
              const ask = `curl -s -o /dev/null -w '%{http_code}' "$BASE/rest/companies" -H "authorization: Bearer ${token}"`
              return (await shell.paste(ask)).stdout
            })
          const ownToken = '$(json access_token <<< "$OWN")'

          const server = yield* startIn(folder, env, block)
          expect(server.banner()).not.toContain("/set-up")
          const visitor = new Visitor(url)
          yield* Effect.promise(() => visitor.signIn({ email, password }))
          yield* paste(tour, () => approve(visitor, shell))
          expect(yield* statusOf("$KEY")).toBe("200")

          // The other way to a key, and back: in the browser.
          const keys = yield* Effect.promise(() => visitor.get("/settings/keys"))
          const fields = {
            ...hiddenFields(yield* Effect.promise(() => keys.text())),
            action: "create",
            name: "By hand"
          }
          const made = yield* Effect.promise(() => visitor.post("/settings/keys", { ...fields, expires: "90d" }))
          const [key = ""] = /tsr_ak_[\w-]{70}/.exec(yield* Effect.promise(() => made.text())) ?? []
          expect(yield* statusOf(key)).toBe("200")
          expect((yield* Effect.promise(() => visitor.get("/settings/apps"))).status).toBe(200)

          yield* paste(under(serverPage, "Command line"))
          yield* server.stop

          yield* paste(under(serverPage, "Backups"))
          rmSync(join(folder, "data"), { recursive: true })
          cpSync(join(folder, "backup"), join(folder, "data"), { recursive: true })
          cpSync(join(folder, "backup-of-keys"), join(folder, "data"), { recursive: true })
          const restored = yield* startIn(folder, env, block)
          expect(yield* statusOf(ownToken)).toBe("200")

          const [newKey, doctor, oldKeyGone] = under(serverPage, "New seal keys")
          yield* paste(printed(newKey, doctor))
          yield* restored.stop
          const both = yield* startIn(folder, env, block)
          expect(yield* statusOf(ownToken)).toBe("200")
          yield* Effect.promise(() => shell.paste(`OLD=${ownToken}`))
          yield* paste(tour.filter(({ text }) => text.includes("grant_type=client_credentials")))
          yield* paste(printed(oldKeyGone))
          yield* both.stop
          const last = yield* startIn(folder, env, block)
          expect([yield* statusOf("$OLD"), yield* statusOf(ownToken), yield* statusOf("$KEY")]).toEqual([
            "401",
            "200",
            "200"
          ])
          yield* last.stop

          const [move] = under(serverPage, "Storage")
          const target = yield* Effect.acquireRelease(freshDatabase(postgresUrl()), ({ drop }) => drop)
          const command = move?.text.replace("postgres://tessera@db.internal/tessera", target.url) ?? ""
          const moved = yield* Effect.promise(() => shell.paste(command))
          expect([moved.status, moved.stdout]).toEqual([
            0,
            expect.stringContaining("data/tessera.db.keys has to stand in")
          ])
          expect(command).toContain(target.url)
        })
      ),
    180_000
  )
})
