import { describe, expect, test } from "bun:test"
import { generateKeyPairSync } from "node:crypto"
import { chmodSync, chownSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Clock, Effect, Option } from "effect"
import * as Memory from "../../adapters/memory/Memory.ts"
import * as Sqlite from "../../adapters/sqlite/Sqlite.ts"
import { encodeBody, grantKind } from "../../core/engine/Records.ts"
import { makeSessions } from "../../core/people/Sessions.ts"
import { Entropy } from "../../core/ports/Entropy.ts"
import { Storage } from "../../core/ports/Storage.ts"
import { GrantId, PlaceId, UserId } from "../../core/rules/Id.ts"
import { Instant } from "../../core/rules/Instant.ts"
import { WorkspaceId } from "../../core/workspace/Workspace.ts"
import { roundTrip } from "../../runtimes/command/doctor.ts"
import { version } from "../../runtimes/command/version.ts"
import { makeOldFile } from "../adapters/sqlite/oldFile.ts"
import { serverProgram } from "../given/serverProgram.ts"
import { active, policy } from "../grant/given.ts"
import { freePort } from "../harness/freePort.ts"
import { runProgram } from "../harness/runProgram.ts"
import { inFolder } from "../harness/scoped.ts"
import { unprivilegedUser } from "../harness/unprivilegedUser.ts"
import { startChild } from "./given/Child.ts"
import { command, tessera } from "./given/tessera.ts"

// A test reads what a command printed; a wrong shape fails its assertions.
const read = (text: string) => JSON.parse(text) as Record<string, string>
const readAll = (text: string) => JSON.parse(text) as ReadonlyArray<Record<string, string>>

/** The doctor asks who answers there: on the usual port it may be another server. */
const ownAddress = Effect.map(freePort, (port) => ({ PORT: String(port) }))

const password = "correct horse battery staple"
const sealKey = "A".repeat(43)

describe("the command line", () => {
  test("takes a workspace from no other address of this machine: only a server does", () =>
    inFolder(function* (cwd) {
      const [its, another] = yield* Effect.all([freePort, freePort])
      const at = (port: number, ...args: ReadonlyArray<string>) => command(args, { cwd, env: { PORT: String(port) } })
      const first = yield* at(its, "resource", "add", "https://a.example")
      expect([first.status, first.stderr]).toEqual([0, ""])
      for (const args of [
        ["resource", "add", "https://b.example"],
        ["resource", "list"],
        ["issuer", "add", "https://login.example", "--jwks-uri", "https://login.example/keys"]
      ]) {
        const { status, stderr, stdout } = yield* at(another, ...args)
        expect([status, stdout]).toEqual([1, ""])
        expect(stderr).toContain(`http://127.0.0.1:${its}`)
        expect(stderr.trim().split("\n")).toHaveLength(1)
      }
      expect((yield* at(its, "resource", "list")).stdout).toContain("https://a.example")
    }))

  test("helps with each of its parts", () =>
    inFolder(function* (cwd) {
      const paths = ["", "serve", "client create", "key", "user add", "user place add", "doctor"]
      const all = paths.map((path) => path.split(" ").filter((word) => word !== ""))
      const ended = yield* Effect.forEach(all, (args) => command([...args, "--help"], { cwd }), { concurrency: 2 })
      for (const [i, { status, stderr, stdout }] of ended.entries()) {
        expect(stdout).toContain("DESCRIPTION")
        expect(stdout).toContain(["tessera", ...(all[i] ?? [])].join(" "))
        expect(stderr).toBe("")
        expect(status).toBe(0)
      }
    }))

  test("has the version of the package", () =>
    inFolder(function* (cwd) {
      const { version: published } = read(readFileSync(join(import.meta.dir, "../../package.json"), "utf8"))
      expect(version).toBe(published ?? "")
      expect((yield* command(["--version"], { cwd })).stdout).toContain(version)
    }))

  test("tells wrong usage from what is not there and what is not allowed, and keeps it out of standard output", () =>
    inFolder(function* (cwd) {
      const wrong = [
        { args: [], status: 2 },
        { args: ["client"], status: 2 },
        { args: ["clinet", "list"], status: 2 },
        { args: ["client", "list", "--jsno"], status: 2 },
        { args: ["client", "show"], status: 2 },
        { args: ["client", "create", "--name", "x", "--redirect-uri", "http://evil.example"], status: 2 },
        { args: ["key", "create", "--name", "x", "--expires", "-3 days"], status: 2 },
        { args: ["user", "add", "nobody"], status: 2, input: password },
        { args: ["user", "add", "a@b.example"], status: 2, input: "" },
        { args: ["client", "show", "nobody"], status: 3 },
        { args: ["client", "disable", "AAAAAAAAAAAAAAAAAAAAAA"], status: 3 },
        { args: ["client", "approve", "AAAAAAAAAAAAAAAAAAAAAA"], status: 3 },
        { args: ["client", "refuse", "nobody"], status: 3 },
        { args: ["client", "secret", "new", "AAAAAAAAAAAAAAAAAAAAAA"], status: 3 },
        { args: ["client", "secret", "list", "nobody"], status: 3 },
        { args: ["client", "secret", "drop", "AAAAAAAAAAAAAAAAAAAAAA"], status: 3 },
        { args: ["client", "secret", "new", "AAAAAAAAAAAAAAAAAAAAAA", "--keep", "soon"], status: 2 },
        { args: ["client", "delete", "AAAAAAAAAAAAAAAAAAAAAA"], status: 3 },
        { args: ["key", "revoke", "AAAAAAAA"], status: 3 },
        { args: ["key", "rotate", "AAAAAAAA"], status: 3 },
        { args: ["user", "remove", "a@b.example"], status: 3 },
        { args: ["user", "password", "a@b.example"], status: 3, input: password },
        { args: ["user", "add", "a@b.example"], status: 4, input: "short" },
        { args: ["session", "list", "a@b.example"], status: 3 },
        { args: ["session", "end", "a@b.example"], status: 3 }
      ]
      const ended = yield* Effect.forEach(wrong, ({ args, input = "" }) => command(args, { cwd, input }), {
        concurrency: 2
      })
      expect(ended.map(({ status }, i) => [wrong[i]?.args, status])).toEqual(
        wrong.map(({ args, status }) => [args, status])
      )
      for (const { stderr, stdout } of ended) {
        expect(stdout).toBe("")
        expect(stderr).not.toBe("")
        expect(stderr).not.toContain("    at ")
      }
    }))

  test("looks after people, and never shows a password", () =>
    inFolder(function* (cwd) {
      const runs: Array<{ status: number | null; stdout: string; stderr: string }> = []
      const run = (args: ReadonlyArray<string>, input = "") =>
        Effect.map(command(args, { cwd, input, env: { AUDIT: "./audit.jsonl" } }), (ended) => {
          runs.push(ended)
          return ended
        })
      const first = yield* run(["user", "add", "Ada@Example.com", "--name", "Ada", "--json"], `${password}\n`)
      expect(read(first.stdout)).toMatchObject({ email: "ada@example.com", name: "Ada", role: "owner" })
      expect((yield* run(["user", "add", "ada@example.com"], password)).status).toBe(4)
      const second = yield* run(["user", "add", "bob@example.com", "--json"], password)
      expect(read(second.stdout).role).toBe("member")
      expect(
        readAll((yield* run(["user", "list", "--json"])).stdout)
          .map(({ email }) => email)
          .sort()
      ).toEqual(["ada@example.com", "bob@example.com"])
      expect(readAll((yield* run(["session", "list", "bob@example.com", "--json"])).stdout)).toEqual([])
      expect((yield* run(["session", "end", "bob@example.com", "--id", "0"])).status).toBe(3)
      expect((yield* run(["session", "end", "bob@example.com"])).status).toBe(0)
      expect((yield* run(["user", "password", "bob@example.com"], `${password} 2`)).status).toBe(0)
      expect((yield* run(["user", "remove", "ada@example.com"])).status).toBe(4)
      expect((yield* run(["user", "password", "ada@example.com"], "short")).status).toBe(4)
      const { id } = read(first.stdout)
      const actor = "command line"
      const told = readFileSync(join(cwd, "audit.jsonl"), "utf8").trim().split("\n").map(read)
      const refusals = told.filter(({ event }) => event === "AccountRefused")
      expect(refusals).toMatchObject([
        { change: "opened", reason: "email_taken", actor },
        { change: "removed", reason: "last_owner", account: id, actor },
        { change: "password", reason: "password_too_short", account: id, actor }
      ])
      expect((yield* run(["user", "remove", "bob@example.com"])).status).toBe(0)
      expect((yield* run(["user", "list"])).stdout).not.toContain("bob@example.com")
      for (const { stderr, stdout } of runs) expect(stdout + stderr).not.toContain(password)
    }))

  test("takes a password with its spaces, and without the end of its line", () =>
    inFolder(function* (cwd) {
      // Ten characters, which are the least.
      for (const [n, input] of [" 1k2w3c7d ", " 1k2w3c7d \n", " 1k2w3c7d \r\n"].entries()) {
        expect((yield* command(["user", "add", `${n}@example.com`], { cwd, input })).status).toBe(0)
      }
      expect((yield* command(["user", "add", "short@example.com"], { cwd, input: "a1b2c3d4e\r\n" })).status).toBe(4)
    }))

  test("ends the one session that is named, and then all", () =>
    inFolder(function* (cwd) {
      const added = yield* command(["user", "add", "ada@example.com", "--json"], { cwd, input: password })
      const account = { id: UserId.make(read(added.stdout).id ?? ""), epoch: 1 }
      const now = Instant.make(yield* Clock.currentTimeMillis)
      yield* Effect.gen(function* () {
        const sessions = makeSessions(yield* Storage, yield* Entropy, 60 * 60 * 1000)
        for (const browser of ["one", "two", "three"]) {
          yield* sessions.start(WorkspaceId.make("default"), account, now, browser)
        }
      }).pipe(Effect.provide([Sqlite.layer({ path: join(cwd, "data/tessera.db") }), Entropy.layer]))
      const left = Effect.map(command(["session", "list", account.id, "--json"], { cwd }), ({ stdout }) =>
        readAll(stdout).map(({ browser, id }) => [browser, id])
      )
      const [first = [], ...others] = yield* left
      expect(others).toHaveLength(2)
      /** What it printed, and how often the audit stream, which stands beside that, tells of it. */
      const end = (...more: ReadonlyArray<string>) =>
        Effect.map(
          command(["session", "end", "ada@example.com", "--json", ...more], { cwd, env: { AUDIT: "stdout" } }),
          ({ stderr, stdout }) => ({ ...JSON.parse(stdout), noted: stderr.match(/"signed_out"/g)?.length ?? 0 })
        )
      expect(yield* end("--id", first[1] ?? "")).toEqual({ account: account.id, ended: 1, noted: 1 })
      expect(yield* left).toEqual(others)
      expect(yield* end()).toEqual({ account: account.id, ended: 2, noted: 1 })
      expect(yield* left).toEqual([])
      expect(yield* end()).toEqual({ account: account.id, ended: 0, noted: 0 })
    }))

  test("gives people places, tells them, and takes them away with what was allowed there", () =>
    inFolder(function* (cwd) {
      const run = (args: ReadonlyArray<string>, input = "") => command(["user", ...args], { cwd, input })
      const added = yield* run(["add", "ada@example.com", "--json"], password)
      const { id = "" } = read(added.stdout)
      const places = () =>
        Effect.map(run(["list", "--json"]), ({ stdout }) => readAll(stdout).map(({ places }) => places as unknown))
      expect(yield* places()).toEqual([[]])
      const acme = { id: "acme", label: "Acme", detail: "acme.example", scopes: ["profile", "api"] }
      const given = yield* run([
        "place",
        "add",
        "ada@example.com",
        "acme",
        ...["--label", "Acme", "--detail", "acme.example", "--scope", "profile api", "--json"]
      ])
      expect([given.status, JSON.parse(given.stdout)]).toMatchObject([0, { id, places: [acme] }])
      // By the person's id, and with a place's that would be a flag.
      expect((yield* run(["place", "add", id, "--", "-x<y>"])).status).toBe(0)
      expect(yield* places()).toEqual([[acme, { id: "-x<y>", label: "-x<y>" }]])
      expect((yield* run(["list"])).stdout).toContain("acme -x<y>")
      const unknown = yield* run(["place", "add", id, "acme", "--scope", "api evil:scope"])
      expect([unknown.status, unknown.stdout, unknown.stderr]).toEqual([2, "", expect.stringContaining("evil:scope")])
      expect(unknown.stderr).not.toContain(" api")
      for (const wrong of [["a b"], ["acme", "--label", "x".repeat(101)], ["acme", "--detail", "\u200b"]]) {
        expect((yield* run(["place", "add", id, ...wrong])).status).toBe(2)
      }
      for (const nobody of ["bob@example.com", "AAAAAAAAAAAAAAAAAAAAAA", "acme"]) {
        expect((yield* run(["place", "add", nobody, "acme"])).status).toBe(3)
      }
      expect(yield* places()).toEqual([[acme, { id: "-x<y>", label: "-x<y>" }]])

      const grantId = "g".repeat(22)
      const stored = Effect.gen(function* () {
        const storage = yield* Storage
        const grant = { ...active({ place: PlaceId.make("acme") }), id: GrantId.make(grantId) }
        const workspace = WorkspaceId.make("default")
        const body = encodeBody(grantKind(policy), { ...grant, subject: { _tag: "User", id: UserId.make(id) } }, "t")
        yield* storage.insert({ workspace, kind: "grant", id: grantId, owner: `user:${id}`, expiresAt: null, body })
        return storage
      })
      const sqlite = Sqlite.layer({ path: join(cwd, "data/tessera.db") })
      yield* Effect.provide(stored, sqlite)
      const removed = yield* command(["user", "place", "remove", "ada@example.com", "acme", "--json"], {
        cwd,
        env: { AUDIT: "stdout" }
      })
      const told = { account: id, change: "place removed", place: "acme", actor: "command line" }
      expect(removed.stderr.trim().split("\n").map(read)).toMatchObject([
        { event: "AccountChanged", ...told },
        { event: "GrantRevoked", grant: "gggggggg", reason: "by_owner", actor: "command line" }
      ])
      expect([removed.status, read(removed.stdout)]).toMatchObject([0, { account: id, place: "acme", removed: true }])
      const kept = yield* Effect.provide(
        Effect.flatMap(Storage, (storage) =>
          storage.get({ workspace: WorkspaceId.make("default"), kind: "grant", id: grantId })
        ),
        sqlite
      )
      expect(Option.getOrThrow(kept).body).toMatchObject({ _tag: "Revoked", why: "by_owner", place: "acme" })
      expect((yield* run(["place", "remove", "ada@example.com", "acme"])).status).toBe(3)
      expect(yield* places()).toEqual([[{ id: "-x<y>", label: "-x<y>" }]])
    }))

  test("takes no password as an argument", () =>
    inFolder(function* (cwd) {
      for (const args of [
        ["user", "add", "a@b.example", "--password", password],
        ["user", "add", "a@b.example", password],
        ["user", "password", "a@b.example", password]
      ]) {
        expect((yield* command(args, { cwd, input: password })).status).toBe(2)
      }
      expect((yield* command(["user", "list", "--json"], { cwd })).stdout.trim()).toBe("[]")
    }))

  test("takes an id that begins as a flag does for an id", () =>
    inFolder(function* (cwd) {
      const id = "-".padEnd(22, "A")
      const keyId = "-hGTh17j"
      for (const args of [
        ["client", "show", id],
        ["client", "disable", id, "--json"],
        ["client", "delete", "--json", "--", id],
        ["client", "exchange", id, "http://127.0.0.1:3000", "--json"],
        ["key", "revoke", keyId],
        ["key", "rotate", keyId],
        ["signing-keys", "retire", "-".padEnd(43, "A"), "--compromised"]
      ]) {
        const { status, stderr } = yield* command(args, { cwd })
        expect([status, stderr]).toEqual([3, expect.stringMatching(/^There is no such (client|key)\./)])
      }
      for (const args of [
        ["--client", id, "--json"],
        ["--json", "--user", id],
        ["--user", id, "--client", id, "--json"],
        ["--client", id, "--json", "--"],
        // As an application goes by that brought its id.
        ["--client", "https://app.example.org/client.json", "--json"]
      ]) {
        const { status, stdout } = yield* command(["grant", "end", ...args], { cwd })
        expect([status, stdout.trim()]).toEqual([0, expect.stringContaining('"ended": 0')])
      }
      expect((yield* command(["grant", "end", "--client", "no id"], { cwd })).status).toBe(3)
    }))

  test("registers a client with what a file says of it, by names that are known", () =>
    inFolder(function* (cwd) {
      const run = (...args: ReadonlyArray<string>) => command(args, { cwd })
      const more = {
        post_logout_redirect_uris: ["https://a.example/bye"],
        // Elsewhere than its redirect URIs: an owner answers for it.
        backchannel_logout_uri: "https://logout.example/told",
        id_token_signed_response_alg: "RS256",
        require_pushed_authorization_requests: true,
        default_max_age: 600,
        client_uri: "https://a.example/"
      }
      const app = ["client", "create", "--name", "More", "--redirect-uri", "https://a.example/cb", "--json"]
      const withMore = (members: unknown) => {
        writeFileSync(join(cwd, "more.json"), JSON.stringify(members))
        return run(...app, "--metadata", "more.json")
      }
      expect(read((yield* withMore(more)).stdout)).toMatchObject(more)
      const known = (yield* run("client", "list")).stdout
      for (const [members, word] of [
        [{ ...more, post_logout_redirect_uri: "https://a.example/bye" }, "post_logout_redirect_uri"],
        [{ id_token_signed_response_alg: "none" }, "id_token_signed_response_alg"],
        [{ post_logout_redirect_uris: "https://a.example/bye" }, "post_logout_redirect_uris"],
        [{ frontchannel_logout_uri: "https://a.example/frame" }, "frontchannel_logout_uri"],
        [{ redirect_uris: ["https://b.example/cb"] }, "redirect_uris"],
        [{ jwks: { keys: [] } }, "jwks"],
        [[more], "more.json"],
        [null, "more.json"]
      ] as const) {
        const { status, stderr, stdout } = yield* withMore(members)
        expect([members, status, stderr.includes(word), stdout]).toEqual([members, 2, true, ""])
      }
      expect((yield* run(...app, "--metadata", "missing.json")).status).toBe(2)
      expect((yield* run("client", "list")).stdout).toBe(known)
    }))

  test("looks after clients", () =>
    inFolder(function* (cwd) {
      const run = (...args: ReadonlyArray<string>) => command(args, { cwd })
      const made = yield* run("client", "create", "--name", "Job", "--grant-type", "client_credentials", "--json")
      const { client_id = "", client_secret = "" } = read(made.stdout)
      expect(client_secret).toStartWith("tsr_cs_")
      const app = yield* run("client", "create", "--name", "\u001b[31mApp", "--redirect-uri", "https://a.example/cb")
      // Names are held to printable text, here as at the registration endpoint.
      expect(app.status).toBe(2)
      for (const name of ["", " ", "\u200b"]) {
        expect([
          name,
          (yield* run("client", "create", "--name", name, "--grant-type", "client_credentials")).status
        ]).toEqual([name, 2])
      }
      yield* run("client", "create", "--name", "App", "--redirect-uri", "https://a.example/cb", "--auth-method", "none")
      const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
      writeFileSync(join(cwd, "public.json"), JSON.stringify({ keys: [publicKey.export({ format: "jwk" })] }))
      writeFileSync(join(cwd, "private.json"), JSON.stringify({ keys: [privateKey.export({ format: "jwk" })] }))
      const signs = ["client", "create", "--name", "Signer", "--grant-type", "client_credentials"]
      const signing = (...more: ReadonlyArray<string>) => run(...signs, "--auth-method", "private_key_jwt", ...more)
      const signer = read((yield* signing("--jwks", "public.json", "--json")).stdout)
      expect(signer).toMatchObject({ token_endpoint_auth_method: "private_key_jwt", jwks: { keys: [{ kty: "EC" }] } })
      for (const more of [[], ["--jwks", "private.json"], ["--jwks", "missing.json"]]) {
        expect([more, (yield* signing(...more)).status]).toEqual([more, 2])
      }
      const list = yield* run("client", "list")
      expect(list.stdout).toContain("App")
      expect(list.stdout).toContain(client_id)
      expect((yield* run("client", "disable", client_id, "--json")).stdout).toContain('"disabled": true')
      const told = (yield* run("client", "show", client_id)).stdout
      expect(told).toMatch(/disabled\s+true/)
      expect(told).toMatch(/client_id_issued_at\s+\d{4}-\d\d-\d\dT/)
      expect(told).toMatch(/last_used_at\s+-$/m)
      expect((yield* run("client", "enable", client_id)).status).toBe(0)
      const shown = yield* run("client", "show", client_id, "--json")
      expect(read(shown.stdout)).toMatchObject({ client_id, client_name: "Job", made_by: "owner" })
      expect(shown.stdout).not.toContain(client_secret)
      const renewed = read((yield* run("client", "secret", "new", client_id, "--keep", "7 days", "--json")).stdout)
      expect(renewed.client_secret).toStartWith("tsr_cs_")
      expect((yield* run("client", "secret", "new", client_id)).status).toBe(4)
      const secrets = (yield* run("client", "secret", "list", client_id)).stdout
      expect(secrets).not.toContain("tsr_cs_")
      expect(secrets.trimEnd().split("\n")).toHaveLength(3)
      expect((yield* run("client", "secret", "drop", client_id, "--json")).stdout).toContain('"dropped": true')
      expect((yield* run("client", "delete", client_id)).status).toBe(0)
      expect((yield* run("client", "show", client_id)).status).toBe(3)
    }))

  test("looks after API keys, and shows one once", () =>
    inFolder(function* (cwd) {
      const run = (...args: ReadonlyArray<string>) => command(args, { cwd })
      const made = read((yield* run("key", "create", "--name", "Backup", "--expires", "90 days", "--json")).stdout)
      expect(made.key).toStartWith("tsr_ak_")
      const list = yield* run("key", "list", "--json")
      expect(readAll(list.stdout)).toMatchObject([{ id: made.id ?? "", name: "Backup" }])
      expect(list.stdout).not.toContain(made.key ?? "")
      for (const wrong of [
        ["--scope", "apy"],
        ["--scope", "api", "--introspect-only"]
      ]) {
        expect((yield* run("key", "create", "--name", "K", ...wrong)).status).toBe(2)
      }
      const unnamed = yield* run("key", "create", "--name", "\u200b")
      expect([unnamed.status, unnamed.stderr]).toEqual([2, expect.stringContaining("a name that people can read")])
      const endless = yield* run("key", "create", "--name", "K", "--expires", "Infinity")
      expect([endless.status, endless.stderr]).toEqual([2, expect.stringContaining("a hundred years at most")])
      expect(readAll((yield* run("key", "list", "--json")).stdout)).toHaveLength(1)
      const next = read((yield* run("key", "rotate", made.id ?? "", "--json")).stdout)
      expect(next.key).toStartWith("tsr_ak_")
      expect(next.key).not.toBe(made.key)
      expect(readAll((yield* run("key", "list", "--json")).stdout)).toMatchObject([
        { id: next.id ?? "", name: "Backup" }
      ])
      expect((yield* run("key", "rotate", made.id ?? "")).status).toBe(3)
      expect((yield* run("key", "revoke", next.id ?? "")).status).toBe(0)
      expect((yield* run("key", "revoke", next.id ?? "")).status).toBe(3)
      yield* run("key", "create", "--name", "Narrow", "--scope", "profile")
      yield* run("key", "create", "--name", "Guard", "--introspect-only")
      const reaches = readAll((yield* run("key", "list", "--json")).stdout).map(({ name, opens }) => [name, opens])
      expect(reaches.sort()).toEqual([
        ["Guard", "introspection"],
        ["Narrow", "profile"]
      ])
      expect((yield* run("sweep", "--json")).status).toBe(0)
    }))

  test("makes seal keys that SEAL_KEYS takes", () =>
    inFolder(function* (cwd) {
      const [one, two] = [yield* command(["seal-keys", "new"], { cwd }), yield* command(["seal-keys", "new"], { cwd })]
      const SEAL_KEYS = `${one.stdout.trim()},${two.stdout.trim()}`
      const { status, stdout } = yield* command(["doctor"], { cwd, env: { SEAL_KEYS, ...(yield* ownAddress) } })
      expect(stdout).toContain("2 in SEAL_KEYS")
      expect(stdout).not.toContain(one.stdout.trim())
      expect(status).toBe(0)
    }))

  test("fails where what it prints is lost, as on a full disk, and not where its reader has enough", () =>
    inFolder(function* (cwd) {
      const { args, env, file } = serverProgram()
      const printed = (words: ReadonlyArray<string>, into: string) =>
        Effect.map(
          runProgram("sh", ["-c", `{ "$@"; echo $? > status; } ${into}`, "sh", file, ...args, ...words], {
            cwd,
            env
          }),
          ({ stderr }) => ({ status: Number(readFileSync(join(cwd, "status"), "utf8")), stderr })
        )
      for (const words of [["seal-keys", "new"], ["--version"], ["key", "create", "--name", "lost"]]) {
        const { status, stderr } = yield* printed(words, "> /dev/full")
        expect([words, status]).toEqual([words, 1])
        expect(stderr).toContain("ENOSPC")
      }
      // What was wrong in the first place stays so.
      expect((yield* printed(["client", "show", "nobody"], "> /dev/full")).status).toBe(3)
      expect(yield* printed(["openapi"], "| head -c 1 > start")).toEqual({ status: 0, stderr: "" })
    }))

  test("logs beside what was asked for, and not into it", () =>
    inFolder(function* (cwd) {
      const env = {
        ...(yield* ownAddress),
        DATABASE_URL: "postgres://tessera@127.0.0.1:1/tessera",
        SEAL_KEYS: sealKey,
        STORAGE_TIMEOUT: "100 millis"
      }
      const migration = yield* command(["migrate", "--dry-run"], { cwd, env })
      expect(migration).toMatchObject({ status: 1, stdout: "" })
      expect(migration.stderr).toContain("Waiting for PostgreSQL")
      const examined = yield* command(["doctor", "--json"], { cwd, env })
      expect(readAll(examined.stdout).map(({ state, what }) => [what, state])).toContainEqual(["storage", "bad"])
      expect(examined.stderr).toContain("Waiting for PostgreSQL")
    }))

  test("tells scripts of a migration in one form, whatever the storage", () =>
    inFolder(function* (cwd) {
      const tell = (...more: ReadonlyArray<string>) =>
        Effect.map(command(["migrate", "--json", ...more], { cwd }), ({ stdout }): unknown => JSON.parse(stdout))
      expect(yield* tell()).toEqual({ done: [] })
      expect(yield* tell("--dry-run")).toEqual({ pending: [], sql: "" })
    }))

  test("does nothing where the configuration is wrong, and says all of it", () =>
    inFolder(function* (cwd) {
      const env = { PORT: "x", DATABASE_URL: "mysql://admin:hunter2@db", REFRESH_GRACE: "soon" }
      for (const args of [["serve"], ["client", "list"], ["migrate"]]) {
        const { status, stderr } = yield* command(args, { cwd, env })
        expect(status).toBe(2)
        expect(stderr.trim().split("\n")).toHaveLength(3)
        for (const name of Object.keys(env)) expect(stderr).toContain(`${name}: expected `)
        expect(stderr).not.toContain("hunter2")
      }
      // What a start needs beside, which a command does without.
      const missing = { PORT: "x", AUDIT: "./nowhere/audit.jsonl", WORKSPACES: "./nowhere.json" }
      const started = yield* command(["serve"], { cwd, env: missing })
      const told = started.stderr
        .trim()
        .split("\n")
        .map((line) => line.split(":")[0])
      expect([started.status, told.toSorted()]).toEqual([2, Object.keys(missing).toSorted()])
      const memory = yield* command(["user", "list"], { cwd, env: { DATABASE_URL: "memory:" } })
      expect(memory.status).toBe(2)
      expect(memory.stderr).toContain("memory:")
    }))
})

describe("a workspace that another issuer has", () => {
  test("is refused at the start and found by the doctor, until it is said to have moved", () =>
    inFolder(function* (cwd) {
      const own = { ...(yield* ownAddress), HOST: "127.0.0.1", AUDIT: "./audit.jsonl" }
      const at = (issuer: string) => ({ cwd, env: { ...own, BASE_URL: issuer } })
      const [first, second] = ["https://a.example.com", "https://b.example.com"]
      const move = (to: string) => command(["workspace", "moved", "--to", to, "--json"], at(first))
      expect((yield* move(second)).status).toBe(3)
      const starts = (issuer: string) =>
        Effect.scoped(
          Effect.gen(function* () {
            const server = yield* tessera(["serve"], at(issuer))
            yield* Effect.promise(() => server.says(/a.example|b.example/))
          })
        )
      yield* starts(first)
      const refused = yield* command(["serve"], at(second))
      expect(refused.status).toBe(1)
      expect(refused.stderr).toContain(`tessera workspace moved --to ${second}`)
      const states = Effect.map(command(["doctor", "--json"], at(second)), ({ stdout }) =>
        readAll(stdout).find(({ what }) => what === "storage")
      )
      expect(yield* states).toMatchObject({ state: "bad", says: expect.stringContaining(first) })
      expect((yield* move("not an issuer")).status).toBe(2)
      const moved = yield* move(second)
      expect(read(moved.stdout)).toEqual({ from: first, to: second })
      expect(readFileSync(join(cwd, "audit.jsonl"), "utf8")).toContain('"event":"WorkspaceMoved"')
      expect(yield* states).toMatchObject({ state: "good" })
      yield* starts(second)
      expect((yield* command(["serve"], at(first))).status).toBe(1)
      expect((yield* move(second)).status).toBe(0)
    }))
})

describe("the doctor", () => {
  test("finds a fresh folder healthy, and leaves it so", () =>
    inFolder(function* (cwd) {
      const { status, stdout } = yield* command(["doctor", "--json"], { cwd, env: yield* ownAddress })
      const findings = readAll(stdout)
      const looked = [
        "configuration",
        "seal keys",
        "storage",
        "clock",
        "address",
        "proxies",
        "workspaces",
        "open access"
      ]
      expect(findings.map(({ what }) => what)).toEqual(looked)
      expect(findings.map(({ state }) => state)).toEqual(looked.map(() => "good"))
      expect(status).toBe(0)
      expect([...new Bun.Glob("**").scanSync(cwd)]).toEqual([])
    }))

  test("notes that strangers may act for the workspace, unless an owner has to answer for them", () =>
    inFolder(function* (cwd) {
      const env = { ...(yield* ownAddress), BASE_URL: "https://auth.example.org" }
      const strangers = (more: Readonly<Record<string, string>>) =>
        Effect.map(command(["doctor", "--json"], { cwd, env: { ...env, ...more } }), ({ status, stdout }) => ({
          status,
          found: readAll(stdout).filter(({ what }) => what === "open access")
        }))
      const open = { WORKSPACE_ACCESS: "registered" }
      expect(yield* strangers(open)).toMatchObject({
        status: 0,
        found: [{ state: "doubtful", advice: expect.stringContaining("WORKSPACE_ACCESS=approved") }]
      })
      const local = { BASE_URL: `http://127.0.0.1:${env.PORT}` }
      const everywhere = { ...local, ...open, HOST: "0.0.0.0" }
      expect(yield* strangers(everywhere)).toMatchObject({ found: [{ state: "doubtful" }] })
      for (const more of [
        { WORKSPACE_ACCESS: "owner" },
        { WORKSPACE_ACCESS: "approved" },
        {},
        { ...open, REGISTRATION: "closed" },
        { ...local, ...open }
      ]) {
        expect(yield* strangers(more)).toMatchObject({ status: 0, found: [{ state: "good" }] })
      }
    }))

  test("tells of refreshes that were retried from another network of late", () =>
    inFolder(function* (cwd) {
      yield* command(["sweep"], { cwd })
      const env = yield* ownAddress
      const look = Effect.map(command(["doctor", "--json"], { cwd, env }), ({ status, stdout }) => ({
        status,
        found: readAll(stdout).filter(({ what }) => what === "refreshes")
      }))
      expect(yield* look).toMatchObject({ status: 0, found: [{ state: "good" }] })

      const now = yield* Clock.currentTimeMillis
      const put = (workspace: string, id: string, retriedElsewhereAt: Instant | null) =>
        Effect.flatMap(Storage, (storage) => {
          const grant = { ...active(), id: GrantId.make(id), retriedElsewhereAt }
          const body = encodeBody(grantKind(policy), grant, "w")
          return storage.insert({ workspace, kind: "grant", id, owner: "user:alice", expiresAt: null, body })
        })
      const day = 24 * 60 * 60 * 1000
      const recent = "R".repeat(22)
      yield* Effect.provide(
        Effect.all([
          put("default", recent, Instant.make(now - 29 * day)),
          put("default", "O".repeat(22), Instant.make(now - 31 * day)),
          put("default", "N".repeat(22), null),
          put("another", "A".repeat(22), Instant.make(now))
        ]),
        Sqlite.layer({ path: join(cwd, "data/tessera.db") })
      )
      const { found, status } = yield* look
      expect(status).toBe(0)
      expect(found).toMatchObject([{ state: "doubtful", advice: expect.stringContaining("RefreshRetried") }])
      expect(found[0]?.says).toEndWith(`: RRRRRRRR of client ${active().client}`)
      expect(JSON.stringify(found)).not.toContain(recent)
    }))

  test("finds a storage sound that a server sweeps between any two of its steps", () =>
    Effect.gen(function* () {
      const below = yield* Storage
      const swept = <A, E>(step: Effect.Effect<A, E>) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => Effect.andThen(below.sweep(now, 1000), step))
      const store = Storage.of({
        ...below,
        get: (key) => swept(below.get(key)),
        insert: (record) => swept(below.insert(record)),
        replace: (expected, record) => swept(below.replace(expected, record)),
        remove: (key) => swept(below.remove(key))
      })
      expect(yield* Effect.provideService(roundTrip, Storage, store)).toMatchObject({ sound: true })
    }).pipe(Effect.provide(Memory.layer), Effect.runPromise))

  test("finds keys that others can read, keys that are lost, and a file that is no database", () =>
    inFolder(function* (cwd) {
      yield* command(["sweep"], { cwd })
      const keys = join(cwd, "data/tessera.db.keys")
      const env = yield* ownAddress
      const bad = Effect.map(command(["doctor", "--json"], { cwd, env }), ({ status, stdout }) => ({
        status,
        bad: readAll(stdout).filter(({ state }) => state === "bad")
      }))
      expect(yield* bad).toEqual({ status: 0, bad: [] })

      for (const mode of [0o604, 0o640]) {
        chmodSync(keys, mode)
        expect(yield* bad).toMatchObject({
          status: 1,
          bad: [{ what: "seal keys", advice: expect.stringContaining("chmod 600") }]
        })
      }

      renameSync(keys, `${keys}.away`)
      expect(yield* bad).toMatchObject({
        status: 1,
        bad: [{ what: "seal keys", advice: expect.stringContaining("backup") }]
      })

      chmodSync(`${keys}.away`, 0o600)
      renameSync(`${keys}.away`, keys)
      writeFileSync(join(cwd, "data/tessera.db"), "this is no database at all, whatever its name says")
      expect(yield* bad).toMatchObject({ status: 1, bad: [{ what: "storage" }] })
    }))

  test("says that a file's form is older than this release, and looks at the rest, and changes nothing", () =>
    inFolder(function* (cwd) {
      const path = join(cwd, "tessera.db")
      makeOldFile(path)
      const before = readFileSync(path)
      const env = { ...(yield* ownAddress), DATABASE_URL: `sqlite:${path}`, SEAL_KEYS: "A".repeat(43) }
      const { status, stdout } = yield* command(["doctor", "--json"], { cwd, env })
      const found = readAll(stdout)
      expect(found.map(({ state, what }) => `${what}: ${state}`)).toEqual([
        "configuration: good",
        "seal keys: good",
        "storage: doubtful",
        "clock: good",
        "address: good",
        "proxies: good",
        "workspaces: good",
        "open access: good"
      ])
      expect(found[2]).toMatchObject({
        says: expect.stringContaining("has schema 1"),
        advice: expect.stringContaining("when it starts")
      })
      expect(status).toBe(0)
      expect(readFileSync(path).equals(before)).toBe(true)
    }))

  test("says that a file can't be looked at, and looks at the rest", () =>
    inFolder(function* (cwd) {
      writeFileSync(join(cwd, "no-folder"), "")
      const env = { ...(yield* ownAddress), DATABASE_URL: "sqlite:./no-folder/tessera.db" }
      const { status, stderr, stdout } = yield* command(["doctor", "--json"], { cwd, env })
      const found = readAll(stdout)
      expect(found.map(({ state, what }) => `${what}: ${state}`)).toEqual([
        "configuration: good",
        "seal keys: bad",
        "storage: bad",
        "clock: good",
        "address: good",
        "proxies: good",
        "workspaces: good",
        "open access: good"
      ])
      expect(found[1]?.says).toMatch(/^\.\/no-folder\/tessera\.db\.keys can't be looked at: ENOTDIR/)
      expect(found[2]?.says).toMatch(/^\.\/no-folder\/tessera\.db can't be looked at: ENOTDIR/)
      expect(stderr).not.toBe("")
      expect(status).toBe(1)
    }))

  test("says that a file can't be made in a folder that may not be written", () =>
    inFolder(function* (cwd) {
      chmodSync(cwd, 0o555)
      const env = { ...(yield* ownAddress), AUDIT: "./audit.jsonl" }
      const { status, stdout } = yield* command(["doctor", "--json"], { cwd, env, user: unprivilegedUser() })
      const bad = readAll(stdout).filter(({ state }) => state === "bad")
      expect(bad.map(({ what }) => what)).toEqual(["seal keys", "storage", "audit"])
      expect(bad[0]?.says).toContain(`${cwd} can't be written: EACCES`)
      expect(bad[1]?.says).toContain(`${cwd} can't be written: EACCES`)
      expect(bad[2]?.says).toContain(". can't be written: EACCES")
      expect(status).toBe(1)
    }))

  test("says where the audit file is, or will be, and what is in its way", () =>
    inFolder(function* (cwd) {
      const address = yield* ownAddress
      const audit = (AUDIT: string) =>
        Effect.map(command(["doctor", "--json"], { cwd, env: { ...address, AUDIT } }), ({ status, stdout }) => ({
          status,
          found: readAll(stdout).filter(({ what }) => what === "audit")
        }))
      const path = "./logs/audit.jsonl"
      expect(yield* audit(path)).toMatchObject({
        status: 1,
        found: [{ state: "bad", says: expect.stringContaining("./logs is missing") }]
      })
      mkdirSync(join(cwd, "logs"))
      expect(yield* audit(path)).toMatchObject({
        status: 0,
        found: [{ state: "good", says: expect.stringContaining("will be made") }]
      })
      writeFileSync(join(cwd, path), "")
      expect(yield* audit(path)).toMatchObject({
        status: 0,
        found: [{ state: "good", says: expect.stringContaining("are appended") }]
      })
      expect(yield* audit("./logs")).toMatchObject({
        status: 1,
        found: [{ state: "bad", says: "./logs is a folder" }]
      })
    }))

  test("finds keys that belong to another user than the database", () =>
    inFolder(function* (cwd) {
      const user = unprivilegedUser()
      // Only root gives files away.
      if (user === undefined) return
      yield* command(["sweep"], { cwd })
      chownSync(join(cwd, "data/tessera.db"), user.uid, user.gid)
      const { status, stdout } = yield* command(["doctor", "--json"], { cwd, env: yield* ownAddress })
      expect(readAll(stdout).filter(({ state }) => state === "bad")).toMatchObject([
        { what: "seal keys", advice: `Run: chown ${user.uid}:${user.gid} ./data/tessera.db.keys` }
      ])
      expect(status).toBe(1)
    }))

  test("says what is wrong with the configuration", () =>
    inFolder(function* (cwd) {
      const { status, stdout } = yield* command(["doctor"], { cwd, env: { PORT: "x", REGISTRATION: "token" } })
      expect(status).toBe(2)
      expect(stdout).toContain("BAD   configuration: PORT: expected")
      expect(stdout).toContain("BAD   configuration: REGISTRATION_TOKEN: expected")
    }))
})

describe("a password at the prompt", () => {
  /** `script` gives the program a terminal of its own. */
  const asked = Effect.fnUntraced(function* (cwd: string) {
    const { args, file } = serverProgram()
    const line = [file, ...args, "user", "add", "ada@example.com"].join(" ")
    const child = yield* startChild("script", ["-qec", line, "/dev/null"], { cwd, env: { PATH: process.env.PATH } })
    yield* Effect.promise(() => child.says(/New password: /))
    return child
  })

  test("is asked for twice and never echoed", () =>
    inFolder(function* (cwd) {
      const child = yield* asked(cwd)
      child.process.stdin?.write(`wrong\u007f\u007f\u007f\u007f\u007f${password}\r`)
      yield* Effect.promise(() => child.says(/again: /))
      child.process.stdin?.write(`${password}\r`)
      yield* Effect.promise(() => child.says(/may sign in, as owner/))
      expect((yield* Effect.promise(() => child.ended)).status).toBe(0)
      expect(child.stdout() + child.stderr()).not.toContain("wrong")
      expect(child.stdout() + child.stderr()).not.toContain("correct")
    }))

  test("is taken where both lines come at once", () =>
    inFolder(function* (cwd) {
      const child = yield* asked(cwd)
      child.process.stdin?.write(`${password}\r${password}\r`)
      yield* Effect.promise(() => child.says(/may sign in, as owner/))
      expect((yield* Effect.promise(() => child.ended)).status).toBe(0)
      expect(child.stdout() + child.stderr()).not.toContain("correct")
    }))

  test.each([
    ["Ctrl-C", "\u0003", 130],
    ["Ctrl-D", "\u0004", 2],
    ["another one the second time", "\rhalf of it again\r", 2]
  ])("is not set after %s", (_, key, status) =>
    inFolder(function* (cwd) {
      const child = yield* asked(cwd)
      child.process.stdin?.write(`half of it${key}`)
      expect((yield* Effect.promise(() => child.ended)).status).toBe(status)
      expect(child.stdout() + child.stderr()).not.toContain("half")
      expect(readAll((yield* command(["user", "list", "--json"], { cwd })).stdout)).toEqual([])
    })
  )
})
