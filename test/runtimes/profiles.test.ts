import { expect, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { keyOf } from "../given/pushing.ts"
import { startServer } from "../given/server.ts"
import { command } from "./given/tessera.ts"

const readAll = (text: string) => JSON.parse(text) as ReadonlyArray<Record<string, string>>

test("the command line chooses a profile for a client that keeps its rules, and the doctor tells who does not", () =>
  Effect.gen(function* () {
    const server = yield* startServer()
    const env = { DATABASE_URL: `sqlite:${join(server.folder, "tessera.db")}`, BASE_URL: server.url }
    const run = (...args: ReadonlyArray<string>) => command(args, { cwd: server.folder, env })
    const { jwk } = yield* Effect.promise(() => keyOf("ES256", "one"))
    writeFileSync(join(server.folder, "keys.json"), JSON.stringify({ keys: [jwk] }))
    const job = ["client", "create", "--grant-type", "client_credentials", "--json", "--name"]
    const made = (...more: ReadonlyArray<string>) =>
      Effect.map(run(...job, ...more), ({ stdout }) => String((JSON.parse(stdout) as { client_id: string }).client_id))
    const signs = yield* made("Signs", "--auth-method", "private_key_jwt", "--jwks", "keys.json")
    const tells = yield* made("Tells")
    const choose = (id: string, name: string) => Effect.map(run("client", "profile", id, name), ({ status }) => status)
    expect(yield* choose(signs, "fapi2")).toBe(0)
    const { stdout: shown } = yield* run("client", "show", signs, "--json")
    expect(JSON.parse(shown)).toMatchObject({ security_profile: "fapi2" })
    expect(yield* choose(tells, "fapi2")).toBe(4)
    expect(yield* choose("A".repeat(22), "fapi2")).toBe(3)
    const profiles = (more: Record<string, string>) =>
      Effect.map(command(["doctor", "--json"], { cwd: server.folder, env: { ...env, ...more } }), ({ stdout }) =>
        readAll(stdout).find(({ what }) => what === "profiles")
      )
    expect(yield* profiles({})).toMatchObject({ state: "good" })
    const broken = yield* profiles({ FAPI2: "required" })
    expect(broken?.state).toBe("doubtful")
    expect([broken?.says?.includes(tells), broken?.says?.includes(signs)]).toEqual([true, false])
    // What it advises can be done: there is a variable that ends the complaint, and no command that would refuse.
    const [, name = "", value = ""] = /\b(FAPI2)=(\w+)/.exec(broken?.advice ?? "") ?? []
    expect(yield* profiles({ FAPI2: "required", [name]: value })).toMatchObject({ state: "good" })
    expect(broken?.advice).not.toContain("tessera client profile")

    const held = yield* command([...job, "Held", "--jwks", "keys.json"], {
      cwd: server.folder,
      env: { ...env, FAPI2: "required" }
    })
    expect(JSON.parse(held.stdout)).toMatchObject({ token_endpoint_auth_method: "private_key_jwt" })
    expect(yield* choose(signs, "standard")).toBe(0)
    expect(yield* profiles({})).toBeUndefined()
    // Each breaks two rules: with the one of before, one more than are named.
    for (const app of ["A", "B", "C", "D", "E"]) {
      yield* run("client", "create", "--name", app, "--redirect-uri", "http://127.0.0.1/callback")
    }
    expect((yield* profiles({ FAPI2: "required" }))?.says).toMatch(/\. 1 \w+$/)
  }).pipe(Effect.scoped, Effect.runPromise))
