import { expect, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { throwawayFolder } from "../harness/throwawayFolder.ts"
import { command } from "./given/tessera.ts"

const read = (text: string) => JSON.parse(text) as Record<string, string>

test("the command line trusts issuers, registers clients for them, and lets APIs exchange", () =>
  Effect.gen(function* () {
    const cwd = yield* throwawayFolder("trusted")
    const run = (...args: ReadonlyArray<string>) => command([...args, "--json"], { cwd })
    const login = "https://login.acme.example"
    const key = { kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" }
    writeFileSync(join(cwd, "keys.json"), JSON.stringify({ keys: [key] }))
    const added = yield* run("issuer", "add", login, "--jwks", "keys.json", "--domain", "acme.example")
    expect(added.stderr).toBe("")
    expect(read(added.stdout)).toMatchObject({ issuer: login, people: "known", domains: ["acme.example"] })
    expect((yield* run("issuer", "add", login, "--jwks", "keys.json")).status).toBe(4)
    expect((yield* run("issuer", "add", "https://other.example")).status).toBe(2)
    const listed = JSON.parse((yield* run("issuer", "list")).stdout) as ReadonlyArray<Record<string, string>>
    expect(listed.map(({ issuer }) => issuer)).toEqual([login])
    const changed = yield* run("issuer", "change", login, "--scope", "api", "--make-people")
    expect(read(changed.stdout)).toMatchObject({ keys: "1 given", people: "made", scopes: ["api"], domains: null })
    expect((yield* run("issuer", "change", login, "--scope", "root")).status).toBe(2)
    const moved = yield* run("issuer", "change", login, "--jwks-uri", `${login}/keys`)
    expect(read(moved.stdout)).toMatchObject({ keys: `${login}/keys`, people: "known", scopes: null })
    expect((yield* run("issuer", "remove", login)).status).toBe(0)
    for (const word of ["remove", "change"]) expect((yield* run("issuer", word, login)).status).toBe(3)

    expect(read((yield* run("client", "block", "evil.example")).stdout)).toMatchObject({ deleted: 0 })
    expect((yield* run("client", "block", "https://evil.example")).status).toBe(2)
    expect(JSON.parse((yield* run("client", "blocked")).stdout)).toEqual(["evil.example"])
    expect((yield* run("client", "unblock", "evil.example")).status).toBe(0)
    expect((yield* run("client", "unblock", "evil.example")).status).toBe(3)

    const type = "urn:ietf:params:oauth:grant-type:jwt-bearer"
    const made = read((yield* run("client", "create", "--name", "Orders", "--grant-type", type)).stdout)
    expect(made.grant_types).toContain(type)
    const id = made.client_id ?? ""
    const here = "http://127.0.0.1:3000"
    expect(read((yield* run("client", "exchange", id, here)).stdout)).toEqual({ client_id: id, serves: here })
    expect((yield* run("client", "exchange", id, "https://evil.example")).status).toBe(4)
    expect((yield* run("client", "exchange", "A".repeat(22), here)).status).toBe(3)
    expect((yield* run("client", "exchange", id, "none")).status).toBe(0)
    const uris = ["a", "b", "c"].flatMap((host) => ["--redirect-uri", `https://${host}.example/${"x".repeat(2000)}`])
    const wordy = read((yield* run("client", "create", "--name", "Wordy", "--grant-type", type, ...uris)).stdout)
    const tooLong = yield* run("client", "exchange", wordy.client_id ?? "", `${here}/${"a".repeat(1500)}`)
    expect([tooLong.status, tooLong.stderr.includes("8192")]).toEqual([4, true])
  }).pipe(Effect.scoped, Effect.runPromise))

test("the command line lists APIs, beside those that are configured, and takes them off again", () =>
  Effect.gen(function* () {
    const cwd = yield* throwawayFolder("resources")
    writeFileSync(
      join(cwd, "resources.json"),
      '{ "resources": [{ "at": "https://mcp.example.com", "name": "Tools" }] }'
    )
    const env = { RESOURCES: "./resources.json" }
    const run = (...args: ReadonlyArray<string>) => command(["resource", ...args, "--json"], { cwd, env })
    const listed = Effect.map(run("list"), ({ stdout }) =>
      (JSON.parse(stdout) as ReadonlyArray<Record<string, unknown>>).map(({ at, configured, scopes }) => [
        at,
        configured,
        scopes
      ])
    )
    const orders = "https://orders.example"
    const tools = ["https://mcp.example.com", true, null]
    expect(yield* listed).toEqual([tools])
    expect((yield* run("add", orders, "--scope", "api")).status).toBe(0)
    expect(yield* listed).toEqual([tools, [orders, false, ["api"]]])
    for (const wrong of [[`${orders}/`], ["http://orders.example"], [`${orders}/v1`, "--scope", "root"]]) {
      expect((yield* run("add", ...wrong)).status).not.toBe(0)
    }
    expect((yield* run("remove", "https://mcp.example.com")).status).toBe(3)
    expect((yield* run("remove", orders)).status).toBe(0)
    expect((yield* run("remove", orders)).status).toBe(3)
    expect(yield* listed).toEqual([tools])
  }).pipe(Effect.scoped, Effect.runPromise))
