import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { createHash } from "node:crypto"
import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Exit, Redacted, Scope } from "effect"
import { newSealKey } from "../../runtimes/server/SealKeyFile.ts"
import { locationOf, postToken, register, Visitor } from "../given/serverVisitor.ts"
import { freePort } from "../harness/freePort.ts"
import { node, node22 } from "../harness/given.ts"
import { pollUntil } from "../harness/pollUntil.ts"
import { plainEnvironment, runProgram } from "../harness/runProgram.ts"
import { throwawayFolder } from "../harness/throwawayFolder.ts"
import { type Child, startChild } from "../runtimes/given/Child.ts"
import { type Block, house, programs } from "./blocks.ts"
import { guideFiles } from "./guideFiles.ts"
import { withPorts } from "./Ports.ts"

interface Program {
  /** Where it is printed. */
  readonly title: string
  readonly folder: string
  readonly text: string
  /** What it imports beside it: the blocks of its page that begin with a file's name. */
  readonly files: ReadonlyMap<string, string>
  /** What starts it: one process for all that are alike, or one of its own, where the last line is for that alone. */
  readonly on: "Node" | "Bun" | "Bun alone"
}

const nameOf = ({ text }: Block) => /^\/\/ (\S+\.ts)\n/.exec(text)?.[1]

const platformOf = (text: string): Program["on"] =>
  /^export default/m.test(text) ? "Bun alone" : /\bBun\.serve\b|from "elysia"/.test(text) ? "Bun" : "Node"

const printed: ReadonlyArray<Program> = programs()
  .filter((block) => nameOf(block) === undefined)
  .map((block, index) => ({
    title: `${block.page}, ${block.under.at(-1)}, ${index}`,
    folder: `program${index}`,
    text: block.text,
    files: new Map(
      programs().flatMap((other) => {
        const name = other.page === block.page ? nameOf(other) : undefined
        return name === undefined ? [] : [[name, other.text] as const]
      })
    ),
    on: platformOf(block.text)
  }))

/** The blocks as files, each program at a port and with a database of its own. In the house, so that `tessera` is this very package. */
const pasted = Effect.gen(function* () {
  const folder = join(house, "test/readme", `pasted-${process.pid}`)
  yield* Effect.acquireRelease(
    Effect.sync(() => mkdirSync(folder)),
    () => Effect.sync(() => rmSync(folder, { recursive: true }))
  )
  const write = (file: string, text: string) => writeFileSync(join(folder, file), text)
  const ports = new Map<Program, number>()
  for (const program of printed) {
    const server = yield* freePort
    mkdirSync(join(folder, program.folder))
    for (const [name, text] of [...program.files, ["main.ts", program.text] as const])
      write(
        `${program.folder}/${name}`,
        // A file holds one issuer's workspace.
        withPorts(text, { server, callback: 0 }).replaceAll("northwind.db", `${program.folder}.db`)
      )
    ports.set(program, server)
  }
  for (const platform of ["Node", "Bun"]) {
    const files = printed.filter(({ on }) => on === platform)
    write(`all${platform}.ts`, files.map(({ folder }) => `import "./${folder}/main.ts"\n`).join(""))
  }
  // Nothing here runs them, but one compiler is enough for all types.
  mkdirSync(join(folder, "guide"))
  for (const [name, text] of Object.entries(guideFiles)) write(`guide/${name}`, text)
  write("tsconfig.json", JSON.stringify({ extends: "../../../tsconfig.json", include: ["**/*.ts"] }))
  return { folder, ports }
})

const isThere = (port: number | undefined) =>
  Effect.promise(() =>
    fetch(`http://127.0.0.1:${port}/.well-known/oauth-authorization-server`).then(
      ({ ok }) => ok,
      () => false
    )
  )

const scope = Scope.makeUnsafe()
const run = <A, E>(body: Effect.Effect<A, E, Scope.Scope>) => Effect.runPromise(Scope.provide(body, scope))
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

let folder: string
let ports: ReadonlyMap<Program, number>
let children: ReadonlyMap<Program, Child>

beforeAll(
  () =>
    run(
      Effect.gen(function* () {
        ;({ folder, ports } = yield* pasted)
        const cwd = yield* throwawayFolder("embedded")
        const env = { ...plainEnvironment, SEAL_KEYS: Redacted.value(newSealKey()) }
        const onNode = ["--experimental-strip-types", join(folder, "allNode.ts")]
        const node = yield* startChild(node22(), onNode, { cwd, env })
        const bun = yield* startChild(process.execPath, [join(folder, "allBun.ts")], { cwd, env })
        const started = new Map<Program, Child>()
        for (const program of printed) {
          const own = [join(folder, program.folder, "main.ts")]
          const child = program.on === "Bun alone" ? yield* startChild(process.execPath, own, { cwd, env }) : undefined
          started.set(program, child ?? (program.on === "Node" ? node : bun))
        }
        children = started
      })
    ),
  60_000
)

const redirectUri = "https://app.example/callback"
const verifier = "a-code-verifier-of-at-least-43-characters-~._"
const challenge = createHash("sha256").update(verifier).digest("base64url")

type Tokens = Readonly<Record<"access_token" | "refresh_token" | "scope", string>>

/** A stranger's application, and the person of the host's that it asks. */
const embedded = async (url: string) => {
  const { client_id, client_secret } = await register(url, {
    redirect_uris: [redirectUri],
    grant_types: ["authorization_code", "client_credentials"],
    token_endpoint_auth_method: "client_secret_post"
  })
  const credentials = { client_id, client_secret: String(client_secret) }
  const tokens = async (fields: Readonly<Record<string, string>>): Promise<Tokens> => {
    const answer = await postToken(url, { ...fields, ...credentials })
    if (answer.status !== 200) throw new Error(`the token request was answered ${await answer.text()}`)
    // The shape is RFC 6749's; where it is not, what reads it fails.
    return (await answer.json()) as Tokens
  }
  const orders = async (token?: string) => {
    const headers = token === undefined ? undefined : { authorization: `Bearer ${token}` }
    const answer = await fetch(`${url}/orders`, headers === undefined ? {} : { headers })
    return { answer, challenge: answer.headers.get("www-authenticate") ?? "" }
  }
  return { credentials, tokens, orders }
}

type App = Awaited<ReturnType<typeof embedded>>

const signInAndApprove = async (url: string, { credentials, tokens }: App): Promise<Tokens> => {
  const ask = new URLSearchParams({
    response_type: "code",
    client_id: credentials.client_id,
    redirect_uri: redirectUri,
    scope: "api profile",
    state: "s",
    code_challenge: challenge,
    code_challenge_method: "S256"
  })
  const target = `/oauth/authorize?${ask}`
  const away = locationOf(await new Visitor(url).get(target), url)
  expect([away.pathname, away.searchParams.get("return_to")]).toEqual(["/sign-in", target])

  const ada = new Visitor(url)
  ada.cookies.set("theme", "dark")
  ada.cookies.set("session", "cookie-of-ada")
  const consent = await (await ada.get(target)).text()
  expect(consent.replaceAll("<wbr>", "")).toContain("ada@northwind.example")
  const back = await ada.decide(target)
  expect([back.searchParams.get("state"), back.searchParams.get("iss")]).toEqual(["s", url])
  const code = back.searchParams.get("code") ?? ""
  return tokens({ grant_type: "authorization_code", code, redirect_uri: redirectUri, code_verifier: verifier })
}

const throughIt = async (url: string) => {
  const app = await embedded(url)
  const { credentials, orders, tokens } = app
  const first = await signInAndApprove(url, app)

  const stranger = await orders()
  expect([stranger.answer.status, stranger.challenge]).toEqual([401, expect.stringContaining("resource_metadata=")])
  const forged = await orders("forged")
  expect([forged.answer.status, forged.challenge]).toEqual([401, expect.stringContaining('error="invalid_token"')])
  const admitted = await orders(first.access_token)
  expect(admitted.answer.status).toBe(200)
  const { client_id: client } = credentials
  expect(await admitted.answer.json()).toMatchObject({ caller: { _tag: "User", user: "ada", client } })

  const { refresh_token } = first
  const narrow = await tokens({ grant_type: "refresh_token", refresh_token, scope: "profile" })
  const kept = await orders(narrow.access_token)
  expect([kept.answer.status, kept.challenge]).toEqual([403, expect.stringContaining('error="insufficient_scope"')])
  expect(kept.challenge).toContain('scope="api"')
  const second = await tokens({ grant_type: "refresh_token", refresh_token: narrow.refresh_token })
  expect((await orders(second.access_token)).answer.status).toBe(200)
  const headers = { authorization: `Bearer ${second.access_token}` }
  expect(await (await fetch(`${url}/oauth/userinfo`, { headers })).json()).toEqual({ sub: "ada" })

  // A stranger's application asked for access without a person, and no owner of the host's made it.
  const alone = await postToken(url, { grant_type: "client_credentials", ...credentials })
  expect([alone.status, await alone.json()]).toMatchObject([400, { error: "unauthorized_client" }])

  const revoked = await new Visitor(url).post("/oauth/revoke", { token: second.refresh_token, ...credentials })
  expect(revoked.status).toBe(200)
  expect((await orders(second.access_token)).answer.status).toBe(401)
}

describe("programs as they are printed", () => {
  test("are type-checked as strictly as the house", async () => {
    const tsc = join(house, "node_modules/typescript/bin/tsc")
    const { status, stdout } = await run(runProgram(node(), [tsc, "-p", folder]))
    expect([stdout, status]).toEqual(["", 0])
  }, 60_000)

  for (const program of printed) {
    test(`let a person of the host's in: ${program.title}`, async () => {
      const port = ports.get(program)
      const there = await run(pollUntil(isThere(port), 30_000))
      expect([there, there ? "" : children.get(program)?.stderr()]).toEqual([true, ""])
      await throughIt(`http://127.0.0.1:${port}`)
    }, 60_000)
  }
})
