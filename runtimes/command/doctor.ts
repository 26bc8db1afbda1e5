import { randomBytes } from "node:crypto"
import { accessSync, constants } from "node:fs"
import { dirname, resolve } from "node:path"
import { Cause, Clock, Context, Effect, Layer, Logger, Option, Result, Schema } from "effect"
import { Command } from "effect/cli"
import type { StorageRefused } from "../../adapters/StoreKind.ts"
import { type Client, displayName } from "../../core/client/Client.ts"
import { isSealed } from "../../core/client/ClientIdentifier.ts"
import { clientMembers } from "../../core/client/members.ts"
import { leastProfile, profileOf } from "../../core/client/Profile.ts"
import { sealedUnder } from "../../core/client/SealedClient.ts"
import { rulesBroken } from "../../core/engine/administerClients.ts"
import { clientChangesOwner } from "../../core/engine/ClientChanges.ts"
import { issuerOf, OtherIssuer, workspaceKind } from "../../core/engine/Openings.ts"
import { clientKind, decodeBody, grantKind, makeRecords } from "../../core/engine/Records.ts"
import { signingKind } from "../../core/engine/signingKeys.ts"
import type { Active } from "../../core/grant/Grant.ts"
import { isLongLived } from "../../core/grant/jwtAccessToken.ts"
import { clientAuths } from "../../core/oauth/clients/table.ts"
import { grantTypes } from "../../core/oauth/grants/table.ts"
import { Entropy } from "../../core/ports/Entropy.ts"
import {
  type Conflict,
  type Kind,
  Storage,
  StorageScan,
  StorageUnavailable,
  type StoredRecord
} from "../../core/ports/Storage.ts"
import { grantMark } from "../../core/rules/Id.ts"
import { day, hour } from "../../core/rules/Instant.ts"
import { standardPolicy } from "../../core/rules/Policy.ts"
import { basePath, isOnLoopback, type Workspace, withListed } from "../../core/workspace/Workspace.ts"
import { noProxies } from "../serve/peer.ts"
import { movesByItself } from "../server/application.ts"
import { hasOpenAccess, openAccessAdvice, openAccessWarning } from "../server/banner.ts"
import { Hosted, hostedBy, workspacesOfFile } from "../server/hosting.ts"
import { modeForOthers, restoreKeys, sealKeyFileOf, sealKeysIn } from "../server/SealKeyFile.ts"
import { readSettings, type Settings } from "../server/Settings.ts"
import { untrustedProxySeen } from "../server/untrustedProxy.ts"
import { lookAt, type Unseen } from "./administration.ts"
import { asked, hostAsked, localOrigin } from "./health.ts"
import { bad, doubtful, type Finding, failed, good, json, misused, print } from "./output.ts"
import { bringUpToDate, startBringsUpToDate } from "./upkeep.ts"

/** The user of the command may not write there. */
class Unwritable extends Schema.TaggedError<Unwritable>()("Unwritable", { message: Schema.String }) {}

const mayWrite = (path: string): Effect.Effect<void, Unwritable> =>
  Effect.try({
    try: () => accessSync(path, constants.W_OK),
    catch: (thrown) =>
      new Unwritable({
        message: `${path} can't be written: ${thrown instanceof Error ? thrown.message : String(thrown)}`
      })
  })

/** Whether a file could be made at a path, along with the folders that are missing. */
const mayMake = Effect.fnUntraced(function* (path: string): Effect.fn.Return<void, Unseen | Unwritable> {
  let folder = dirname(resolve(path))
  // A root that is not there, such as a drive's, has no parent but itself.
  while ((yield* lookAt(folder)) === undefined && folder !== dirname(folder)) folder = dirname(folder)
  yield* mayWrite(folder)
})

/** The start appends to it, and makes the file, but not its folder. */
const examineAuditFile = (path: string): Effect.Effect<Finding> => {
  const what = "audit"
  const wrong = ({ message }: { readonly message: string }): Effect.Effect<Finding> =>
    Effect.succeed(bad(what, message, "Look at the path in AUDIT, and at who may write there."))
  return Effect.gen(function* () {
    const file = yield* lookAt(path)
    if (file?.isDirectory() === true) return bad(what, `${path} is a folder`, "Let AUDIT name a file in it.")
    if (file !== undefined) {
      yield* mayWrite(path)
      return good(what, `events are appended to ${path}`)
    }
    const folder = dirname(path)
    if ((yield* lookAt(folder)) === undefined) {
      return bad(what, `${folder} is missing, and ${path} is to be in it`, `Make ${folder}, for the server's user.`)
    }
    yield* mayWrite(folder)
    return good(what, `${path} will be made at the first start`)
  }).pipe(Effect.catchTags({ Unseen: wrong, Unwritable: wrong }))
}

const unseen =
  (what: string) =>
  ({ message }: Unseen): Effect.Effect<Finding> =>
    Effect.succeed(bad(what, message, "Look at the path in DATABASE_URL, and at who may enter its folders."))

const unwritable =
  (what: string) =>
  ({ message }: Unwritable): Effect.Effect<Finding> =>
    Effect.succeed(bad(what, message, "Let the user that the server runs as write there, or set DATABASE_URL."))

/** Looks, and makes nothing: what is not there yet, the first start makes. */
const examineSealKeys = (settings: Settings): Effect.Effect<Finding> => {
  const what = "seal keys"
  if (Option.isSome(settings.sealKeys)) {
    return Effect.succeed(good(what, `${settings.sealKeys.value.length} in SEAL_KEYS`))
  }
  const database = settings.database.file
  if (database === undefined) {
    return Effect.succeed(good(what, "in the server's memory, as its records are"))
  }
  const path = sealKeyFileOf(database)
  return Effect.gen(function* () {
    const file = yield* lookAt(path)
    const beside = yield* lookAt(database)
    if (file === undefined) {
      if (beside !== undefined) {
        return bad(what, `${path} is missing, and ${database} is there`, restoreKeys(path))
      }
      yield* mayMake(path)
      return good(what, `will be made in ${path} at the first start`)
    }
    if (beside !== undefined && beside.uid !== file.uid) {
      return bad(
        what,
        `${path} belongs to user ${file.uid}, and ${database} to user ${beside.uid}, so the server may not read its keys`,
        `Run: chown ${beside.uid}:${beside.gid} ${path}`
      )
    }
    const { ring } = yield* sealKeysIn(path)
    const mode = modeForOthers(file)
    return mode === undefined
      ? good(what, `${ring.length} in ${path}, for its owner only`)
      : bad(what, `${path} can be read by others (mode ${mode})`, `Run: chmod 600 ${path}`)
  }).pipe(
    Effect.catchTags({
      SealKeysRefused: ({ message }) =>
        Effect.succeed(bad(what, message, "Without these keys everybody has to sign in to their applications again.")),
      Unseen: unseen(what),
      Unwritable: unwritable(what)
    })
  )
}

/** Longer than any storage takes, or a server that sweeps meanwhile would take the record away. */
const lifetime = hour

/** A record that no other program knows, there and back. */
export const roundTrip = Effect.gen(function* () {
  const storage = yield* Storage
  const record = {
    workspace: "doctor",
    kind: "usage",
    id: randomBytes(16).toString("hex"),
    owner: "doctor",
    expiresAt: (yield* Clock.currentTimeMillis) + lifetime,
    body: { _v: 1, _by: "doctor", written: true }
  } as const
  const start = performance.now()
  yield* storage.insert(record)
  const found = yield* storage.get(record)
  yield* storage.replace(1, record)
  yield* storage.remove(record)
  const gone = Option.isNone(yield* storage.get(record))
  return { sound: Option.isSome(found) && gone, milliseconds: performance.now() - start }
})

const isOutdated = (error: StorageRefused | StorageUnavailable | Conflict): error is StorageRefused =>
  error._tag === "StorageRefused" && error.reason === "outdated"

/** What was noticed longer ago than this is no news. */
const recently = 30 * day
const pageSize = 1000
const shownMost = 10

/** What is looked at: a server by its settings, and all its workspaces by id. */
interface Examined {
  readonly settings: Settings
  readonly workspaces: ReadonlyMap<string, Workspace>
}

/** A file that cannot be read is a finding of its own, and that of `BASE_URL` is there without it. */
const allWorkspaces = (settings: Settings) =>
  Effect.gen(function* () {
    const found = new Map<string, Workspace>([[settings.workspace.id, settings.workspace]])
    const { each } = yield* Hosted
    yield* each((workspace) => Effect.sync(() => void found.set(workspace.id, workspace)))
    return found
  }).pipe(
    Effect.provide(hostedBy(settings)),
    Effect.catchTag("WrongSettings", () => Effect.succeed(new Map([[settings.workspace.id, settings.workspace]])))
  )

/** So many are asked about at once. */
const atOnce = { concurrency: 16 }

/** Which of several it is; nothing of that of `BASE_URL`. */
const within = ({ settings }: Examined, id: string): string => (id === settings.workspace.id ? "" : ` in ${id}`)

/** As many as can be read at a glance, and how many more there are. */
const firstOf = (all: ReadonlyArray<string>): ReadonlyArray<string> =>
  all.length > shownMost ? [...all.slice(0, shownMost), `${all.length - shownMost} more`] : all

/** Every record of a kind in the workspaces that are looked at. */
const eachRecord = Effect.fnUntraced(function* <E>(
  { workspaces }: Examined,
  kind: Kind,
  look: (record: StoredRecord) => Effect.Effect<void, E>
) {
  const { scan } = yield* StorageScan
  let after: string | undefined
  do {
    const page = yield* scan(kind, after, pageSize)
    for (const record of page.records) if (workspaces.has(record.workspace)) yield* look(record)
    after = page.next
  } while (after !== undefined)
})

const readClient = decodeBody(clientKind)

/** Every client that this release can read. */
const eachClient = (examined: Examined, look: (client: Client, workspace: string) => void) =>
  eachRecord(examined, "client", ({ body, workspace }) =>
    Effect.sync(() => {
      const read = readClient(body)
      if (Result.isSuccess(read)) look(read.success.value, workspace)
    })
  )

/** Every grant that a refresh was retried for, of late, from another network than it came from. */
const retriedFromTwoNetworks = Effect.fnUntraced(function* (examined: Examined) {
  const read = decodeBody(grantKind(examined.settings.policy))
  const since = (yield* Clock.currentTimeMillis) - recently
  const found: Array<Active & { readonly of: string }> = []
  const unread = (why: string) => new StorageUnavailable({ outcome: "not_done", message: `a grant record ${why}` })
  yield* eachRecord(examined, "grant", ({ body, owner, workspace: of }) => {
    if (owner === clientChangesOwner) return Effect.void
    return Effect.map(Effect.fromResult(Result.mapError(read(body), unread)), ({ value }) => {
      if (value._tag === "Active" && (value.retriedElsewhereAt ?? 0) > since) found.push({ ...value, of })
    })
  })
  return found
})

const examineRefreshes = (examined: Examined) =>
  Effect.map(retriedFromTwoNetworks(examined), (found): Finding => {
    const what = "refreshes"
    if (found.length === 0) return good(what, "none was retried from another network in the last 30 days")
    const named = found.map(({ client, id, of }) => `${grantMark(id)} of client ${client}${within(examined, of)}`)
    return doubtful(
      what,
      `retried from another network in the last 30 days: ${firstOf(named).join(", ")}`,
      "A stolen refresh token looks like this, and so does a phone that changes networks. RefreshRetried in the audit stream says when; each person can revoke their own among the connected apps."
    )
  })

/** Tokens that others may check without asking: whose, and how long one works after it was revoked. */
interface Outliving {
  readonly whose: string
  readonly life: number
}

const tables = {
  clientAuths: new Map(clientAuths.map((row) => [row.name, row])),
  clientMembers,
  grantTypes: new Map(grantTypes.map((row) => [row.name, row]))
}

/** Clients that an owner chose JWTs for. */
const jwtClients = Effect.fnUntraced(function* (examined: Examined) {
  const life = examined.settings.policy.accessTtl
  const found: Array<Outliving> = []
  yield* eachClient(examined, (client, of) => {
    if (client.accessTokenFormat !== "jwt") return
    found.push({ whose: `${displayName(client)} (${client.id})${within(examined, of)}`, life })
  })
  return found
})

/** What its profile asks of each client, and what of it the client breaks: such a client can do nothing. */
const examineProfiles = Effect.fnUntraced(function* (examined: Examined) {
  const { policy } = examined.settings
  const broken: Array<string> = []
  let held = 0
  yield* eachClient(examined, (client, of) => {
    if (profileOf(client, policy) !== leastProfile(standardPolicy)) held++
    for (const rule of rulesBroken({ ...tables, policy }, client)) {
      broken.push(`${displayName(client)} (${client.id})${within(examined, of)}: ${rule}`)
    }
  })
  const what = "profiles"
  if (broken.length > 0) {
    // What the server holds all to, no command loosens for one.
    const loosen =
      leastProfile(policy) === leastProfile(standardPolicy)
        ? "run: tessera client profile ID standard"
        : "set FAPI2=optional, which holds to it only clients that ask for it"
    return [doubtful(what, firstOf(broken).join(" "), `Let the client register anew as its profile asks, or ${loosen}`)]
  }
  return held === 0 ? [] : [good(what, `${held} clients keep the rules of a stricter profile`)]
})

/** Resources that asked for JWTs: those that are configured, and those that owners listed. */
const jwtResources = Effect.fnUntraced(function* (examined: Examined, storage: Storage["Service"]) {
  const { accessTtl } = examined.settings.policy
  const records = makeRecords(storage, workspaceKind)
  const of = Effect.fnUntraced(function* (workspace: Workspace) {
    const kept = yield* records.get(workspace.id, workspace.id)
    const { resources = [] } = withListed(workspace, false, kept?.value.resources ?? [])
    return resources.flatMap(
      ({ accessTokenFormat, accessTokenTtl = accessTtl, at }): ReadonlyArray<Outliving> =>
        accessTokenFormat === "jwt"
          ? [{ whose: `${at}${within(examined, workspace.id)}`, life: Math.min(accessTokenTtl, accessTtl) }]
          : []
    )
  })
  return (yield* Effect.forEach(examined.workspaces.values(), of, atOnce)).flat()
})

const examineJwts = Effect.fnUntraced(function* (examined: Examined, storage: Storage["Service"]) {
  const found = [...(yield* jwtResources(examined, storage)), ...(yield* jwtClients(examined))]
  if (found.length === 0) return []
  const what = "JWT access tokens"
  const minutes = (all: ReadonlyArray<Outliving>) => Math.ceil(Math.max(...all.map(({ life }) => life)) / 60_000)
  const long = found.filter(({ life }) => isLongLived(life))
  if (long.length === 0) return [good(what, `outlive a revocation by ${minutes(found)} minutes at most`)]
  const named = firstOf(long.map(({ whose }) => whose))
  return [
    doubtful(
      what,
      `outlive a revocation by up to ${minutes(long)} minutes where an API does not ask this server: ${named.join(", ")}`,
      "Give the resource an accessTokenTtl of 5 minutes or less (or set ACCESS_TTL), let the API ask (jwtGuard with an apiKey), or run: tessera client access-tokens ID opaque"
    )
  ]
})

/** The seal keys, as far as they can be read. */
const ringOf = Effect.fnUntraced(function* ({ database: { file }, sealKeys }: Settings) {
  if (Option.isSome(sealKeys)) return sealKeys.value
  if (file === undefined) return []
  return (yield* Effect.orElseSucceed(sealKeysIn(sealKeyFileOf(file)), () => ({ ring: [] }))).ring
})

/**
 * Clients that go by what they registered, under seal. A client that a person let in has a record and needs the key no
 * more; any other is in no record, and is forgotten with the key.
 */
const examineRegistrations = Effect.fnUntraced(function* (examined: Examined) {
  const { settings } = examined
  const { policy } = settings
  const [first, ...leaving] = yield* ringOf(settings)
  const underKey = new Map<string, number>()
  yield* eachClient(examined, ({ origin }) => {
    if (origin === undefined || !isSealed(origin.identifier)) return
    const key = sealedUnder(origin.identifier) ?? ""
    underKey.set(key, (underKey.get(key) ?? 0) + 1)
  })
  const atConsent = policy.registrationRows === "at_consent"
  if (first === undefined || (!atConsent && underKey.size === 0)) return []
  const what = "registrations"
  const many = (key: string) => `${underKey.get(key) ?? 0} clients go by ids that seal key ${key} sealed`
  if (leaving.length === 0) return [good(what, many(first.id))]
  const days = Math.ceil(policy.unusedClientTtl / day)
  return [
    doubtful(
      what,
      [first, ...leaving].map(({ id }) => many(id)).join(", "),
      `They stay when ${leaving.map(({ id }) => id).join(", ")} is taken out. Clients that nobody has let in yet have to register anew then: leave a key in for ${days} days after another came in front of it.`
    )
  ]
})

/** Whether the ring still has what the private parts are encrypted under. */
const examineSigningKeys = Effect.fnUntraced(function* (examined: Examined, storage: Storage["Service"]) {
  const records = makeRecords(storage, signingKind)
  const of = Effect.fnUntraced(function* ({ id, issuer }: Workspace) {
    const kept = yield* records.get(id, id)
    const keys = kept?.value.issuer === issuer ? kept.value.keys : []
    return keys.map(({ kid, wrapped }) => ({ whose: `${kid}${within(examined, id)}`, by: wrapped.by }))
  })
  const keys = (yield* Effect.forEach(examined.workspaces.values(), of, atOnce)).flat()
  const ring = yield* ringOf(examined.settings)
  // What else is wrong with the seal keys is a finding of its own.
  if (keys.length === 0 || ring.length === 0) return []
  const what = "signing keys"
  const lost = keys.filter(({ by }) => !ring.some(({ id }) => id === by))
  if (lost.length === 0) return [good(what, `${keys.length}, encrypted under the seal keys`)]
  const named = firstOf(lost.map(({ whose }) => whose))
  const missing = [...new Set(lost.map(({ by }) => by))].join(", ")
  return [
    bad(
      what,
      `${named.join(", ")} cannot sign: sealed under a seal key that is missing, ${missing}`,
      "Put that seal key back behind the others, for five minutes of a running server. If it is lost, run: tessera signing-keys retire KEY --compromised"
    )
  ]
})

/** Whether the store has another server's workspaces under the ids of ours. */
const examineIssuers = Effect.fnUntraced(function* (
  { settings, workspaces }: Examined,
  storage: Storage["Service"],
  what: string
) {
  const others = [...workspaces.values()].filter(({ id }) => id !== settings.workspace.id)
  const found = yield* Effect.forEach(
    others,
    (workspace) =>
      Effect.map(issuerOf(storage, workspace.id), (recorded) =>
        recorded === undefined || recorded === workspace.issuer
          ? []
          : [new OtherIssuer({ workspace: workspace.id, issuer: workspace.issuer, recorded }).message]
      ),
    atOnce
  )
  const says = found.flat()
  return says.length === 0
    ? []
    : [bad(what, says.slice(0, shownMost).join(" "), "Look at WORKSPACES, BASE_URL and DATABASE_URL.")]
})

/** Whether a peer that is not trusted says for whom it asks. */
const examineForwarded = Effect.fnUntraced(function* ({ workspace }: Settings, storage: Storage["Service"]) {
  const seen = yield* untrustedProxySeen(storage, workspace.id)
  if (seen === undefined) return []
  return [
    doubtful(
      "X-Forwarded-For",
      `came from an address that is not in TRUSTED_PROXIES, and was not read; noted at ${new Date(seen).toISOString()}`,
      "If a proxy of yours stands in front, name it in TRUSTED_PROXIES: until then all callers behind it share the limits of one address. Any client may send the header, so it may be a stranger's."
    )
  ]
})

const alone = (finding: Finding): ReadonlyArray<Finding> => [finding]

/** The store, and, where it answers, what can only be seen in its records. */
const examineStorage = (settings: Settings): Effect.Effect<ReadonlyArray<Finding>> => {
  const what = "storage"
  const { database } = settings
  if (!database.kind.lasts) {
    return Effect.succeed([doubtful(what, database.described, "Set DATABASE_URL for anything that is meant to last.")])
  }
  return Effect.gen(function* () {
    if (database.file !== undefined && (yield* lookAt(database.file)) === undefined) {
      yield* mayMake(database.file)
      return [good(what, `${database.file} will be made at the first start`)]
    }
    const warnings: Array<string> = []
    const hear = Logger.make(({ logLevel, message }) => {
      if (logLevel === "Warn") warnings.push(Array.isArray(message) ? message.join(" ") : String(message))
    })
    const services = yield* Layer.build(database.open({ ...settings.storage, migrations: "check" })).pipe(
      Effect.provide(Logger.layer([hear], { mergeWithExisting: true }))
    )
    const { milliseconds, sound } = yield* Effect.provideContext(roundTrip, Context.pick(Storage)(services))
    if (!sound)
      return [bad(what, "a record that was written was not found again", "Nothing else may write to this database.")]
    const { id, issuer } = settings.workspace
    const storage = Context.get(services, Storage)
    const recorded = yield* issuerOf(storage, id)
    const workspaces = yield* allWorkspaces(settings).pipe(
      Effect.provideContext(Context.pick(Storage)(services)),
      Effect.provide(Entropy.layer)
    )
    const examined = { settings, workspaces }
    const found = yield* Effect.gen(function* () {
      return [
        ...(yield* examineIssuers(examined, storage, what)),
        yield* examineRefreshes(examined),
        ...(yield* examineJwts(examined, storage)),
        ...(yield* examineProfiles(examined)),
        ...(yield* examineRegistrations(examined)),
        ...(yield* examineSigningKeys(examined, storage)),
        ...(yield* examineForwarded(settings, storage))
      ]
    }).pipe(Effect.provideContext(Context.pick(StorageScan)(services)))
    return [
      recorded === undefined || recorded === issuer || movesByItself(recorded, settings.workspace) !== false
        ? good(what, `${database.described}; five operations took ${Math.ceil(milliseconds)} ms`)
        : bad(what, new OtherIssuer({ workspace: id, issuer, recorded }).message, "Look at BASE_URL and DATABASE_URL."),
      // What the store says of itself at a start.
      ...warnings.map((said) => doubtful(what, said, "Change it, or know what a crash or a failover costs.")),
      ...found
    ]
  }).pipe(
    Effect.scoped,
    Effect.catchTags({
      Unseen: (trouble) => Effect.map(unseen(what)(trouble), alone),
      Unwritable: (trouble) => Effect.map(unwritable(what)(trouble), alone)
    }),
    Effect.catchIf(isOutdated, ({ message }) => {
      const find = startBringsUpToDate(database, settings.storage) ? doubtful : bad
      return Effect.succeed([find(what, message, bringUpToDate(database, settings.storage))])
    }),
    Effect.catchCause((cause) => {
      const error = Cause.squash(cause)
      return Effect.succeed([
        bad(
          what,
          error instanceof Error ? error.message : String(error),
          "Look at DATABASE_URL, and at the server that it names."
        )
      ])
    })
  )
}

/** This release was made after this moment; a clock that says otherwise is wrong. */
const releasedAfter = Date.UTC(2026, 0, 1)
const tolerated = 5000

/** The clock of this machine decides expiry, so it has to be right, and to agree with that of the file system. */
const examineClock = (settings: Settings): Effect.Effect<Finding> =>
  Effect.gen(function* () {
    const what = "clock"
    const now = Date.now()
    const advice = "Let a time service (chrony, systemd-timesyncd) set the clock."
    if (now < releasedAfter) return bad(what, `it says ${new Date(now).toISOString()}`, advice)
    const path = settings.database.file === undefined ? undefined : sealKeyFileOf(settings.database.file)
    // What can't be looked at is a finding of another's already.
    const file = path === undefined ? undefined : yield* Effect.orElseSucceed(lookAt(path), () => undefined)
    const changed = file?.mtimeMs
    return changed !== undefined && changed > now + tolerated
      ? bad(what, `it says ${new Date(now).toISOString()}, and ${path} was changed after that`, advice)
      : good(what, `it says ${new Date(now).toISOString()}`)
  })

/** Which workspaces there are beside that of `BASE_URL`. */
const examineWorkspaces = ({ hosting, workspace }: Settings): Finding => {
  const what = "workspaces"
  switch (hosting._tag) {
    case "One":
      return good(what, "one, that of BASE_URL")
    case "Store":
      return good(what, "that of BASE_URL, and those that `tessera workspace list` names")
    case "File": {
      const read = workspacesOfFile(workspace, hosting.path)
      return Result.isSuccess(read)
        ? good(what, `that of BASE_URL, and ${read.success.length - 1} of ${hosting.path}`)
        : bad(what, read.failure.join("; "), "A server does not start like this; one that runs stays as it was.")
    }
  }
}

/** How far strangers get without an owner. */
const examineStrangers = (settings: Settings): Finding =>
  hasOpenAccess(settings)
    ? doubtful("open access", openAccessWarning, openAccessAdvice)
    : good("open access", "only clients of an owner, or on this machine, call the API as the workspace")

/** Whether the addresses that limits count are those of callers. */
const examineProxies = ({ trustedProxies, workspace }: Settings): Finding =>
  trustedProxies !== noProxies || isOnLoopback(workspace.issuer)
    ? good("proxies", trustedProxies === noProxies ? "none is trusted" : "those of TRUSTED_PROXIES say who calls")
    : doubtful(
        "proxies",
        "none is trusted, so X-Forwarded-For is not read",
        "If one stands in front, set TRUSTED_PROXIES; otherwise all callers share the limits of one address."
      )

const readMetadata = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Struct({ issuer: Schema.String })))

/** Only this machine is asked: whether the world reaches the base URL can't be seen from here. */
const examineAddress = (settings: Settings): Effect.Effect<Finding> =>
  Effect.gen(function* () {
    const what = "address"
    const { workspace } = settings
    const here = localOrigin(settings)
    const response = yield* asked(
      `${here}/.well-known/oauth-authorization-server${basePath(workspace.issuer)}`,
      hostAsked(settings)
    )
    if (response === undefined) return good(what, `${workspace.issuer}; no server answers on ${here} at the moment`)
    const issuer = Option.getOrUndefined(readMetadata(response.body))?.issuer
    if (issuer === undefined) {
      return bad(what, `something else answers on ${here}`, "Set PORT to a free one, or stop the other.")
    }
    return issuer === workspace.issuer
      ? good(what, `${workspace.issuer} answers on ${here}`)
      : bad(
          what,
          `the server on ${here} says that it is ${issuer}, and BASE_URL is ${workspace.issuer}`,
          "Start the server with the same BASE_URL."
        )
  })

const marks = { good: "ok  ", doubtful: "note", bad: "BAD " } as const

const lines = (findings: ReadonlyArray<Finding>): ReadonlyArray<string> =>
  findings.flatMap(({ advice, says, state, what }) => [
    `${marks[state]}  ${what}: ${says}`,
    ...(advice === undefined ? [] : [`      ${advice}`])
  ])

export const doctor = Command.make("doctor", { json }, (given) =>
  Effect.gen(function* () {
    const read = yield* Effect.result(readSettings)
    if (Result.isFailure(read)) {
      const findings = read.failure.complaints.map((complaint) =>
        bad("configuration", complaint, "runtimes/server/README.md says what each may be.")
      )
      yield* print(given.json, findings, lines(findings))
      return yield* misused("The server can't start like this.")
    }
    const settings = read.success
    const { audit } = settings.observe
    const findings = [
      good("configuration", "every variable is as it should be"),
      yield* examineSealKeys(settings),
      ...(yield* examineStorage(settings)),
      ...(audit._tag === "File" ? [yield* examineAuditFile(audit.path)] : []),
      yield* examineClock(settings),
      yield* examineAddress(settings),
      examineProxies(settings),
      examineWorkspaces(settings),
      examineStrangers(settings)
    ]
    yield* print(given.json, findings, lines(findings))
    if (findings.some(({ state }) => state === "bad")) return yield* failed("Something has to be done.")
  })
).pipe(
  Command.withDescription(
    "Look at configuration, seal keys, storage, refreshes, JWTs, registrations, signing keys, audit file, clock, address, proxies, workspaces and open access, and say what to do"
  )
)
