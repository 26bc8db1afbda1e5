import { describe, expect, test } from "bun:test"
import { readFileSync, writeFileSync } from "node:fs"
import { get } from "node:http"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { Effect, type Scope } from "effect"
import { freePort } from "../harness/freePort.ts"
import { pollUntil } from "../harness/pollUntil.ts"
import { throwawayFolder } from "../harness/throwawayFolder.ts"
import { command, tessera } from "./given/tessera.ts"

interface Answer {
  readonly status: number
  readonly body: string
}

/** `fetch` would write a host of its own. */
const ask = (port: number, host: string, path: string): Effect.Effect<Answer> =>
  Effect.promise(
    () =>
      new Promise<Answer>((resolve, reject) => {
        const request = get({ host: "127.0.0.1", port, path, headers: { host }, agent: false }, (response) => {
          text(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), reject)
        })
        request.on("error", reject)
      })
  )

const issuerAt = (port: number, host: string, path = "") =>
  Effect.map(ask(port, host, `/.well-known/oauth-authorization-server${path}`), ({ body, status }) =>
    status === 200 ? String(JSON.parse(body).issuer) : status
  )

interface Given {
  readonly port: number
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly run: (...args: ReadonlyArray<string>) => ReturnType<typeof command>
  readonly becomes: (host: string, path: string, issuer: string | number) => Effect.Effect<boolean>
}

const serving = <A, E>(
  env: Readonly<Record<string, string>>,
  body: (given: Given) => Effect.Effect<A, E, Scope.Scope>,
  before: (cwd: string) => void = () => undefined
) =>
  Effect.gen(function* () {
    const cwd = yield* throwawayFolder("many")
    const port = yield* freePort
    before(cwd)
    const own = { PORT: String(port), BASE_URL: "https://id.example", AUDIT: "./audit.jsonl", ...env }
    const server = yield* tessera(["serve"], { cwd, env: own })
    yield* Effect.promise(() => server.says(/issuer/))
    return yield* body({
      port,
      cwd,
      env: own,
      run: (...args) => command(args, { cwd, env: own }),
      becomes: (host, path, issuer) =>
        pollUntil(
          Effect.map(issuerAt(port, host, path), (found) => found === issuer),
          15_000
        )
    })
  }).pipe(Effect.scoped, Effect.runPromise)

describe("a server with workspaces in its storage", () => {
  test("answers for one that is added, disabled, enabled and moved while it runs", () =>
    serving({ WORKSPACES: "store" }, ({ becomes, cwd, port, run }) =>
      Effect.gen(function* () {
        expect(yield* issuerAt(port, "id.example")).toBe("https://id.example")
        expect(yield* issuerAt(port, "acme.example")).toBe(404)
        const added = yield* run(
          "workspace",
          "add",
          "acme",
          "--issuer",
          "https://acme.example",
          "--name",
          "Acme",
          "--accent",
          "#b4451f",
          "--json"
        )
        expect(added.status).toBe(0)
        const told = JSON.parse(added.stdout)
        expect(told).toMatchObject({ id: "acme", outcome: "added", theme: { accent: "#b4451f" } })
        expect(yield* becomes("acme.example", "", "https://acme.example")).toBe(true)

        const link = new URL(told.set_up_link)
        const page = yield* ask(port, link.host, link.pathname + link.search)
        expect([page.status, page.body.includes("--brand:#b4451f"), page.body.includes("Acme")]).toEqual([
          200,
          true,
          true
        ])
        expect((yield* ask(port, "id.example", link.pathname + link.search)).status).not.toBe(200)

        yield* run("workspace", "add", "beta", "--issuer", "https://id.example/t/beta", "--name", "Beta")
        expect(yield* becomes("id.example", "/t/beta", "https://id.example/t/beta")).toBe(true)
        expect(yield* issuerAt(port, "id.example")).toBe("https://id.example")

        expect((yield* run("workspace", "disable", "acme")).status).toBe(0)
        expect(yield* becomes("acme.example", "", 503)).toBe(true)
        expect((yield* run("workspace", "enable", "acme")).status).toBe(0)
        expect(yield* becomes("acme.example", "", "https://acme.example")).toBe(true)

        expect((yield* run("workspace", "move", "acme", "--to", "https://login.acme.example")).status).toBe(0)
        expect(yield* becomes("login.acme.example", "", "https://login.acme.example")).toBe(true)
        expect(yield* becomes("acme.example", "", 404)).toBe(true)

        const listed = JSON.parse((yield* run("workspace", "list", "--json")).stdout)
        expect(listed.map(({ id, issuer }: Record<string, string>) => `${id} ${issuer}`)).toEqual([
          "default https://id.example",
          "acme https://login.acme.example",
          "beta https://id.example/t/beta"
        ])
        const events = readFileSync(join(cwd, "audit.jsonl"), "utf8")
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line))
          .filter(({ workspace }) => workspace === "acme")
          .map(({ change, event }) => change ?? event)
        expect(events).toEqual(["added", "disabled", "enabled", "WorkspaceMoved"])
        expect((yield* ask(port, "127.0.0.1:1", "/readyz")).status).toBe(200)
      })
    ))

  test("has commands that are about the workspace that is named, and about none where none is", () =>
    serving({ WORKSPACES: "store" }, ({ run }) =>
      Effect.gen(function* () {
        yield* run("workspace", "add", "acme", "--issuer", "https://acme.example", "--name", "Acme")
        const create = ["client", "create", "--name", "Job", "--grant-type", "client_credentials", "--json"]
        expect((yield* run(...create)).status).toBe(2)
        expect((yield* run(...create, "--workspace", "nobody")).status).toBe(3)
        expect((yield* run(...create, "--workspace", "a b")).status).toBe(2)
        const made = yield* run(...create, "--workspace", "acme")
        expect(made.status).toBe(0)
        const idsOf = (workspace: string) =>
          Effect.map(run("client", "list", "--json", "--workspace", workspace), ({ stdout }) =>
            JSON.parse(stdout).map(({ client_id }: Record<string, string>) => client_id)
          )
        expect(yield* idsOf("acme")).toEqual([JSON.parse(made.stdout).client_id])
        expect(yield* idsOf("default")).toEqual([])
        expect((yield* run("sweep")).status).toBe(0)
      })
    ))

  test("refuses what cannot be, and changes nothing", () =>
    serving({ WORKSPACES: "store" }, ({ run }) =>
      Effect.gen(function* () {
        const add = (id: string, issuer: string, ...more: ReadonlyArray<string>) =>
          Effect.map(run("workspace", "add", id, "--issuer", issuer, "--name", "X", ...more), ({ status }) => status)
        expect(yield* add("acme", "https://acme.example")).toBe(0)
        expect(yield* add("acme", "https://acme.example")).toBe(0)
        const refused = yield* Effect.forEach(
          [
            ["acme", "https://other.example"],
            ["other", "https://acme.example"],
            ["default", "https://other.example"],
            ["other", "https://id.example"],
            ["other", "https://id.example/oauth"],
            ["other", "https://other.example/.well-known/oauth-authorization-server"]
          ] as const,
          ([id, issuer]) => add(id, issuer)
        )
        expect(refused).toEqual([4, 4, 4, 4, 4, 4])
        expect(yield* add("other", "http://other.example")).toBe(2)
        expect(yield* add("an id", "https://other.example")).toBe(2)
        expect(yield* add("other", "https://other.example", "--accent", "red")).toBe(2)
        expect(yield* add("other", "https://other.example", "--logo", "javascript:alert(1)")).toBe(2)
        expect((yield* run("workspace", "disable", "nobody")).status).toBe(3)
        // The list has that of `BASE_URL`, too, which these commands are not for.
        for (const args of [
          ["disable"],
          ["enable"],
          ["change", "--name", "X"],
          ["move", "--to", "https://x.example"]
        ]) {
          const [verb = "", ...flags] = args
          const { status, stderr } = yield* run("workspace", verb, "default", ...flags)
          expect([status, stderr]).toEqual([4, expect.stringContaining("BASE_URL")])
        }
        expect((yield* run("workspace", "change", "acme")).status).toBe(2)
        expect((yield* run("workspace", "move", "nobody", "--to", "https://x.example")).status).toBe(3)
        expect((yield* run("workspace", "move", "acme", "--to", "https://id.example/login")).status).toBe(4)
        const changed = yield* run(
          "workspace",
          "change",
          "acme",
          "--name",
          "Acme Inc.",
          "--logo",
          "/logo.svg",
          "--json"
        )
        expect(JSON.parse(changed.stdout)).toMatchObject({ name: "Acme Inc.", theme: { logo: "/logo.svg" } })
        const listed = JSON.parse((yield* run("workspace", "list", "--json")).stdout)
        expect(listed).toHaveLength(2)
      })
    ))

  const entry = {
    id: "acme",
    issuer: "https://acme.example",
    name: "Acme",
    theme: { accent: "#b4451f", radius: 3, font: "Georgia, serif", dark: { background: "#101010" } },
    scopes: [{ name: "orders", meaning: "See your orders", needsUser: false, byDefault: true }],
    clientDocuments: ["claude.ai"]
  }
  const putting = (cwd: string) => (more: object) =>
    writeFileSync(join(cwd, "acme.json"), JSON.stringify({ ...entry, ...more }))
  const listedOf = (run: Given["run"]) =>
    Effect.map(run("workspace", "list", "--json"), ({ stdout }) =>
      JSON.parse(stdout).filter(({ id }: Record<string, string>) => id !== "default")
    )

  test("takes one as an entry of a file has it, with scopes of its own and all of its look", () =>
    serving({ WORKSPACES: "store" }, ({ becomes, cwd, port, run }) =>
      Effect.gen(function* () {
        const put = putting(cwd)
        const scopes = Effect.map(
          ask(port, "acme.example", "/.well-known/oauth-authorization-server"),
          ({ body }): unknown => JSON.parse(body).scopes_supported
        )
        put({})
        const added = yield* run("workspace", "add", "acme", "--from", "acme.json", "--json")
        expect([added.status, added.stderr]).toEqual([0, ""])
        expect(JSON.parse(added.stdout)).toMatchObject({ ...entry, outcome: "added" })
        expect(yield* becomes("acme.example", "", entry.issuer)).toBe(true)
        expect(yield* scopes).toEqual(["orders", "offline_access"])
        expect(yield* listedOf(run)).toEqual([{ ...entry, disabled: false }])

        // What the file does not say goes, but for the workspace's being disabled.
        expect((yield* run("workspace", "disable", "acme")).status).toBe(0)
        const changed = {
          name: "Acme Inc.",
          theme: { text: "#202020" },
          scopes: [...entry.scopes, { name: "stock", meaning: "See the stock", needsUser: false, byDefault: false }],
          clientDocuments: undefined
        }
        put(changed)
        expect((yield* run("workspace", "change", "acme", "--from", "acme.json")).status).toBe(0)
        const { clientDocuments: _, ...kept } = { ...entry, ...changed }
        expect(yield* listedOf(run)).toEqual([{ ...kept, disabled: true }])
        expect((yield* run("workspace", "enable", "acme")).status).toBe(0)
        const known = Effect.map(scopes, (found) => JSON.stringify(found).includes("stock"))
        expect(yield* pollUntil(known, 15_000)).toBe(true)
        // A flag changes what it says alone.
        expect((yield* run("workspace", "change", "acme", "--name", "Acme")).status).toBe(0)
        expect(yield* listedOf(run)).toEqual([{ ...kept, name: "Acme", disabled: false }])
      })
    ))

  test("takes no file that is no entry, is of another workspace, or says what other commands do", () =>
    serving({ WORKSPACES: "store" }, ({ cwd, run }) =>
      Effect.gen(function* () {
        const put = putting(cwd)
        const status = (verb: string, ...more: ReadonlyArray<string>) =>
          Effect.map(run("workspace", verb, "acme", ...more), ({ status }) => status)
        const from = ["--from", "acme.json"]
        expect(yield* status("add")).toBe(2)
        expect(yield* status("add", "--name", "Acme")).toBe(2)
        expect(yield* status("add", ...from)).toBe(2)
        put({})
        expect(yield* status("change", ...from)).toBe(3)
        for (const [flag, value] of [
          ["--name", "Acme"],
          ["--accent", "#b4451f"],
          ["--logo", "/logo.svg"],
          ["--issuer", "https://acme.example"]
        ] as const) {
          expect([flag, yield* status("add", ...from, flag, value)]).toEqual([flag, 2])
        }
        for (const wrong of [{ id: "other" }, { nam: "Acme" }, { scopes: [] }, { theme: { accent: "red" } }]) {
          put(wrong)
          expect([wrong, yield* status("add", ...from)]).toEqual([wrong, 2])
        }
        writeFileSync(join(cwd, "acme.json"), '{ "id": "acme",\n "issuer": "http://acme.example", "name": "Acme" }')
        expect((yield* run("workspace", "add", "acme", ...from)).stderr).toContain("acme.json line 2")
        put({ issuer: "https://id.example/oauth" })
        expect(yield* status("add", ...from)).toBe(4)
        expect(yield* listedOf(run)).toEqual([])

        put({})
        expect(yield* status("add", ...from)).toBe(0)
        expect(yield* status("change", ...from, "--name", "Acme")).toBe(2)
        for (const elsewhere of [{ issuer: "https://other.example" }, { disabled: true }]) {
          put({ name: "Other", ...elsewhere })
          expect([elsewhere, yield* status("change", ...from)]).toEqual([elsewhere, 4])
        }
        expect(yield* listedOf(run)).toEqual([{ ...entry, disabled: false }])
      })
    ))
})

describe("a server with workspaces in a file", () => {
  const write = (cwd: string, ...all: ReadonlyArray<object>) =>
    writeFileSync(join(cwd, "workspaces.json"), JSON.stringify(all))
  const acme = { id: "acme", issuer: "https://acme.example", name: "Acme" }
  const beta = { id: "beta", issuer: "https://id.example/beta", name: "Beta" }

  test("takes over what changes in it, and has its commands look at it", () =>
    serving(
      { WORKSPACES: "./workspaces.json" },
      ({ becomes, cwd, port, run }) =>
        Effect.gen(function* () {
          expect(yield* issuerAt(port, "acme.example")).toBe("https://acme.example")
          write(cwd, { ...acme, disabled: true }, beta)
          expect(yield* becomes("id.example", "/beta", "https://id.example/beta")).toBe(true)
          expect(yield* issuerAt(port, "acme.example")).toBe(503)
          expect((yield* run("user", "list", "--workspace", "beta")).status).toBe(0)
          const add = yield* run("workspace", "add", "x", "--issuer", "https://x.example", "--name", "X")
          expect([add.status, add.stderr.includes("./workspaces.json")]).toEqual([2, true])
          const found = JSON.parse((yield* run("doctor", "--json")).stdout)
          const at = (what: string) => found.find((finding: Record<string, string>) => finding.what === what)
          expect(at("workspaces")).toMatchObject({ state: "good" })
          expect(at("address")).toMatchObject({ state: "good", says: expect.stringContaining("answers") })
          expect((yield* run("health", "--ready")).status).toBe(0)
          // Of every workspace, and each finding says of which.
          const gateway = "https://gateway.example.com"
          const listed = yield* run("resource", "add", gateway, "--access-tokens", "jwt", "--workspace", "beta")
          expect(listed.status).toBe(0)
          write(cwd, acme, { ...beta, issuer: "https://id.example/moved" })
          const other = JSON.parse((yield* run("doctor", "--json")).stdout)
          expect(other).toContainEqual({
            what: "JWT access tokens",
            state: "doubtful",
            says: expect.stringContaining(`${gateway} in beta`),
            advice: expect.anything()
          })
          expect(other).toContainEqual({
            what: "storage",
            state: "bad",
            says: expect.stringContaining("https://id.example/beta"),
            advice: expect.anything()
          })
          writeFileSync(join(cwd, "workspaces.json"), '[\n{ "id": "acme" }]')
          const broken = JSON.parse((yield* run("doctor", "--json")).stdout)
          expect(broken.find((finding: Record<string, string>) => finding.what === "workspaces")).toMatchObject({
            state: "bad",
            says: expect.stringContaining("line 2")
          })
          expect((yield* run("serve")).status).toBe(2)
        }),
      (cwd) => write(cwd, acme)
    ))

  test("of one workspace has no other, and says how to have more", () =>
    serving({}, ({ run }) =>
      Effect.gen(function* () {
        const add = yield* run("workspace", "add", "x", "--issuer", "https://x.example", "--name", "X")
        expect([add.status, add.stderr.includes("WORKSPACES=store")]).toEqual([2, true])
        expect(JSON.parse((yield* run("workspace", "list", "--json")).stdout)).toHaveLength(1)
        expect((yield* run("user", "list")).status).toBe(0)
        expect((yield* run("user", "list", "--workspace", "default")).status).toBe(0)
        expect((yield* run("user", "list", "--workspace", "x")).status).toBe(3)
      })
    ))
})
