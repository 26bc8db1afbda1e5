import { describe, expect, test } from "bun:test"
import { Effect, Option } from "effect"
import { removeAccount } from "../../../core/people/removal.ts"
import { currentInstant } from "../../../core/rules/Instant.ts"
import { addAccount, Browser, inHouse } from "../../people/House.ts"

describe("an owner who saw the removal coming", () => {
  test("comes back by no invitation of their own", () =>
    inHouse((house) =>
      Effect.gen(function* () {
        yield* addAccount(house)
        const mallory = yield* addAccount(house, "mallory@example.com")
        const browser = new Browser(house)
        yield* browser.signIn("mallory@example.com")
        const made = yield* browser.submit("/settings/members", { action: "invite", email: "", role: "owner" })
        const link = /\/invite\?token=[A-Za-z0-9_-]{43}/.exec(made.body)?.[0] ?? ""
        expect((yield* new Browser(house).get(link)).status).toBe(200)
        const token = link.split("token=")[1] ?? ""
        const invitation = yield* Effect.map(
          house.accounts.links.find(house.workspace.id, token, yield* currentInstant),
          Option.getOrThrow
        )

        yield* removeAccount(house.accounts, house.parts.grants, house.workspace.id, mallory.id, Effect.void)
        expect((yield* new Browser(house).get(link)).status).toBe(410)
        const open = yield* house.accounts.links.list(house.workspace.id, "Invitation", { after: undefined, limit: 10 })
        expect(open.values).toEqual([])
        // Nor by a form that was on its way: the account that it would open cannot be opened any more.
        const { book } = house.accounts
        expect(Option.getOrThrow(yield* book.find(house.workspace.id, invitation.account))._tag).toBe("Gone")
      })
    ))

  test("leaves the invitations of others alone", () =>
    inHouse((house) =>
      Effect.gen(function* () {
        yield* addAccount(house)
        const mallory = yield* addAccount(house, "mallory@example.com")
        const browser = new Browser(house)
        yield* browser.signIn()
        const made = yield* browser.submit("/settings/members", { action: "invite", email: "", role: "member" })
        const link = /\/invite\?token=[A-Za-z0-9_-]{43}/.exec(made.body)?.[0] ?? ""
        yield* removeAccount(house.accounts, house.parts.grants, house.workspace.id, mallory.id, Effect.void)
        expect((yield* new Browser(house).get(link)).status).toBe(200)
      })
    ))
})
