import { expect, test } from "bun:test"
import { execFileSync, spawn } from "node:child_process"
import { existsSync, mkdirSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import type { EmbeddedTessera } from "../../runtimes/tessera.ts"
import { withHost } from "../embed/host.ts"
import { python } from "../harness/given.ts"
import { approve, leave, owner, signedOutAt, signedOutUri } from "./signIn.ts"

/*
 * Programs in other languages sign a person in, refresh, read userinfo and sign out: by Authlib where the machine has Python, by
 * go-oidc and x/oauth2 where it has Go and can get them.
 */

/** Go keeps what it built in a cache of its own: the first build on a machine takes a minute, less without optimising. */
const cached = join(import.meta.dir, "..", "..", "node_modules", ".cache", "go")

const goProgram = (): string | undefined => {
  const program = join(cached, "signin")
  mkdirSync(cached, { recursive: true })
  try {
    execFileSync("go", ["build", "-gcflags=all=-N -l", "-ldflags=-s -w", "-o", program, "."], {
      cwd: join(import.meta.dir, "goOidc"),
      // Without C, whose compiler would take a third of the time.
      env: { ...process.env, CGO_ENABLED: "0", GOFLAGS: "-buildvcs=false" },
      stdio: ["ignore", "ignore", "pipe"]
    })
  } catch (thrown) {
    console.log(`go-oidc is left out: ${String(thrown).split("\n", 1)[0]}`)
    return undefined
  }
  return existsSync(program) ? program : undefined
}

const script = python()
const programs: ReadonlyArray<
  readonly [name: string, command: () => readonly [string, ...ReadonlyArray<string>] | undefined]
> = [
  ["Authlib", () => (script === undefined ? undefined : [script, join(import.meta.dir, "openIdAuthlib.py")])],
  [
    "go-oidc",
    () => {
      const program = goProgram()
      return program === undefined ? undefined : [program]
    }
  ]
]

const callback = "http://127.0.0.1:9/callback"

for (const [name, commandOf] of programs) {
  test(`${name} signs a person in, refreshes, reads userinfo and signs out`, async () => {
    const command = commandOf()
    if (command === undefined) return
    let auth: EmbeddedTessera | undefined
    const server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: (request) => auth?.handle(request) ?? new Response(null, { status: 503 })
    })
    try {
      await withHost({ owner, issuer: `http://127.0.0.1:${server.port}` }, async (host) => {
        auth = host
        const { client, secret = "" } = await host.clients.register({
          client_name: "App",
          redirect_uris: [callback],
          post_logout_redirect_uris: [signedOutUri],
          token_endpoint_auth_method: "client_secret_basic"
        })
        const [program, ...args] = command
        const child = spawn(program, [...args, host.issuer, client.id, secret, callback, signedOutUri], {
          stdio: ["pipe", "pipe", "inherit"]
        })
        try {
          const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
          const back = await approve(host, new URL(String((await lines.next()).value)))
          child.stdin.write(`${back.href}\n`)
          expect(JSON.parse(String((await lines.next()).value))).toEqual({
            sub: "ada",
            again: "ada",
            email: "ada@shop.example",
            verified: true
          })
          expect(await leave(host, new URL(String((await lines.next()).value)))).toBe(signedOutAt)
        } finally {
          child.kill("SIGKILL")
        }
      })
    } finally {
      await server.stop(true)
    }
  }, 150_000)
}
