import { expect, test } from "bun:test"
import { consentPage } from "../../core/pages/Consent.ts"
import { render } from "../../core/pages/Html.ts"
import { type Document, placeOf, shell } from "../../core/pages/Layout.ts"
import { Instant } from "../../core/rules/Instant.ts"
import { membersPage } from "../../core/settings/MembersPage.ts"
import { theWorkspace } from "../given/World.ts"

/** What turns the rest of a sentence around, or is not seen. */
const steering = /[\u200b\u202a-\u202e\u2060\u2066-\u2069]/

const turned = "Ada\u202e\u2066 ma\u200brof\u2069"
const now = Instant.make(0)
const place = placeOf({ ...theWorkspace, name: turned })

const member = (name: string) => ({
  id: "A".repeat(22),
  name,
  email: "ada@example.com",
  role: "member" as const,
  joinedAt: now,
  isVisitor: false,
  places: []
})

const members = (name: string): Document =>
  membersPage(
    place,
    { account: "bea@example.com", role: "owner", csrf: "", now },
    { members: [member(name)], paging: { isContinued: false }, invites: [] }
  )

const consent: Document = consentPage(place, {
  client: { id: "x", name: turned, redirectUri: "https://app.example/", registeredItself: true },
  scopes: [],
  resources: [],
  places: { shown: [{ id: "acme", label: turned, detail: turned, chosen: true }], count: 2 },
  account: "bea@example.com",
  switchAccount: "/",
  acknowledge: true,
  csrf: "",
  ticket: "",
  now
})

test.each([
  ["a member's", members(turned)],
  ["a client's and a place's", consent]
])("no name turns the sentence around in which it stands, nor hides in it: %s", (_, document) => {
  const page = render(shell(place, document))
  expect(steering.test(turned)).toBe(true)
  expect(steering.exec(page)).toBeNull()
  expect(page).toContain("Ada ma rof")
})

test("a member whose name has nothing to see goes by their address", () => {
  expect(render(members("\u202e\u200b").body)).toContain("<bdi>ada@example.com</bdi>")
})
