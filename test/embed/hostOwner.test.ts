import { describe, expect, test } from "bun:test"
import { Effect, Logger, Option } from "effect"
import { type Asserted, ResourceOwner } from "../../core/ports/ResourceOwner.ts"
import { UserId } from "../../core/rules/Id.ts"
import { Issuer, WorkspaceId } from "../../core/workspace/Workspace.ts"
import { type HostPeople, hostOwner } from "../../runtimes/embed/hostOwner.ts"
import { requestOf } from "../given/World.ts"
import { people } from "./host.ts"

const workspace = { id: WorkspaceId.make("acme"), issuer: Issuer.make("https://acme.example"), name: "Acme" }
const assertion: Asserted = { issuer: "https://idp.example", subject: "00u1", email: "ada@acme.example" }

const quiet = Logger.layer([Logger.make(() => undefined)])

const portOf = (host: HostPeople) => Effect.runPromise(Effect.provide(ResourceOwner, hostOwner(host)))

const ownerOf = (own: Partial<HostPeople>) => portOf({ ...people, ...own })

/** Whom the host says that an issuer means, or how it fails. */
const namedBy = ({ asserted }: ResourceOwner["Service"], make: boolean): Promise<string> => {
  if (asserted === undefined) throw new Error("no assertion is taken")
  return asserted(workspace, assertion, make).pipe(
    Effect.match({
      onFailure: ({ _tag }): string => _tag,
      onSuccess: (user): string => Option.getOrElse(user, () => "none")
    }),
    Effect.provide(quiet),
    Effect.runPromise
  )
}

describe("a host's people, as the core asks for them", () => {
  test("are named by an issuer as the host says, which is told whether it may make one", async () => {
    const asked: Array<unknown> = []
    const owner = await ownerOf({
      asserted: (...told) => {
        asked.push(told)
        return "ada"
      }
    })
    for (const make of [false, true]) expect(await namedBy(owner, make)).toBe("ada")
    expect(asked).toEqual([
      [{ ...assertion, make: false }, "acme"],
      [{ ...assertion, make: true }, "acme"]
    ])
  })

  const rows: ReadonlyArray<readonly [what: string, said: () => unknown, outcome: string]> = [
    ["there is none", () => undefined, "none"],
    ["there is none, as a table says it", async () => null, "none"],
    ["what no person can be called", () => "two words", "StorageUnavailable"],
    ["what is no text", () => 5, "StorageUnavailable"],
    ["nothing, and throws", () => Promise.reject(new Error("secret of the host")), "StorageUnavailable"]
  ]
  for (const [what, said, outcome] of rows) {
    test(`are none of an issuer's where the host says ${what}`, async () => {
      // What JavaScript lets through.
      const asserted = said as NonNullable<HostPeople["asserted"]>
      expect(await namedBy(await ownerOf({ asserted }), false)).toBe(outcome)
    })
  }

  test("are none of an issuer's where the host knows of no issuers", async () => {
    expect(await namedBy(await ownerOf({}), true)).toBe("none")
  })

  test("may be looked after by an object of a class, whose methods need it", async () => {
    class Shop {
      readonly #users = new Map([["ada", { name: "Ada" }]])
      signedIn() {
        return this.#users.has("ada") ? { user: "ada", session: "s" } : undefined
      }
      signInAt() {
        return `/sign-in?${this.#users.size}`
      }
      switchAt() {
        return `/switch?${this.#users.size}`
      }
      places(user: string) {
        return this.#users.has(user) ? [{ id: "home", label: "Home" }] : []
      }
      profile(user: string) {
        return this.#users.get(user)
      }
      signOut() {
        return [["set-cookie", `users=${this.#users.size}`] as const]
      }
      asserted() {
        return this.#users.has("ada") ? "ada" : undefined
      }
    }
    const owner = await portOf(new Shop())
    const request = requestOf("GET", "/", {})
    const ada = UserId.make("ada")
    const all = {
      current: owner.current(workspace, request),
      places: owner.places?.(workspace, ada) ?? Effect.succeed([]),
      profile: owner.profile(workspace, ada),
      signOut:
        owner.signOut?.(workspace, request, { user: ada, session: "s", label: "ada", role: "member" }) ??
        Effect.succeed([])
    }
    expect(await Effect.runPromise(Effect.all(all))).toMatchObject({
      current: Option.some({ user: ada }),
      places: [{ id: "home" }],
      profile: Option.some({ sub: ada, name: "Ada" }),
      signOut: [["set-cookie", "users=1"]]
    })
    expect([owner.signInAt(workspace, "/", undefined), owner.switchAt?.(workspace, "/", undefined)]).toEqual([
      "/sign-in?1",
      "/switch?1"
    ])
    expect(await namedBy(owner, false)).toBe("ada")
  })

  test("are sent to sign in with all that an application said of it", async () => {
    const hints = { loginHint: "ada@acme.example", acr: ["phr"] }
    const asked: Array<unknown> = []
    const noting =
      (at: string) =>
      (...told: ReadonlyArray<unknown>) => {
        asked.push(told)
        return at
      }
    const owner = await ownerOf({ signInAt: noting("/sign-in"), switchAt: noting("/switch") })
    expect(owner.signInAt(workspace, "/back", "login", hints)).toBe("/sign-in")
    expect(owner.switchAt?.(workspace, "/back", "select_account", hints)).toBe("/switch")
    expect(asked).toEqual([
      ["/back", "acme", "login", hints],
      ["/back", "acme", "select_account", hints]
    ])
    const { switchAt } = await ownerOf({ signInAt: noting("/sign-in") })
    expect(switchAt?.(workspace, "/back", "login", hints)).toBe("/sign-in")
  })
})
