import { existsSync } from "node:fs"
import { dirname } from "node:path"
import { ConfigProvider, Effect, Option, Redacted, Result } from "effect"
import { type FetchOptions, hasSockets } from "../../adapters/documents/FetchOptions.ts"
import type { Opening, Store } from "../../adapters/StoreKind.ts"
import { StoreKinds } from "../../adapters/stores.ts"
import { isLimitFactor, limitFactorExpected, type RateLimits } from "../../core/limits/SharedLimiter.ts"
import { type DocumentHosts, documentHostExpected, isDocumentHost } from "../../core/rules/DocumentHosts.ts"
import { algorithms } from "../../core/rules/Jwk.ts"
import { Policy, standardPolicy } from "../../core/rules/Policy.ts"
import { signInScopes } from "../../core/rules/Scope.ts"
import { initialTokenExpected, isInitialToken } from "../../core/rules/Secret.ts"
import { type KeyRing, parseKeyRing } from "../../core/token/KeyRing.ts"
import {
  type Issuer,
  isLoopbackHost,
  isOnLoopback,
  parseIssuer,
  type Workspace,
  WorkspaceId
} from "../../core/workspace/Workspace.ts"
import {
  isOpenToReaders,
  metricsOnPublicPort,
  type ObserveSettings,
  observeSettings,
  observeVariables,
  unappendable
} from "../observe/ObserveSettings.ts"
import { noProxies, parseTrustedProxies, type TrustedProxies, trustedProxiesExpected } from "../serve/peer.ts"
import { fetchOptionsOf, fetchVariables } from "./FetchSettings.ts"
import { readText } from "./JsonFile.ts"
import { hostInUrl } from "./Listen.ts"
import { resourcesVariable } from "./ResourcesFile.ts"
import { databaseVariable, openingOf, storageVariables } from "./StorageSettings.ts"
import { type TlsFiles, tlsFilesOf, tlsVariables } from "./Tls.ts"
import {
  type Complaint,
  complaint,
  complaintsOf,
  durationOf,
  fromResult,
  listeningHost,
  oneOf,
  optional,
  readVariables,
  switchOf,
  text,
  timeoutOf,
  type Variable,
  WrongSettings,
  wholeNumber
} from "./Variable.ts"

/** Where the workspaces beside that of `BASE_URL` come from. */
export type HostingSettings =
  | { readonly _tag: "One" }
  | { readonly _tag: "File"; readonly path: string }
  | { readonly _tag: "Store" }

/** Everything that an operator can choose, read and checked. */
export interface Settings {
  readonly host: string
  readonly port: number
  /** That of `BASE_URL`. */
  readonly workspace: Workspace
  /** Where others beside it come from. */
  readonly hosting: HostingSettings
  readonly database: Store
  readonly storage: Opening
  /** None: the server looks after its keys itself, where it can. */
  readonly sealKeys: Option.Option<KeyRing>
  readonly firstOwner: Option.Option<FirstOwner>
  readonly policy: Policy
  /** Why the policy's `workspaceAccess` is what it is: by name, or by the place that the server is at. */
  readonly workspaceAccessBecause: string
  readonly registration: Registration
  /** Whose metadata documents of clients are taken. */
  readonly clientDocuments: DocumentHosts
  readonly rateLimits: RateLimits
  readonly trustedProxies: TrustedProxies
  readonly fetch: FetchOptions
  /** Where TLS ends here. */
  readonly tls: Option.Option<TlsFiles>
  readonly accessLog: boolean
  readonly observe: ObserveSettings
  /** A request that is not all there after so many milliseconds is given up. */
  readonly requestTimeout: number
  /** How long, in milliseconds, a shutdown waits for what is under way. */
  readonly shutdownTimeout: number
}

interface FirstOwner {
  readonly email: string
  readonly password: Redacted.Redacted<string>
}

export type Registration =
  | { readonly _tag: "Open" }
  | { readonly _tag: "Closed" }
  | { readonly _tag: "Token"; readonly token: Redacted.Redacted<string> }

const secret = (
  name: string,
  expected: string,
  isOne: (given: string) => boolean
): Variable<Option.Option<Redacted.Redacted<string>>> =>
  optional({
    name,
    expected,
    read: (given) => (isOne(given) ? Option.some(Redacted.make(given, { label: name })) : Option.none())
  })

const readRateLimits = (given: string): Option.Option<RateLimits> => {
  if (given === "on") return Option.some(true)
  if (given === "off") return Option.some(false)
  const factor = Number(/^(\d{1,4}(?:\.\d{1,3})?)x$/.exec(given)?.[1] ?? Number.NaN)
  return isLimitFactor(factor) ? Option.some({ factor }) : Option.none()
}

const readClientDocuments = (given: string): Option.Option<DocumentHosts> => {
  if (given === "on") return Option.some("any")
  if (given === "off") return Option.some([])
  const hosts = given.split(",").map((host) => host.trim())
  return hosts.every(isDocumentHost) ? Option.some(hosts) : Option.none()
}

const accesses = Policy.fields.workspaceAccess.literals

const variables = {
  host: listeningHost("HOST"),
  port: wholeNumber("PORT", 1, 65535, 3000),
  baseUrl: optional<Issuer>({
    name: "BASE_URL",
    expected:
      "an https URL without query, fragment or slash at the end (http only for 127.0.0.1, [::1] and localhost, because every machine on the way could read the tokens)",
    read: fromResult(parseIssuer)
  }),
  workspaceName: {
    ...text("WORKSPACE_NAME", "a name of at most 64 characters, as people read it", /^(?!\s*$)[^\p{Cc}]{1,64}$/u),
    fallback: "Tessera"
  },
  workspaces: {
    name: "WORKSPACES",
    expected: "store, or the path of a file with a slash in it, such as ./workspaces.json",
    read: (given: string): Option.Option<HostingSettings> => {
      if (given === "store") return Option.some({ _tag: "Store" })
      return given.includes("/") ? Option.some({ _tag: "File", path: given }) : Option.none()
    },
    fallback: { _tag: "One" } satisfies HostingSettings
  },
  resources: resourcesVariable,
  sealKeys: optional<KeyRing>({
    name: "SEAL_KEYS",
    expected: "different keys of 32 bytes in base64url, separated by commas (`tessera seal-keys new` makes one)",
    read: (given) => Result.getSuccess(parseKeyRing(Redacted.make(given)))
  }),
  ownerEmail: optional(text("OWNER_EMAIL", "an email address", /^[^\s@]{1,64}@[^\s@]{1,255}$/)),
  ownerPassword: secret("OWNER_PASSWORD", "a password", (given) => given !== ""),
  codeTtl: durationOf("CODE_TTL", 1000, standardPolicy.codeTtl),
  accessTtl: durationOf("ACCESS_TTL", 1000, standardPolicy.accessTtl),
  refreshIdleTtl: durationOf("REFRESH_IDLE_TTL", 1000, standardPolicy.refreshIdleTtl),
  refreshMaxTtl: durationOf("REFRESH_MAX_TTL", 1000, standardPolicy.refreshMaxTtl),
  refreshGrace: durationOf("REFRESH_GRACE", 0, standardPolicy.refreshGrace),
  registration: oneOf("REGISTRATION", ["open", "token", "closed"], "open"),
  registrationToken: secret("REGISTRATION_TOKEN", `a secret of ${initialTokenExpected}`, isInitialToken),
  registrationRows: oneOf(
    "REGISTRATION_ROWS",
    Policy.fields.registrationRows.literals,
    standardPolicy.registrationRows
  ),
  clientDocuments: optional<DocumentHosts>({
    name: "CLIENT_DOCUMENTS",
    expected: `on, off, or ${documentHostExpected}, separated by commas`,
    read: readClientDocuments
  }),
  maxUnprovenClients: wholeNumber("MAX_UNPROVEN_CLIENTS", 1, 10_000_000, standardPolicy.maxUnprovenClients),
  rateLimits: {
    name: "RATE_LIMITS",
    expected: `on, off, or how many times as much is allowed: 4x, 0.5x (${limitFactorExpected})`,
    read: readRateLimits,
    fallback: true
  },
  jwtAlgorithm: oneOf("JWT_ALGORITHM", algorithms, standardPolicy.jwtAlgorithm),
  dpop: oneOf("DPOP", ["optional", "required"], standardPolicy.dpop),
  dpopNonce: oneOf("DPOP_NONCE", ["off", "auth", "all"], standardPolicy.dpopNonce),
  requirePkce: switchOf("REQUIRE_PKCE", "true", "false", standardPolicy.requirePkce),
  par: oneOf("PAR", ["optional", "required"], "optional"),
  fapi2: oneOf("FAPI2", ["optional", "required"], "optional"),
  devices: switchOf("DEVICES", "on", "off", standardPolicy.devices),
  deviceTtl: durationOf("DEVICE_CODE_TTL", 60_000, standardPolicy.deviceTtl),
  consent: oneOf("CONSENT", Policy.fields.consent.literals, standardPolicy.consent),
  workspaceAccess: optional<Policy["workspaceAccess"]>({
    name: "WORKSPACE_ACCESS",
    expected: accesses.join(" or "),
    read: (given) => Option.fromUndefinedOr(accesses.find((access) => access === given))
  }),
  trustedProxies: {
    name: "TRUSTED_PROXIES",
    expected: trustedProxiesExpected,
    read: fromResult(parseTrustedProxies),
    fallback: noProxies
  },
  accessLog: switchOf("ACCESS_LOG", "on", "off", false),
  requestTimeout: timeoutOf("REQUEST_TIMEOUT", 1000, 20_000),
  shutdownTimeout: timeoutOf("SHUTDOWN_TIMEOUT", 0, 10_000)
}

/** Each as it is there or as it is wrong, through whatever `ConfigProvider` is there. */
const readAll = Effect.flatMap(StoreKinds, (kinds) =>
  Effect.all(
    {
      ...readVariables({
        ...variables,
        database: databaseVariable(kinds),
        ...storageVariables,
        ...fetchVariables,
        ...tlsVariables
      }),
      ...observeVariables
    },
    { mode: "result" }
  )
)

type Read = Effect.Success<typeof readAll>

const both = <A, B>(
  a: Result.Result<A, Complaint>,
  b: Result.Result<B, Complaint>,
  check: (a: A, b: B) => ReadonlyArray<Complaint | false>
) => (Result.isSuccess(a) && Result.isSuccess(b) ? check(a.success, b.success) : [])

/** Conflicts of two variables, each right by itself. */
const complaintsBetween = (read: Read): ReadonlyArray<Complaint> =>
  [
    ...both(read.database, read.sealKeys, (database, keys) => [
      Option.isNone(keys) &&
        database.kind.shared &&
        complaint(
          "SEAL_KEYS",
          "a key, because several processes may share this database (`tessera seal-keys new` makes one)"
        )
    ]),
    ...both(read.ownerEmail, read.ownerPassword, (email, password) => [
      Option.isSome(email) &&
        Option.isNone(password) &&
        complaint("OWNER_PASSWORD", "a password, because OWNER_EMAIL is set"),
      Option.isNone(email) &&
        Option.isSome(password) &&
        complaint("OWNER_EMAIL", "an email address, because OWNER_PASSWORD is set")
    ]),
    ...both(read.registration, read.registrationToken, (registration, token) => [
      registration === "token" &&
        Option.isNone(token) &&
        complaint("REGISTRATION_TOKEN", "the initial access token, because REGISTRATION is token"),
      registration === "open" &&
        Option.isSome(token) &&
        complaint("REGISTRATION", "token, because REGISTRATION_TOKEN is set")
    ]),
    ...both(read.fetchAllow, read.fetchCa, (allow, ca) => [
      Option.isSome(ca) &&
        allow.size === 0 &&
        complaint("FETCH_ALLOW", "the hosts whose certificates FETCH_CA vouches for, because that is set"),
      Option.isSome(ca) &&
        !hasSockets() &&
        complaint("FETCH_CA", "Node 20.16 or later; an older one takes the file in NODE_EXTRA_CA_CERTS")
    ]),
    ...both(read.otlpEndpoint, read.otlpInsecure, (endpoint, insecure) => [
      Option.isSome(endpoint) &&
        isOpenToReaders(endpoint.value) &&
        !insecure &&
        complaint(
          "OTEL_EXPORTER_OTLP_ENDPOINT",
          "https outside this machine, or OTEL_EXPORTER_OTLP_INSECURE=true beside it"
        )
    ]),
    ...both(read.port, read.metrics, (port, metrics) => [
      Option.isSome(metrics) && metrics.value.port === port && metricsOnPublicPort
    ])
  ].filter((one) => one !== false)

/** What a start would find missing, once the variables are right. */
const missingFiles = ({ audit, workspaces }: Read): ReadonlyArray<Complaint> => {
  const log = Result.isSuccess(audit) && audit.success._tag === "File" ? audit.success.path : undefined
  const list = Result.isSuccess(workspaces) && workspaces.success._tag === "File" ? workspaces.success.path : undefined
  const read = list === undefined ? undefined : readText(list)
  return [
    log !== undefined && !existsSync(dirname(log)) && unappendable(log, "has no folder"),
    read !== undefined && Result.isFailure(read) && `WORKSPACES: ${list}: ${read.failure.says}`
  ].filter((one) => one !== false)
}

const reading = (complaintsOfStart: (read: Read) => ReadonlyArray<Complaint>): Effect.Effect<Settings, WrongSettings> =>
  Effect.gen(function* () {
    const read = yield* readAll
    const tls = tlsFilesOf(
      Result.getOrElse(read.tlsCert, () => Option.none()),
      Result.getOrElse(read.tlsKey, () => Option.none()),
      Option.getOrElse(
        Result.getOrElse(read.baseUrl, () => Option.none()),
        () => ""
      )
    )
    const complaints = [
      ...complaintsOf(read),
      ...complaintsBetween(read),
      ...(Result.isFailure(tls) ? [tls.failure] : []),
      ...complaintsOfStart(read)
    ]
    const all = allOf(read)
    if (Result.isFailure(all) || Result.isFailure(tls) || complaints.length > 0)
      return yield* new WrongSettings({ complaints })
    return settingsOf(all.success, tls.success)
  })

/** Reads them all, and says of all that are wrong what is wrong. */
export const readSettings = reading(() => [])

/** The same for a server that is to start. One that runs goes on without these files, and so do commands beside it. */
export const readSettingsToStart = reading(missingFiles)

const allOf = (read: Read) => Result.all(read)

type All = Result.Result.Success<ReturnType<typeof allOf>>

const settingsOf = (given: All, tls: TlsFiles | undefined): Settings => {
  const { host } = given
  const workspace = {
    id: WorkspaceId.make("default"),
    issuer: Option.getOrElse(given.baseUrl, () => loopbackIssuer(given.port)),
    name: given.workspaceName,
    ...given.resources
  }
  const access = Option.match(given.workspaceAccess, {
    onNone: () => accessOfPlace({ host, hosting: given.workspaces, workspace }),
    onSome: (is) => ({ is, because: "as WORKSPACE_ACCESS says" })
  })
  return {
    host,
    port: given.port,
    workspace,
    hosting: given.workspaces,
    database: given.database,
    storage: openingOf(given.storageTimeout),
    sealKeys: given.sealKeys,
    firstOwner: Option.map(Option.all([given.ownerEmail, given.ownerPassword]), ([email, password]) => ({
      email,
      password
    })),
    policy: {
      ...standardPolicy,
      scopes: signInScopes,
      codeTtl: given.codeTtl,
      accessTtl: given.accessTtl,
      refreshIdleTtl: given.refreshIdleTtl,
      refreshMaxTtl: given.refreshMaxTtl,
      refreshGrace: given.refreshGrace,
      maxUnprovenClients: given.maxUnprovenClients,
      registrationRows: given.registrationRows,
      requirePkce: given.requirePkce,
      dpop: given.dpop,
      dpopNonce: given.dpopNonce,
      requirePush: given.par === "required",
      profile: given.fapi2 === "required" ? "fapi2" : standardPolicy.profile,
      jwtAlgorithm: given.jwtAlgorithm,
      workspaceAccess: access.is,
      devices: given.devices,
      deviceTtl: given.deviceTtl,
      consent: given.consent
    },
    workspaceAccessBecause: access.because,
    registration: registrationOf(given.registration, given.registrationToken),
    // A server that is closed to strangers takes no documents of theirs either, unless CLIENT_DOCUMENTS says so.
    clientDocuments: Option.getOrElse(given.clientDocuments, () => (given.registration === "open" ? "any" : [])),
    rateLimits: given.rateLimits,
    trustedProxies: given.trustedProxies,
    fetch: fetchOptionsOf(given.fetchAllow, given.fetchCa),
    tls: Option.fromUndefinedOr(tls),
    accessLog: given.accessLog,
    observe: observeSettings(given),
    requestTimeout: given.requestTimeout,
    shutdownTimeout: given.shutdownTimeout
  }
}

/** Every variable that the settings ask for, by name. */
export const variableNames: Effect.Effect<ReadonlyArray<string>> = Effect.suspend(() => {
  const names = new Set<string>()
  const asked = ConfigProvider.make((path) =>
    Effect.sync(() => {
      names.add(path.join("_"))
      return undefined
    })
  )
  return Effect.ignore(readSettings).pipe(
    Effect.provideService(ConfigProvider.ConfigProvider, asked),
    Effect.map(() => [...names])
  )
})

/** Whether only this machine reaches the server: one that listens beyond it is public, whatever its issuer says. */
export const isLocal = ({ host, hosting, workspace }: Pick<Settings, "host" | "hosting" | "workspace">): boolean =>
  hosting._tag === "One" && isOnLoopback(workspace.issuer) && isLoopbackHost(hostInUrl(host))

/** Who may act for the workspace where `WORKSPACE_ACCESS` does not say it: all that register, but for a public server. */
const accessOfPlace = (place: Pick<Settings, "host" | "hosting" | "workspace">) => {
  if (isLocal(place)) return { is: "registered", because: "HOST and BASE_URL are this machine's own" } as const
  if (place.hosting._tag !== "One") return { is: "approved", because: "WORKSPACES is set" } as const
  const because = isOnLoopback(place.workspace.issuer) ? "HOST is not loopback" : "BASE_URL is not loopback"
  return { is: "approved", because } as const
}

const loopbackIssuer = (port: number): Issuer =>
  Result.getOrThrow(parseIssuer(new URL(`http://127.0.0.1:${port}`).origin))

const registrationOf = (
  word: "open" | "token" | "closed",
  token: Option.Option<Redacted.Redacted<string>>
): Registration => {
  if (word === "open") return { _tag: "Open" }
  return word === "token" && Option.isSome(token) ? { _tag: "Token", token: token.value } : { _tag: "Closed" }
}
