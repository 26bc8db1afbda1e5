import { describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { rootCertificates } from "node:tls"
import { ConfigProvider, Effect, Option, Redacted, Result } from "effect"
import { standardPolicy } from "../../core/rules/Policy.ts"
import { signInScopes } from "../../core/rules/Scope.ts"
import { newSealKey } from "../../runtimes/server/SealKeyFile.ts"
import { readSettings } from "../../runtimes/server/Settings.ts"

const read = (env: Record<string, string>) =>
  Effect.runSync(
    Effect.result(readSettings).pipe(
      Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnvRecord(env))
    )
  )

const settingsOf = (env: Record<string, string>) => Result.getOrThrow(read(env))

const complaintsOf = (env: Record<string, string>): ReadonlyArray<string> => {
  const settings = read(env)
  return Result.isFailure(settings) ? settings.failure.complaints : []
}

const names = (complaints: ReadonlyArray<string>) => complaints.map((complaint) => complaint.split(":")[0] ?? "")

const key = () => Redacted.value(newSealKey())

describe("settings", () => {
  test("need nothing to be set", () => {
    const settings = settingsOf({})
    expect(settings.host).toBe("127.0.0.1")
    expect(settings.port).toBe(3000)
    expect(settings.workspace.issuer as string).toBe("http://127.0.0.1:3000")
    expect(settings.database.file).toBe("./data/tessera.db")
    expect(settings.policy).toEqual({ ...standardPolicy, scopes: signInScopes, workspaceAccess: "registered" })
    expect(settings.registration).toEqual({ _tag: "Open" })
    expect(settings.rateLimits).toBe(true)
    expect(Option.isNone(settings.sealKeys)).toBe(true)
    expect(Option.isNone(settings.firstOwner)).toBe(true)
    expect(settings.trustedProxies.has("127.0.0.1")).toBe(false)
  })

  test("take documents of clients where any client may register, until they say otherwise", () => {
    const token = { REGISTRATION: "token", REGISTRATION_TOKEN: "0123456789abcdef" }
    expect(settingsOf({}).clientDocuments).toBe("any")
    expect(settingsOf({ REGISTRATION: "closed" }).clientDocuments).toEqual([])
    expect(settingsOf(token).clientDocuments).toEqual([])
    expect(settingsOf({ ...token, CLIENT_DOCUMENTS: "on" }).clientDocuments).toBe("any")
    expect(settingsOf({ CLIENT_DOCUMENTS: "off" }).clientDocuments).toEqual([])
    for (const host of ["https://claude.ai", "claude.ai/", "*", "*.*.ai", "Claude.ai", "claude.ai,,chatgpt.com"]) {
      expect([host, names(complaintsOf({ CLIENT_DOCUMENTS: host }))]).toEqual([host, ["CLIENT_DOCUMENTS"]])
    }
  })

  test("take every variable of the design", () => {
    const settings = settingsOf({
      HOST: "0.0.0.0",
      PORT: "8443",
      BASE_URL: "https://auth.example.com/tenant",
      WORKSPACE_NAME: "Åcme",
      DATABASE_URL: "postgres://tessera:pw@db/tessera",
      SEAL_KEYS: `${key()},${key()}`,
      OWNER_EMAIL: "ada@example.com",
      OWNER_PASSWORD: "correct horse",
      CODE_TTL: "90 seconds",
      ACCESS_TTL: "5 minutes",
      REFRESH_IDLE_TTL: "1 day",
      REFRESH_MAX_TTL: "2 weeks",
      REFRESH_GRACE: "0",
      REGISTRATION: "token",
      REGISTRATION_TOKEN: "0123456789abcdef",
      CLIENT_DOCUMENTS: "claude.ai, *.example.com",
      MAX_UNPROVEN_CLIENTS: "500",
      REGISTRATION_ROWS: "at_consent",
      RATE_LIMITS: "off",
      REQUIRE_PKCE: "true",
      DPOP: "required",
      DPOP_NONCE: "all",
      PAR: "required",
      DEVICES: "off",
      DEVICE_CODE_TTL: "5 minutes",
      FAPI2: "required",
      JWT_ALGORITHM: "RS256",
      WORKSPACE_ACCESS: "owner",
      TRUSTED_PROXIES: "10.0.0.0/8, ::1",
      FETCH_ALLOW: "keys.internal, [fd00::1]:9443"
    })
    expect(settings.workspace.issuer as string).toBe("https://auth.example.com/tenant")
    expect(settings.workspace.name).toBe("Åcme")
    expect(settings.clientDocuments).toEqual(["claude.ai", "*.example.com"])
    expect(settings.database.location).toBe("postgres://tessera:pw@db/tessera tessera")
    expect(Option.getOrThrow(settings.sealKeys)).toHaveLength(2)
    expect(Option.getOrThrow(settings.firstOwner).email).toBe("ada@example.com")
    expect(settings.policy).toMatchObject({
      codeTtl: 90_000,
      accessTtl: 300_000,
      refreshIdleTtl: 86_400_000,
      refreshMaxTtl: 1_209_600_000,
      refreshGrace: 0,
      maxUnprovenClients: 500,
      registrationRows: "at_consent",
      requirePkce: true,
      dpop: "required",
      dpopNonce: "all",
      requirePush: true,
      devices: false,
      deviceTtl: 300_000,
      profile: "fapi2",
      jwtAlgorithm: "RS256",
      workspaceAccess: "owner"
    })
    expect(settings.registration._tag).toBe("Token")
    expect(settings.rateLimits).toBe(false)
    expect(settings.trustedProxies.has("10.9.8.7")).toBe(true)
    expect(settings.trustedProxies.has("11.0.0.1")).toBe(false)
    expect([...settings.fetch.allow]).toEqual(["keys.internal:443", "keys.internal:8443", "[fd00::1]:9443"])
    expect(settings.fetch.ca).toBeUndefined()
  })

  test("take what each of the others says", () => {
    const said = {
      REGISTRATION: "closed",
      CONSENT: "remember",
      ACCESS_LOG: "on",
      STORAGE_TIMEOUT: "2 seconds",
      REQUEST_TIMEOUT: "3 seconds",
      SHUTDOWN_TIMEOUT: "4 seconds"
    }
    expect(settingsOf(said)).toMatchObject({
      registration: { _tag: "Closed" },
      policy: { consent: "remember" },
      accessLog: true,
      storage: { deadline: 2000 },
      requestTimeout: 3000,
      shutdownTimeout: 4000
    })
  })

  test("take a file of certificates, and no other", () => {
    const folder = mkdtempSync(join(tmpdir(), "fetch-ca-"))
    const file = (name: string, text: string) => {
      writeFileSync(join(folder, name), text)
      return join(folder, name)
    }
    const [one = "", other = ""] = rootCertificates
    const given = (FETCH_CA: string) => ({ FETCH_ALLOW: "keys.internal", FETCH_CA })
    const both = file("both.pem", `# ours\n${one}\n${other}\n`)
    expect(settingsOf(given(both)).fetch.ca?.match(/BEGIN CERTIFICATE/g)).toHaveLength(2)
    const broken = `${one.slice(0, 200)}\n-----END CERTIFICATE-----`
    for (const path of [
      join(folder, "nowhere.pem"),
      folder,
      file("empty.pem", ""),
      file("words.pem", "no certificate"),
      file("broken.pem", broken),
      file("half.pem", `${one}\n${broken}`)
    ]) {
      expect(names(complaintsOf(given(path)))).toEqual(["FETCH_CA"])
    }
    expect(names(complaintsOf({ FETCH_CA: both }))).toEqual(["FETCH_ALLOW"])
    // As on Node before 20.16, where connections have the runtime's own authorities alone.
    const { getBuiltinModule } = process
    const having = (value: unknown) => Object.defineProperty(process, "getBuiltinModule", { value, configurable: true })
    having(undefined)
    try {
      expect(names(complaintsOf(given(both)))).toEqual(["FETCH_CA"])
      expect(complaintsOf({ FETCH_ALLOW: "keys.internal" })).toEqual([])
    } finally {
      having(getBuiltinModule)
    }
    rmSync(folder, { recursive: true })
  })

  test("let clients that register act for the workspace only where no other machine reaches the server", () => {
    const given = (environment: Record<string, string>) => settingsOf(environment).policy.workspaceAccess
    const local = ["127.0.0.1", "localhost", "::1"].flatMap((HOST) => [
      { HOST },
      ...["http://127.0.0.1:3000", "http://localhost:3000", "http://[::1]:3000/a"].map((BASE_URL) => ({
        HOST,
        BASE_URL
      }))
    ])
    expect([{}, ...local].map(given)).toEqual([{}, ...local].map(() => "registered"))
    const reached = [
      { HOST: "0.0.0.0" },
      { HOST: "::" },
      { HOST: "192.168.1.2", BASE_URL: "http://127.0.0.1:3000" },
      { HOST: "0.0.0.0", BASE_URL: "http://localhost:3000" },
      { BASE_URL: "https://auth.example.com" },
      { WORKSPACES: "store" },
      { HOST: "127.0.0.1", BASE_URL: "https://localhost.example" }
    ]
    expect(reached.map(given)).toEqual(reached.map(() => "approved"))
    for (const WORKSPACE_ACCESS of ["registered", "approved", "owner"] as const) {
      for (const place of [{}, ...reached]) expect(given({ ...place, WORKSPACE_ACCESS })).toBe(WORKSPACE_ACCESS)
    }
    const why = [{}, { HOST: "::" }, { BASE_URL: "https://a.example" }, { WORKSPACE_ACCESS: "owner" }]
    expect(new Set(why.map((environment) => settingsOf(environment).workspaceAccessBecause)).size).toBe(why.length)
  })

  test("say of all that are wrong what is wrong, in a line each", () => {
    const wrong = {
      HOST: "two words",
      PORT: "70000",
      BASE_URL: "http://auth.example.com",
      WORKSPACE_NAME: " ",
      DATABASE_URL: "mysql://admin:hunter2@db",
      SEAL_KEYS: "c2hvcnQ",
      OWNER_EMAIL: "nobody",
      CODE_TTL: "soon",
      ACCESS_TTL: "0",
      REFRESH_IDLE_TTL: "-1 days",
      REFRESH_MAX_TTL: "Infinity",
      REFRESH_GRACE: "1",
      REGISTRATION: "maybe",
      REGISTRATION_TOKEN: "tooshort",
      MAX_UNPROVEN_CLIENTS: "0",
      REGISTRATION_ROWS: "never",
      RATE_LIMITS: "none",
      REQUIRE_PKCE: "yes",
      DPOP: "always",
      DPOP_NONCE: "on",
      WORKSPACE_ACCESS: "nobody",
      TRUSTED_PROXIES: "10.0.0.0/33",
      FETCH_ALLOW: "10.0.0.0/8",
      FETCH_CA: "nowhere.pem",
      ACCESS_LOG: "1",
      REQUEST_TIMEOUT: "10",
      SHUTDOWN_TIMEOUT: "later",
      STORAGE_TIMEOUT: "patiently"
    }
    const complaints = complaintsOf(wrong)
    expect(names(complaints).sort()).toEqual(Object.keys(wrong).sort())
    for (const complaint of complaints) expect(complaint).toMatch(/^[A-Z_]+: expected \S[^\n]*$/)
  })

  test("name the least duration as a person writes it, and take it as it is named", () => {
    for (const [name, least] of [
      ["DEVICE_CODE_TTL", "1 minute"],
      ["CODE_TTL", "1 second"],
      ["STORAGE_TIMEOUT", "100 millis"]
    ] as const) {
      const [said = ""] = complaintsOf({ [name]: "soon" })
      expect([name, /of at least (\d+ [a-z]+) and/.exec(said)?.[1]]).toEqual([name, least])
      expect(complaintsOf({ [name]: least })).toEqual([])
    }
  })

  test("take a factor of the rate limits that is a number within its bounds", () => {
    const factorOf = (text: string) => settingsOf({ RATE_LIMITS: text }).rateLimits
    expect(factorOf("on")).toBe(true)
    for (const [text, factor] of [
      ["4x", 4],
      ["0.1x", 0.1],
      ["2.25x", 2.25],
      ["1000x", 1000]
    ] as const) {
      expect(factorOf(text)).toEqual({ factor })
    }
    for (const text of ["4", "x", "4 x", "x4", "-1x", "0x", "0.09x", "1001x", "1e3x", "4.x", "1.2345x", "Infinityx"]) {
      expect(names(complaintsOf({ RATE_LIMITS: text }))).toEqual(["RATE_LIMITS"])
    }
  })

  test("take no time that a timer, or a token's expiry, has no room for", () => {
    const longest = { REQUEST_TIMEOUT: "24 days", SHUTDOWN_TIMEOUT: "24 days", CODE_TTL: "36500 days" }
    expect(complaintsOf(longest)).toEqual([])
    const longer = { REQUEST_TIMEOUT: "25 days", SHUTDOWN_TIMEOUT: "25 days", CODE_TTL: "36501 days" }
    expect(names(complaintsOf(longer)).sort()).toEqual(Object.keys(longer).sort())
  })

  test("never say a value, which may be a secret in the wrong place", () => {
    const values = ["hunter2hunter2", "s3cr3t-in-a-url", "c2VjcmV0LWtleQ", "hush"]
    const said = complaintsOf({
      PORT: "hunter2hunter2",
      DATABASE_URL: "mysql://admin:s3cr3t-in-a-url@db",
      SEAL_KEYS: "c2VjcmV0LWtleQ",
      REGISTRATION_TOKEN: "hush"
    }).join("\n")
    expect(names(said.split("\n"))).toHaveLength(4)
    for (const value of values) expect(said).not.toContain(value)
    const settings = settingsOf({ OWNER_EMAIL: "a@b.c", OWNER_PASSWORD: "hunter2hunter2" })
    expect(JSON.stringify(settings)).not.toContain("hunter2hunter2")
  })

  test("take an initial access token that a header can carry, and no other", () => {
    const complaintsOver = (token: string) => names(complaintsOf({ REGISTRATION: "token", REGISTRATION_TOKEN: token }))
    for (const token of ["aZ09-._~+/aZ09-.", "c2l4dGVlbiBieXRlcw=="]) expect(complaintsOver(token)).toEqual([])
    for (const token of ["correct horse battery staple", "pässwörter-und-mehr", "a=b".repeat(8), "=".repeat(16)]) {
      expect(complaintsOver(token)).toEqual(["REGISTRATION_TOKEN"])
    }
  })

  test("want a key where processes may share the database", () => {
    for (const url of ["postgres://u:p@h/d", "redis://h", "redis+cluster://a:1,b:2"]) {
      expect(names(complaintsOf({ DATABASE_URL: url }))).toEqual(["SEAL_KEYS"])
      expect(complaintsOf({ DATABASE_URL: url, SEAL_KEYS: key() })).toEqual([])
    }
    for (const url of ["memory:", "sqlite:/tmp/t.db"]) expect(complaintsOf({ DATABASE_URL: url })).toEqual([])
    const twice = key()
    expect(names(complaintsOf({ SEAL_KEYS: `${twice},${twice}` }))).toEqual(["SEAL_KEYS"])
  })

  test("want the other half of what comes in two", () => {
    expect(names(complaintsOf({ OWNER_EMAIL: "a@b.c" }))).toEqual(["OWNER_PASSWORD"])
    expect(names(complaintsOf({ OWNER_PASSWORD: "correct horse" }))).toEqual(["OWNER_EMAIL"])
    expect(names(complaintsOf({ REGISTRATION: "token" }))).toEqual(["REGISTRATION_TOKEN"])
    expect(names(complaintsOf({ REGISTRATION_TOKEN: "0123456789abcdef" }))).toEqual(["REGISTRATION"])
    expect(complaintsOf({ REGISTRATION: "closed", REGISTRATION_TOKEN: "0123456789abcdef" })).toEqual([])
  })

  test.each([
    "http://auth.example.com",
    "https://auth.example.com/",
    "https://auth.example.com?a=b",
    "https://user@auth.example.com",
    "ftp://127.0.0.1",
    "auth.example.com"
  ])("refuse %s for an issuer", (url) => {
    expect(names(complaintsOf({ BASE_URL: url }))).toEqual(["BASE_URL"])
  })

  test("leave alone what is another program's, and take the empty text for nothing", () => {
    const settings = settingsOf({
      HOST_X: "1",
      PORT_3000_TCP: "tcp://x",
      REGISTRATION_X: "y",
      TESSERA_X: "z",
      PORT: ""
    })
    expect(settings.port).toBe(3000)
    expect(settings.host).toBe("127.0.0.1")
  })

  test("write the default issuer as a browser would", () => {
    expect(settingsOf({ PORT: "80" }).workspace.issuer as string).toBe("http://127.0.0.1")
  })
})

describe("a duration that nothing can hold", () => {
  test("is refused at start: a token's expiry has 48 bits, and a timer 31", () => {
    for (const name of ["CODE_TTL", "ACCESS_TTL", "REFRESH_IDLE_TTL", "REFRESH_MAX_TTL", "REFRESH_GRACE"]) {
      expect([name, complaintsOf({ [name]: "4000000 days" })]).toEqual([name, [expect.stringContaining(name)]])
      expect([name, complaintsOf({ [name]: "36500 days" })]).toEqual([name, []])
    }
    for (const name of ["REQUEST_TIMEOUT", "SHUTDOWN_TIMEOUT", "STORAGE_TIMEOUT"]) {
      expect([name, complaintsOf({ [name]: "25 days" })]).toEqual([name, [expect.stringContaining(name)]])
      expect([name, complaintsOf({ [name]: "1 day" })]).toEqual([name, []])
    }
  })
})
