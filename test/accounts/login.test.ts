import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { header } from "../given/flow.ts"
import { addAccount, Browser, inHouse } from "./House.ts"

describe("signing in", () => {
  test("opens a session, and leads on", () =>
    inHouse(
      Effect.fnUntraced(function* (house) {
        yield* addAccount(house)
        const browser = new Browser(house)
        const answer = yield* browser.signIn()
        expect(answer.status).toBe(303)
        expect(header(answer, "location")).toBe("/settings")
        expect(browser.cookies.get("__Host-tessera_session")).toMatch(/^[\w-]{43}$/)
        const again = yield* browser.get("/login")
        expect(again.body).toContain("You are signed in as ada@example.com")
      })
    ))
})
