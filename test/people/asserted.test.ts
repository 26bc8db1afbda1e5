import { describe, expect, test } from "bun:test"
import { Effect, Option } from "effect"
import { collectAll } from "../../core/engine/lists.ts"
import { removeAccount, tellRevoked } from "../../core/people/removal.ts"
import { t0 } from "../given/World.ts"
import { addAccount, Browser, type House, inHouse } from "./House.ts"

const issuer = "https://login.acme.example"

/** Whom the built-in accounts take an assertion of a trusted issuer for. */
const meant = (house: House, email: string | undefined, make: boolean) => {
  const { asserted } = house.services.owner
  if (asserted === undefined) throw new Error("no assertion is taken")
  return Effect.map(
    asserted(house.workspace, { issuer, subject: "s", ...(email === undefined ? {} : { email }) }, make),
    Option.getOrUndefined
  )
}

const all = (house: House) => collectAll((slice) => house.accounts.book.list(house.workspace.id, slice))

describe("a person whom a trusted issuer asserts", () => {
  test("is whose address it names, in whichever writing, and no other person is made", () =>
    inHouse(function* (house) {
      const { id } = yield* addAccount(house)
      for (const make of [false, true]) {
        expect(yield* meant(house, "ada@example.com", make)).toBe(id)
        expect(yield* meant(house, " ADA@Example.com", make)).toBe(id)
      }
      expect(yield* all(house)).toHaveLength(1)
    }))

  test("is nobody where no account has the address, unless the issuer may make people; without an address nobody ever", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      expect(yield* meant(house, "bea@example.com", false)).toBeUndefined()
      for (const email of [undefined, "", "bea", "bea@example.com, ada@example.com"]) {
        expect(yield* meant(house, email, true)).toBeUndefined()
      }
      expect(yield* all(house)).toHaveLength(1)
    }))

  test("is made once, as a member whom no password signs in", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const made = yield* Effect.all(
        Array.from({ length: 4 }, () => meant(house, "Bea@example.com", true)),
        { concurrency: "unbounded" }
      )
      const [id] = made
      expect([new Set(made).size, id === undefined]).toEqual([1, false])
      const [account, ...more] = (yield* all(house)).filter((one) => one._tag === "Active" && one.id === id)
      expect(more).toEqual([])
      expect(account).toMatchObject({ email: "bea@example.com", role: "member", name: null, signedInAt: null })
      expect<unknown>(house.audit).toEqual([
        {
          at: t0,
          workspace: house.workspace.id,
          requestId: "server",
          event: { _tag: "AccountChanged", account: id, change: "opened", by: "server itself", role: "member" }
        }
      ])
      const browser = new Browser(house)
      for (const password of ["", "bea@example.com", "s", issuer]) {
        yield* browser.signIn("bea@example.com", password)
        expect(yield* browser.get("/settings/profile")).toMatchObject({ status: 303 })
      }
    }))

  test("is nobody once an owner removed them, until the issuer may make them anew", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const { id } = yield* addAccount(house, "bea@example.com", "member")
      const grants = tellRevoked(house.services, () => Effect.void)
      yield* removeAccount(house.accounts, grants, house.workspace, id, Effect.void)
      expect(yield* meant(house, "bea@example.com", false)).toBeUndefined()
      const anew = yield* meant(house, "bea@example.com", true)
      expect([anew === undefined, anew === id]).toEqual([false, false])
    }))
})
