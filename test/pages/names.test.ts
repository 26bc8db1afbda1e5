import { expect, test } from "bun:test"
import { profilesFor } from "../../core/client/Profile.ts"
import { consentPage } from "../../core/pages/Consent.ts"
import { render } from "../../core/pages/Html.ts"
import { type Document, placeOf, shell } from "../../core/pages/Layout.ts"
import { Instant } from "../../core/rules/Instant.ts"
import { connectedAppsPage } from "../../core/settings/appsSection.ts"
import { clientsPage } from "../../core/settings/clientsSection.ts"
import { apiKeysPage } from "../../core/settings/keysSection.ts"
import { membersPage, placesPage } from "../../core/settings/MembersPage.ts"
import { sessionsPage } from "../../core/settings/sessionsSection.ts"
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

const visitor = { account: "bea@example.com", role: "owner", csrf: "", now } as const
const paging = {}

const members = (name: string): Document =>
  membersPage(place, visitor, { members: [member(name)], paging, invites: { rows: [], paging } })

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

const [standard] = profilesFor({ profile: "standard" })
const twice = <A>(make: (mark: string) => A): ReadonlyArray<A> => ["one", "two"].map(make)
const ofClaude = (id: string) =>
  standard && {
    id,
    name: "Claude",
    kind: "confidential" as const,
    registeredItself: true,
    registeredAt: now,
    redirectHosts: ["claude.example"],
    secrets: [{ mark: "abcd", until: null }],
    profile: standard,
    disabled: false,
    question: { standing: "waiting" as const, askedAt: now, network: null, hosts: [], scopes: [] }
  }
const invite = (id: string) => ({ id, role: "member" as const, createdAt: now, expiresAt: now })
const claudes = twice(ofClaude).flatMap((one) => one ?? [])

test.each<readonly [string, Document]>([
  [
    "keys",
    apiKeysPage(place, visitor, {
      keys: twice((id) => ({
        id,
        name: "Nightly export",
        use: "everything" as const,
        scope: [],
        prefix: `tsr_ak_${id}`,
        createdAt: now
      })),
      scopes: [],
      paging
    })
  ],
  [
    "applications",
    connectedAppsPage(place, visitor, {
      apps: twice((grantId) => ({ grantId, client: "Claude", scopes: [], since: now })),
      paging
    })
  ],
  ["clients", clientsPage(place, visitor, { search: "", clients: claudes, resources: [], profiles: [], paging })],
  [
    "clients that wait",
    clientsPage(place, visitor, {
      search: "",
      clients: [],
      resources: [],
      profiles: [],
      paging,
      waiting: { clients: claudes, paging }
    })
  ],
  [
    "members",
    membersPage(place, visitor, {
      members: twice((id) => ({ ...member("Ada"), id, email: `ada@${id}.example` })),
      paging,
      invites: { rows: twice(invite), paging }
    })
  ],
  [
    "places",
    placesPage(place, visitor, {
      member: { ...member("Ada"), places: twice((id) => ({ id, label: "Acme" })) },
      scopes: []
    })
  ],
  [
    "browsers",
    sessionsPage(place, visitor, {
      sessions: twice((mark) => ({
        mark,
        browser: "Firefox on Linux",
        since: now,
        lastUsedAt: now,
        isHere: false
      })),
      paging
    })
  ]
])("no button of a row is called as one of another row that is named alike: %s", (_, document) => {
  const page = render(shell(place, document))
  const acting = page.slice(page.indexOf('<div class="row-actions">'))
  const names = [...acting.matchAll(/<(summary|button|a)\b[^>]*>(.*?)<\/\1>/g)].map(([, , name = ""]) =>
    name.replaceAll(/<[^>]*>/g, "")
  )
  expect(names.length).toBeGreaterThan(1)
  expect(new Set(names).size).toBe(names.length)
})
