import { profileOf, profilesFor } from "../../core/client/Profile.ts"
import * as Errors from "../../core/pages/CommonErrors.ts"
import { type ConsentPage, consentPage } from "../../core/pages/Consent.ts"
import { consentAnsweredPage } from "../../core/pages/ConsentAnswered.ts"
import { deviceCodePage, devicePage } from "../../core/pages/Device.ts"
import { endSessionPage, sessionEndedPage } from "../../core/pages/EndSession.ts"
import { errorPage, rateLimitedPage } from "../../core/pages/ErrorPage.ts"
import type { Document, Place, Visitor } from "../../core/pages/Layout.ts"
import { loginPage } from "../../core/people/login.ts"
import { signedOutPage } from "../../core/people/logout.ts"
import { acceptInvitePage, setUpPage } from "../../core/people/NewAccount.ts"
import { Instant, later } from "../../core/rules/Instant.ts"
import { Resource } from "../../core/rules/Resource.ts"
import { ScopeName } from "../../core/rules/Scope.ts"
import type { TrustedIssuer } from "../../core/rules/TrustedIssuer.ts"
import { connectedAppsPage } from "../../core/settings/appsSection.ts"
import { clientsPage } from "../../core/settings/clientsSection.ts"
import { documentsPage } from "../../core/settings/documentsSection.ts"
import { homePage } from "../../core/settings/home.ts"
import { issuersPage } from "../../core/settings/issuersSection.ts"
import { apiKeysPage } from "../../core/settings/keysSection.ts"
import { type MemberRow, membersPage, placesPage } from "../../core/settings/MembersPage.ts"
import { passwordPage } from "../../core/settings/PasswordPage.ts"
import { profilePage } from "../../core/settings/profileSection.ts"
import { resourcesPage } from "../../core/settings/resourcesSection.ts"
import { sessionsPage } from "../../core/settings/sessionsSection.ts"
import { defaultTheme, type Theme } from "../../core/workspace/Theme.ts"

/** Turns every text of a model into another; the gallery of hostile texts is the same gallery. */
export type Say = (text: string) => string

export const now = Instant.make(Date.UTC(2026, 10, 20, 14, 3))
const hour = 3_600_000
const day = 24 * hour
const before = (millis: number): Instant => later(now, -millis)

export const placeFor = (say: Say, theme: Theme = defaultTheme): Place => ({
  name: say("Northwind"),
  base: "/t/northwind",
  issuer: "https://auth.northwind.example/t/northwind",
  theme
})

const scopes = (say: Say) => [
  { scope: say("api"), words: say("Read and change everything in the workspace through the API") },
  { scope: say("profile"), words: say("See your name and your email address") }
]

/** Such as other servers have: an address is a scope, too. */
const longScope = "https://www.northwind.example/auth/calendar.events.readonly"

const consent = (
  say: Say,
  client: Partial<ConsentPage["client"]> = {},
  to: Pick<ConsentPage["client"], "redirectUri" | "userCode"> = {
    redirectUri: say("https://assistant.example/oauth/callback")
  }
): ConsentPage => ({
  client: {
    id: say("x7Kq"),
    name: say("Acme Assistant"),
    ...to,
    registeredItself: true,
    registeredAt: before(2 * 60_000),
    policyUri: say("https://assistant.example/privacy"),
    tosUri: say("https://assistant.example/terms"),
    ...client
  },
  scopes: scopes(say).map((scope, index) => ({ ...scope, byDefault: index === 0 })),
  resources: [],
  account: say("ada@northwind.example"),
  acknowledge: client.registeredItself !== false,
  switchAccount: say("/t/northwind/login?return_to=%2Foauth%2Fauthorize"),
  csrf: say("csrf-value"),
  ticket: say("ticket-value"),
  now
})

const device = (say: Say) => ({
  account: say("ada@northwind.example"),
  switchAccount: say("/t/northwind/login?return_to=%2Fdevice"),
  csrf: say("csrf-value")
})

const places = (say: Say, count: number): ConsentPage["places"] & object => ({
  shown: [
    { id: say("org_1"), label: say("Northwind Traders"), detail: say("northwind.example"), chosen: true },
    {
      id: say("org_2"),
      label: say("The association of all the bakers of the north and the south of Holland"),
      detail: say("bakers.example"),
      chosen: false,
      only: [{ scope: say("profile"), words: say("See your name and your email address") }]
    },
    { id: say("org_3"), label: say("Fabrikam"), chosen: false }
  ],
  count
})

const issuer = (say: Say, more: Partial<TrustedIssuer>): TrustedIssuer => ({
  issuer: say("https://login.northwind.example"),
  keys: { _tag: "Fetched", jwksUri: say("https://login.northwind.example/keys") },
  people: "known",
  ...more
})

const member = (say: Say, places: MemberRow["places"]): MemberRow => ({
  id: say("u1"),
  name: say("Ada Lovelace"),
  email: say("ada@northwind.example"),
  role: "owner",
  joinedAt: before(400 * day),
  lastSignedInAt: before(hour),
  isVisitor: true,
  places
})

const memberships = (say: Say): MemberRow["places"] => [
  { id: say("org_1"), label: say("Northwind Traders"), detail: say("northwind.example"), scopes: [say("profile")] },
  { id: say("org_2"), label: say("The association of all the bakers of the north and the south of Holland") },
  { id: say("org_3"), label: say("Fabrikam") },
  { id: say("org_4"), label: say("Contoso"), detail: say("contoso.example") }
]

/** A client that asks for access without a person. */
const profiles = profilesFor({ profile: "standard" })
const [standard, fapi2] = [
  profileOf({ members: {} }, { profile: "standard" }),
  profileOf({ members: {} }, { profile: "fapi2" })
]

const noClients = { search: "", clients: [], resources: [], profiles, paging: {} }

const asking = (
  say: Say,
  standing: "waiting" | "allowed" | "refused",
  network: string | null = "2001:db8:85a3::/64"
) => ({
  id: say("x7KqP0Xw91aaZk3q7LmN2v"),
  name: say("Nightly reports of the whole of Northwind"),
  kind: "confidential" as const,
  registeredItself: true,
  registeredAt: before(2 * hour),
  redirectHosts: [say("reports.example")],
  secrets: [{ mark: "q1w2e3r4", until: null }],
  profile: standard,
  disabled: false,
  question: {
    standing,
    askedAt: before(hour),
    network: network && say(network),
    hosts: [say("reports.example"), say("com.example.reports:")],
    scopes: [say("api")]
  }
})

const visitor = (say: Say, role: Visitor["role"], notice?: Visitor["notice"]): Visitor => ({
  account: say("ada@northwind.example"),
  role,
  csrf: say("csrf-value"),
  now,
  ...(notice === undefined ? {} : { notice })
})

const keys = (say: Say) => [
  {
    id: say("k1"),
    name: say("Nightly export"),
    prefix: say("tss_ak_Zk3q"),
    use: "everything" as const,
    scope: ["api", "profile"],
    createdAt: before(40 * day),
    expiresAt: later(now, 50 * day),
    lastUsedAt: before(9 * hour)
  },
  {
    id: say("k2"),
    name: say("Reporting dashboard for the people in the Rotterdam office"),
    prefix: say("tss_ak_p0Xw"),
    use: "scopes" as const,
    scope: [say("api")],
    createdAt: before(3 * hour)
  },
  {
    id: say("k3"),
    name: say("Old importer"),
    prefix: say("tss_ak_aa91"),
    use: "introspection" as const,
    scope: [],
    createdAt: before(200 * day),
    expiresAt: before(20 * day),
    lastUsedAt: before(31 * day)
  }
]

/** Every page there is, in the states that look different. */
export const gallery = (say: Say = (text) => text, theme: Theme = defaultTheme): ReadonlyMap<string, Document> => {
  const place = placeFor(say, theme)
  const owner = visitor(say, "owner")
  const account = { csrf: say("csrf-value"), token: say("token-value"), passwordLength: 12 }
  const error = (words: Errors.CommonError) => errorPage(place, { ...words, requestId: say("req_01HX") })
  return new Map<string, Document>([
    ["home", homePage(place, { signInAt: say("/t/northwind/login") })],
    [
      "home-signed-in",
      homePage(place, {
        signInAt: say("/t/northwind/login"),
        visitor: { account: say("ada@northwind.example"), csrf: say("csrf-value") }
      })
    ],
    [
      "home-elsewhere",
      homePage(place, {
        signInAt: say("/t/northwind/login"),
        visitor: { account: say("ada@northwind.example"), csrf: say("csrf-value") },
        accountsElsewhere: true
      })
    ],
    [
      "home-alone",
      homePage(
        place,
        {
          signInAt: say("/t/northwind/login"),
          visitor: { account: say("ada@northwind.example"), csrf: say("csrf-value") }
        },
        false
      )
    ],
    ["login", loginPage(place, { csrf: say("csrf-value"), returnUrl: say("/t/northwind/settings") })],
    [
      "login-problem",
      loginPage(place, {
        csrf: say("csrf-value"),
        returnUrl: say("/t/northwind/oauth/authorize?client_id=x7Kq"),
        email: say("ada@northwind.example"),
        problem: say("That email and password don't match. Check both and try again."),
        forClient: say("Claude")
      })
    ],
    [
      "login-late",
      loginPage(place, {
        csrf: say("csrf-value"),
        returnUrl: say("/t/northwind/settings/profile?done=signed-out"),
        notice: { kind: "problem", text: say("You were signed out before you sent the form.") }
      })
    ],
    [
      "login-signed-in",
      loginPage(place, {
        csrf: say("csrf-value"),
        returnUrl: say("/t/northwind/oauth/authorize?client_id=x7Kq"),
        email: say("ada@northwind.example"),
        problem: say("This form is out of date: you signed in in another tab."),
        signedInAs: say(`ada.${"lovelace".repeat(6)}@northwind.example`),
        forClient: say("Claude")
      })
    ],
    [
      "confirm-password",
      passwordPage(place, {
        account: say("ada@northwind.example"),
        address: say("/t/northwind/settings/keys"),
        fields: { action: "create", name: say("Nightly export"), csrf: say("csrf-value") },
        problem: say("This is not your current password.")
      })
    ],
    [
      "confirm-password-first",
      passwordPage(place, {
        account: say("ada@northwind.example"),
        address: say("/t/northwind/settings/keys"),
        fields: { action: "create", csrf: say("csrf-value") }
      })
    ],
    ["set-up", setUpPage(place, account)],
    ...(["name", "email", "password", "form"] as const).map((field): readonly [string, Document] => [
      `set-up-problem-${field}`,
      setUpPage(place, {
        ...account,
        name: say("Ada"),
        email: say("ada@northwind"),
        problem: { field, text: say("This needs another look.") }
      })
    ]),
    [
      "accept-invite",
      acceptInvitePage(place, {
        ...account,
        role: "member",
        invitedBy: say("Ada Lovelace"),
        email: say("grace@northwind.example"),
        emailIsGiven: true
      })
    ],
    ["consent", consentPage(place, consent(say))],
    [
      "consent-loopback",
      consentPage(place, {
        ...consent(say, { name: say("Claude Code"), redirectUri: say("http://127.0.0.1:53124/callback") }),
        resources: [{ at: say("http://127.0.0.1:3000/t/northwind/mcp") }]
      })
    ],
    [
      "consent-resources",
      consentPage(place, {
        ...consent(say),
        resources: [
          { at: say("https://orders.northwind.example/v1"), name: say("Orders") },
          { at: say("https://payments-of-the-north.northwind.example/of/all/that/was/ever/sold") },
          { at: say("https://mcp.northwind.example/tools"), name: say("Tools of the people in the Rotterdam office") }
        ]
      })
    ],
    [
      "consent-app",
      consentPage(
        place,
        consent(say, { name: say("Ledger"), redirectUri: say("com.example.ledger:/oauth"), registeredItself: false })
      )
    ],
    [
      "consent-document",
      consentPage(place, {
        ...consent(say, {
          name: say("Claude Code"),
          redirectUri: say("http://127.0.0.1:53124/callback"),
          host: say("claude.ai"),
          staysOnComputer: true
        })
      })
    ],
    [
      "consent-device",
      consentPage(place, {
        ...consent(say, { name: say("Television"), registeredItself: false }, { userCode: say("WDJB-MJHT") }),
        acknowledge: true
      })
    ],
    ["consent-unacknowledged", consentPage(place, { ...consent(say), problem: say("Tick this box if it is true.") })],
    ["consent-places", consentPage(place, { ...consent(say), places: places(say, 3) })],
    [
      "consent-places-problem",
      consentPage(place, {
        ...consent(say),
        places: { ...places(say, 3), problem: say("Choose where it may act for you.") }
      })
    ],
    [
      "consent-places-many",
      consentPage(place, {
        ...consent(say, { registeredItself: false }),
        places: { ...places(say, 24), search: say("north"), problem: say("Choose where it may act for you.") }
      })
    ],
    [
      "consent-hostile",
      consentPage(place, {
        ...consent(say, {
          name: say(
            `\u202e${"Northwind Security ✅ ".repeat(2)}שלום 👩‍🚀 <b>verified</b> ${"Ẑ̵̛͖".repeat(9)}${"verylongword".repeat(20)}`
          ),
          redirectUri: say(`https://accounts.northwind.example.${"sub.".repeat(20)}evil.example:8443/cb`)
        }),
        scopes: [{ scope: say(longScope), words: say("See what you have planned"), byDefault: false }]
      })
    ],
    [
      "consent-answered-waiting",
      consentAnsweredPage(place, {
        client: say("Claude"),
        answer: { state: "waiting", continueTo: say("https://claude.ai/cb?code=1&state=2") }
      })
    ],
    ["consent-answered-approved", consentAnsweredPage(place, { client: say("Claude"), answer: { state: "approved" } })],
    ["consent-answered-used", consentAnsweredPage(place, { client: say("Claude"), answer: { state: "used" } })],
    ["consent-answered-denied", consentAnsweredPage(place, { client: say("Claude"), answer: { state: "denied" } })],
    ["consent-answered-expired", consentAnsweredPage(place, { client: undefined, answer: { state: "expired" } })],
    ["device", devicePage(place, { ...device(say), entered: undefined })],
    [
      "device-linked",
      devicePage(place, { ...device(say), entered: say("WDJB-MJHT"), shownAt: say("/t/northwind/device/code") })
    ],
    [
      "device-wrong",
      devicePage(place, { ...device(say), entered: say("WDJB-MJHX"), problem: say("No device waits with this code.") })
    ],
    [
      "device-code",
      deviceCodePage(place, {
        userCode: say("WDJB-MJHT"),
        verificationUri: say("https://auth.northwind.example/t/northwind/device"),
        verificationUriComplete: say("https://auth.northwind.example/t/northwind/device?user_code=WDJB-MJHT")
      })
    ],
    [
      "end-session",
      endSessionPage(place, { account: say("ada@northwind.example"), fields: { csrf: say("csrf-value") } })
    ],
    [
      "end-session-application",
      endSessionPage(place, {
        account: say(`ada.${"lovelace".repeat(6)}@northwind.example`),
        application: say(`Ledger of ${"Northwind ".repeat(8)}`),
        fields: {
          csrf: say("csrf-value"),
          state: say("st"),
          post_logout_redirect_uri: say("https://ledger.example/out")
        }
      })
    ],
    ["session-ended", sessionEndedPage(place, {})],
    [
      "session-ended-back",
      sessionEndedPage(place, {
        back: { application: say("ledger".repeat(9)), address: say("https://ledger.example/out?state=st") }
      })
    ],
    ["error-unknown-client", error(Errors.unknownClient(say("x7Kq")))],
    ["error-redirect-uri", error(Errors.redirectUriMismatch(say("x7Kq"), say("https://evil.example/cb\u202e")))],
    ["error-bad-request", error(Errors.badRequest(say("client_id came twice."), [[say("client_id"), say("a, b")]]))],
    [
      "error-strangers-request",
      error(
        Errors.strangersError(
          say("None of these scopes can be granted to this client."),
          say("https://assistant.example/oauth/callback"),
          say("https://assistant.example/oauth/callback?error=invalid_scope")
        )
      )
    ],
    [
      "error-not-signed-out",
      error(
        Errors.notSignedOut(
          say("The id_token_hint has to be an ID token."),
          [[say("client_id"), say("x7Kq")]],
          say("/t/northwind/oauth/logout")
        )
      )
    ],
    ["error-client-disabled", error(Errors.clientDisabled(say("x7Kq")))],
    ["error-nothing-to-approve", error(Errors.nothingToApprove)],
    ["error-not-understood", error(Errors.notUnderstood(400, say("The parameter id is missing.")))],
    ["error-request-too-long", error(Errors.requestTooLong(say("It is longer than 12 KiB.")))],
    ["error-opened-differently", error(Errors.openedDifferently(say("/t/northwind/")))],
    ["error-form-expired", error(Errors.formExpired(say("/t/northwind/settings")))],
    ["error-link-spent", error(Errors.linkSpent(say("/t/northwind/login")))],
    ["error-not-found", error(Errors.pageNotFound(say("/t/northwind/")))],
    ["error-owners-only", error(Errors.ownersOnly(say("/t/northwind/settings")))],
    ["error-unavailable", error(Errors.unavailable)],
    ["error-workspace-disabled", error(Errors.workspaceDisabled)],
    [
      "rate-limited",
      rateLimitedPage(place, { retryAfterSeconds: 200, of: say("attempts to sign in"), requestId: say("req_01HX") })
    ],
    ["signed-out", signedOutPage(place)],
    [
      "settings-profile",
      profilePage(place, visitor(say, "member", { kind: "done", text: say("Your name is saved.") }), {
        name: say("Ada Lovelace"),
        email: say("ada@northwind.example"),
        passwordLength: 12
      })
    ],
    [
      "settings-sessions",
      sessionsPage(place, visitor(say, "member", { kind: "done", text: say("That browser is signed out.") }), {
        sessions: [
          {
            mark: "one",
            browser: say("Firefox on Linux"),
            since: before(3 * day),
            lastUsedAt: before(0 * day),
            isHere: true
          },
          {
            mark: "two",
            browser: say("Safari on an iPhone"),
            since: before(9 * day),
            lastUsedAt: before(1 * day),
            isHere: false
          },
          { mark: "three", since: before(12 * day), lastUsedAt: before(11 * day), isHere: false }
        ],
        paging: { nextCursor: say("next") }
      })
    ],
    ...(["name", "current_password", "new_password", "form"] as const).map((field): readonly [string, Document] => [
      `settings-profile-problem-${field}`,
      profilePage(place, visitor(say, "owner", { kind: "problem", text: say("Your password was not changed.") }), {
        ...(field === "form" ? {} : { name: say("Ada Lovelace") }),
        email: say("ada@northwind.example"),
        passwordLength: 12,
        problem: { field, text: say("This is not it.") }
      })
    ]),
    [
      "settings-sessions-alone",
      sessionsPage(place, owner, {
        sessions: [{ mark: "one", since: before(3 * day), lastUsedAt: before(hour), isHere: true }],
        paging: {}
      })
    ],
    ["settings-sessions-end", sessionsPage(place, owner, { sessions: [], paging: { after: say("before") } })],
    [
      "settings-apps",
      connectedAppsPage(place, owner, {
        apps: [
          {
            grantId: say("g1"),
            client: say("Claude"),
            returnHost: say("claude.ai"),
            scopes: scopes(say),
            since: before(12 * day),
            lastUsedAt: before(4 * 60_000)
          },
          {
            grantId: say("g2"),
            client: say("Sheets add-on"),
            returnHost: say("addons.example.com"),
            scopes: [{ scope: say(longScope), words: say("See what you have planned") }],
            since: before(90 * day),
            retriedElsewhereAt: before(3 * day)
          },
          { grantId: say("g3"), client: undefined, scopes: scopes(say).slice(1), since: before(20_000) },
          {
            grantId: say("g4"),
            client: say("Ledger"),
            place: say("The bakers of the north"),
            remembered: true,
            scopes: [],
            since: before(day)
          }
        ],
        paging: { after: say("before"), nextCursor: say("cursor&=2") }
      })
    ],
    ["settings-apps-empty", connectedAppsPage(place, visitor(say, "member"), { apps: [], paging: {} })],
    [
      "settings-apps-elsewhere",
      connectedAppsPage(place, { ...owner, accountsElsewhere: true }, { apps: [], paging: { after: say("before") } })
    ],
    [
      "settings-keys",
      apiKeysPage(place, owner, {
        keys: keys(say),
        scopes: ["api", "profile"],
        paging: { nextCursor: say("next") }
      })
    ],
    [
      "settings-keys-made",
      apiKeysPage(place, visitor(say, "owner", { kind: "done", text: say("Your key is made.") }), {
        keys: keys(say).slice(0, 1),
        scopes: ["api"],
        paging: {},
        made: {
          name: say("Nightly export"),
          key: say(`tss_ak_${"Zk3qAb9-".repeat(14)}`),
          expiresAt: later(now, 90 * day)
        }
      })
    ],
    [
      "settings-keys-made-alone",
      apiKeysPage(place, owner, {
        keys: "unread",
        scopes: [],
        paging: {},
        made: { name: say("Nightly export"), key: say(`tss_ak_${"Zk3qAb9-".repeat(14)}`) }
      })
    ],
    [
      "settings-keys-empty",
      apiKeysPage(place, owner, {
        keys: [],
        scopes: ["api", "profile"],
        paging: {},
        form: {
          name: say("x"),
          expires: "never",
          opens: "scopes",
          ticked: ["profile"],
          problem: { field: "name", text: say("Enter a name.") }
        }
      })
    ],
    [
      "settings-keys-unticked",
      apiKeysPage(place, owner, {
        keys: [],
        scopes: ["api", "profile", "a.scope.with-a-long-name:read", "orders:write"],
        paging: {},
        form: {
          name: say("Nightly export"),
          expires: "90d",
          opens: "scopes",
          ticked: [],
          problem: { field: "opens", text: say("Choose at least one scope.") }
        }
      })
    ],
    [
      "settings-clients",
      clientsPage(place, owner, {
        search: "",
        clients: [
          {
            id: say("x7KqP0Xw91aaZk3q7LmN2v"),
            name: say("Claude"),
            kind: "public",
            registeredItself: true,
            registeredAt: before(12 * day),
            lastUsedAt: before(4 * 60_000),
            redirectHosts: [say("claude.ai"), say("claude.com")],
            secrets: [],
            profile: standard,
            disabled: false
          },
          {
            id: say("P0XwZk3q7LmN2vx7Kq91aa"),
            name: say("Billing sync"),
            kind: "confidential",
            registeredItself: false,
            registeredAt: before(400 * day),
            redirectHosts: [],
            serves: "https://api.example.com",
            secrets: [
              { mark: say("q1w2e3r4"), until: null },
              { mark: say("a9s8d7f6"), until: later(now, 6 * day) }
            ],
            profile: fapi2,
            disabled: true
          }
        ],
        resources: ["https://api.example.com", "https://mcp.example.com/mcp"],
        profiles,
        paging: { nextCursor: say("c2") }
      })
    ],
    [
      "settings-clients-waiting",
      clientsPage(place, owner, {
        search: "",
        clients: [asking(say, "allowed"), asking(say, "refused")],
        resources: [],
        profiles,
        paging: {},
        waiting: {
          clients: [asking(say, "waiting"), asking(say, "waiting", null)],
          paging: { nextCursor: say("c3") }
        }
      })
    ],
    [
      "settings-clients-named",
      clientsPage(place, owner, {
        ...noClients,
        named: { typed: say(`tsr_c_${"AbCdEfGhIj".repeat(60)}`), client: asking(say, "waiting") }
      })
    ],
    [
      "settings-clients-named-problem",
      clientsPage(place, owner, {
        ...noClients,
        named: { typed: say("tsr_c_AbCdEfGhIj"), client: undefined }
      })
    ],
    [
      "settings-clients-made",
      clientsPage(place, owner, {
        ...noClients,
        search: say("x7KqP0Xw91aaZk3q7LmN2v"),
        clients: [{ ...asking(say, "allowed"), serves: "https://gone.example.com" }],
        resources: ["https://api.example.com"],
        paging: { after: say("before") },
        made: { name: say("Nightly reports"), secret: say("tsr_cs_Zk3qAb9-Zk3qAb9-") }
      })
    ],
    [
      "settings-clients-nobody-waits",
      clientsPage(place, owner, {
        ...noClients,
        profiles: profiles.slice(0, 1),
        waiting: { clients: [], paging: { after: say("before"), nextCursor: say("c4") } },
        named: { typed: "", client: undefined }
      })
    ],
    [
      "settings-clients-end",
      clientsPage(place, owner, {
        ...noClients,
        waiting: { clients: [], paging: { after: say("before") } },
        paging: { after: say("before") }
      })
    ],
    [
      "settings-clients-nothing",
      clientsPage(place, owner, {
        ...noClients,
        search: say("<claude>")
      })
    ],
    [
      "settings-resources",
      resourcesPage(place, visitor(say, "owner", { kind: "done", text: say("The API is listed.") }), {
        resources: [
          { at: say("https://auth.northwind.example/t/northwind/mcp"), name: say("Northwind tools"), byOwner: false },
          {
            at: say("https://orders.northwind.example/a/path/which-is-rather-long/and-goes-on/for-a-while"),
            name: say("Orders of the people in the Rotterdam office"),
            scopes: [say("orders:read"), say("orders:write")],
            byOwner: true
          }
        ],
        scopes: ["api", "profile"],
        paging: { nextCursor: say("https://orders.northwind.example/a") }
      })
    ],
    [
      "settings-resources-tokens",
      resourcesPage(place, visitor(say, "owner"), {
        resources: [
          { at: say("https://a.example"), name: say("A"), accessTokenFormat: "jwt", byOwner: true },
          {
            at: say("https://b.example"),
            name: say("B"),
            accessTokenFormat: "jwt",
            accessTokenTtl: 1500,
            byOwner: false
          },
          { at: say("https://c.example"), name: say("C"), accessTokenTtl: 60_000, byOwner: true }
        ],
        scopes: [],
        paging: { after: say("before") },
        form: {
          at: say("https://d.example"),
          name: say("?"),
          scopes: [],
          tokens: "jwt",
          problem: { field: "name", text: say("Enter a name that can be read.") }
        }
      })
    ],
    [
      "settings-resources-problem",
      resourcesPage(place, owner, {
        resources: [],
        scopes: ["api", "profile", "a.scope.with-a-long-name:read"],
        paging: {},
        form: {
          at: say("orders.northwind.example"),
          name: say("Orders"),
          scopes: ["profile"],
          tokens: "jwt-5m",
          problem: { field: "at", text: say("Enter an https address.") }
        }
      })
    ],
    [
      "settings-documents",
      documentsPage(place, visitor(say, "owner", { kind: "done", text: say("The host is blocked.") }), {
        most: ["claude.ai", "*.northwind.example"],
        takes: "some",
        hosts: say("claude.ai tools.northwind.example"),
        blocked: [say("evil.example"), say("a-host-with-a-rather-long-name.of-many-labels.northwind.example:8443")],
        paging: { nextCursor: say("evil.example") }
      })
    ],
    [
      "settings-documents-hosts-problem",
      documentsPage(place, owner, {
        most: "any",
        takes: "none",
        hosts: say("https://claude.ai"),
        blocked: [],
        paging: { after: say("before") },
        problem: { field: "hosts", text: say("Enter hosts.") }
      })
    ],
    [
      "settings-documents-problem",
      documentsPage(place, owner, {
        most: undefined,
        takes: "any",
        hosts: "",
        blocked: [],
        paging: {},
        problem: { field: "host", text: say("Enter a host."), host: say("https://evil.example/x") }
      })
    ],
    [
      "settings-issuers",
      issuersPage(place, visitor(say, "owner", { kind: "done", text: say("The issuer is trusted.") }), {
        issuers: [
          { byOwner: true, trusted: issuer(say, { since: now, clients: ["https://chat.example/client.json"] }) },
          { byOwner: false, trusted: issuer(say, { people: "made", domains: ["northwind.example"], takes: "any" }) }
        ],
        scopes: ["api", "profile"],
        paging: {},
        action: "add"
      })
    ],
    [
      "settings-issuers-given",
      issuersPage(place, visitor(say, "owner"), {
        issuers: [
          {
            byOwner: true,
            trusted: issuer(say, {
              keys: {
                _tag: "Registered",
                keys: [{ kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" }]
              },
              resources: [Resource.make("https://api.example.com"), Resource.make("https://mcp.example.com/mcp")],
              scopes: [ScopeName.make("api"), ScopeName.make("profile")]
            })
          }
        ],
        scopes: [],
        paging: { after: say("before"), nextCursor: say("https://login.northwind.example") },
        action: "add",
        form: {
          issuer: say("login.northwind.example"),
          keys: "",
          clients: say("x7KqP0Xw91aaZk3q7LmN2v"),
          resources: say("https://evil.example"),
          domains: "",
          scopes: [],
          people: "known",
          takes: "any"
        },
        problem: { field: "resources", text: say("Not every one is an API.") }
      })
    ],
    [
      "settings-issuers-problem",
      issuersPage(place, owner, {
        issuers: [],
        scopes: ["api", "profile"],
        paging: {},
        action: "change",
        form: {
          issuer: say("https://login.northwind.example"),
          keys: say("keys"),
          clients: "",
          resources: "",
          domains: say("northwind.example"),
          scopes: ["api"],
          people: "made",
          takes: "id-jag"
        },
        problem: { field: "keys", text: say("Enter the address of its keys.") }
      })
    ],
    [
      "settings-members",
      membersPage(place, owner, {
        members: [
          member(say, memberships(say)),
          {
            id: say("u2"),
            name: say("محمد الخوارزمي"),
            email: say("mohammed@northwind.example"),
            role: "member",
            joinedAt: before(30 * day),
            isVisitor: false,
            places: []
          }
        ],
        paging: {},
        invites: {
          rows: [
            {
              id: say("i1"),
              email: say("grace@northwind.example"),
              role: "member",
              createdAt: before(2 * hour),
              expiresAt: later(now, 6 * day)
            },
            { id: say("i2"), role: "owner", createdAt: before(2 * hour), expiresAt: later(now, 6 * day) }
          ],
          paging: { nextCursor: say("i2") }
        }
      })
    ],
    [
      "settings-members-made-open",
      membersPage(place, owner, {
        members: [],
        paging: {},
        invites: { rows: [], paging: {} },
        made: { link: say("https://auth.northwind.example/invite?token=Zk3qAb9-"), expiresAt: later(now, 7 * day) }
      })
    ],
    [
      "settings-members-made",
      membersPage(place, owner, {
        members: [],
        paging: { after: say("before") },
        invites: { rows: [], paging: { after: say("earlier") } },
        made: {
          link: say("http://127.0.0.1:3000/t/northwind/invite?token=Zk3qAb9-Zk3qAb9-Zk3qAb9-Zk3qAb9-"),
          email: say("grace@northwind.example"),
          expiresAt: later(now, 7 * day)
        },
        form: { email: say("grace@"), role: "owner", problem: say("This does not look like an email address.") }
      })
    ],
    [
      "settings-members-places",
      placesPage(place, owner, { member: member(say, memberships(say)), scopes: ["api", "profile"] })
    ],
    [
      "settings-members-places-again",
      placesPage(place, owner, {
        member: member(say, []),
        scopes: ["api", "profile"],
        form: {
          id: say("the bakery"),
          label: say("The bakery"),
          detail: say("bakers.example"),
          scopes: ["api"],
          problem: { field: "place", text: say("Enter an id without a space.") }
        }
      })
    ]
  ])
}
