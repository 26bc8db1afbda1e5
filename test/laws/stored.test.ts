import { describe, expect, test } from "bun:test"
import { Context, Effect, Layer, Result, Schema } from "effect"
import { authMethodOf } from "../../core/client/Client.ts"
import { isSecret, StoredSecret } from "../../core/client/ClientSecret.ts"
import { clientMembers } from "../../core/client/members.ts"
import { clientChangesKind } from "../../core/engine/ClientChanges.ts"
import { censusKind } from "../../core/engine/ClientRoom.ts"
import { hostedKind } from "../../core/engine/Hosting.ts"
import { logoutKind } from "../../core/engine/logoutCalls.ts"
import { makeOnce, onceKind } from "../../core/engine/Once.ts"
import { workspaceKind } from "../../core/engine/Openings.ts"
import {
  clientKind,
  decodeBody,
  encodeBody,
  grantKind,
  makeRecords,
  type RecordKind
} from "../../core/engine/Records.ts"
import { signingKind } from "../../core/engine/signingKeys.ts"
import { makeUsage, usageKind } from "../../core/engine/Usage.ts"
import { LimitSharing, limitKind, layer as sharedLimits } from "../../core/limits/SharedLimiter.ts"
import { privateKeyJwt } from "../../core/oauth/clients/privateKeyJwt.ts"
import { accountKind, loginIdOf, loginKind, normaliseEmail } from "../../core/people/Account.ts"
import { linkKind } from "../../core/people/Links.ts"
import { sessionKind } from "../../core/people/Sessions.ts"
import { failuresKind } from "../../core/people/SignInFailures.ts"
import { type Attempt, SignInThrottle } from "../../core/people/SignInThrottle.ts"
import type { KeySource } from "../../core/ports/ClientKeys.ts"
import { Entropy } from "../../core/ports/Entropy.ts"
import { allowances, Limiter } from "../../core/ports/Limiter.ts"
import { type Json, kinds, type NewRecord, Storage } from "../../core/ports/Storage.ts"
import { requestKind } from "../../core/request/AuthorizationRequest.ts"
import { Instant } from "../../core/rules/Instant.ts"
import { Algorithm } from "../../core/rules/Jwk.ts"
import { standardPolicy } from "../../core/rules/Policy.ts"
import { client, issuer, resourceRegistry, workspace, workspaceId } from "../../core/testing/Arbitraries.ts"
import { type Arbitrary, all, array, map, ofSchema, oneOf } from "../../core/testing/forAll.ts"
import { sameJson } from "../../core/testing/sameJson.ts"
import { stoppedAt } from "../../core/testing/stoppedClock.ts"
import { readTheme } from "../../core/workspace/Theme.ts"
import { WorkspaceId } from "../../core/workspace/Workspace.ts"
import keys from "./keys.json" with { type: "json" }
import { lawOf } from "./law.ts"
import { missingIn, placesOf } from "./places.ts"
import written from "./records.json" with { type: "json" }

/** As a store that keeps text gives it back. */
const throughText = (body: Json): Json => JSON.parse(JSON.stringify(body)) as Json

const reads = <A>(kind: RecordKind<A>, value: A): boolean => {
  const read = decodeBody(kind)(throughText(encodeBody(kind, value, "by this write")))
  return (
    Result.isSuccess(read) &&
    read.success.command === "by this write" &&
    sameJson(read.success.value as Json, value as Json)
  )
}

/** A record's key and its list, as the store was given them. */
type Key = Pick<NewRecord, "id" | "kind" | "owner" | "workspace">

/** A store that is empty and takes everything, for what is written into it. */
const takingKeys = () => {
  const keys: Array<Key> = []
  const take = ({ id, kind, owner, workspace }: NewRecord) =>
    Effect.sync(() => void keys.push({ workspace, kind, id, owner }))
  const storage = Storage.of({
    get: () => Effect.succeedNone,
    insert: take,
    replace: (_, record) => take(record),
    remove: () => Effect.void,
    list: () => Effect.succeed({ records: [], next: undefined }),
    sweep: () => Effect.succeed(0)
  })
  return { keys, storage }
}

const home = WorkspaceId.make("home")

const keyOf =
  <A>(kind: RecordKind<A>) =>
  (body: Json): Effect.Effect<ReadonlyArray<Key>, unknown> => {
    const { keys, storage } = takingKeys()
    const { value } = Result.getOrThrow(decodeBody(kind)(body))
    return Effect.as(makeRecords(storage, kind).insert(home, value, "by this write"), keys)
  }

/** What is read of a body, as JSON; or why it is not. */
type Read = (body: Json) => Result.Result<Json, string>

const readOf = <A>(kind: RecordKind<A>): Read => {
  const decode = decodeBody(kind)
  return (body) => Result.map(decode(body), ({ value }) => value as Json)
}

/** The forms that stand beside another in their kind. */
const census = "limit: census"
const clientChanges = "grant: changes of clients"
const failures = "limit: failures"
const hosted = "workspace: hosted"

const readers = new Map<
  string,
  {
    readonly read: Read
    readonly version: number
    readonly keyOf: ReturnType<typeof keyOf>
    readonly places: ReturnType<typeof placesOf>
  }
>()

const holdsFor = <A>(
  kind: RecordKind<A>,
  values: Arbitrary<A> = ofSchema(kind.schema),
  name: string = kind.kind
): void => {
  readers.set(name, { read: readOf(kind), version: kind.version, keyOf: keyOf(kind), places: placesOf(kind.schema) })
  lawOf(`a ${name} record reads as what was written`, values, (value) => reads(kind, value))
}

const instant = ofSchema(Instant)

holdsFor(clientKind, client)
holdsFor(grantKind(standardPolicy))
holdsFor(clientChangesKind, ofSchema(clientChangesKind.schema), clientChanges)
holdsFor(usageKind)
holdsFor(limitKind)
holdsFor(censusKind, ofSchema(censusKind.schema), census)
holdsFor(failuresKind, ofSchema(failuresKind.schema), failures)
holdsFor(accountKind)
holdsFor(loginKind)
holdsFor(linkKind)
holdsFor(sessionKind)
holdsFor(requestKind)
holdsFor(onceKind)
holdsFor(logoutKind)
holdsFor(
  workspaceKind,
  map(
    all([workspaceId, issuer, ofSchema(Schema.Boolean), resourceRegistry]),
    ([id, address, sealedBefore, resources]) => ({
      id,
      issuer: address,
      sealedBefore,
      resources
    })
  )
)
holdsFor(
  signingKind,
  map(
    all([workspaceId, issuer, array(all([instant, ofSchema(Schema.String), ofSchema(Algorithm)]))]),
    ([id, address, drawn]) => ({
      id,
      issuer: address,
      keys: drawn.map(([at, text, algorithm]) => ({
        kid: text,
        algorithm,
        publicKey: { kty: "OKP" as const, crv: "Ed25519" as const, x: "A".repeat(43) },
        wrapped: { by: text, text },
        madeAt: at,
        signsFrom: at,
        life: at
      }))
    })
  )
)

const looks = [
  undefined,
  { name: "Acme" },
  { accent: "#b4451f", logo: "/acme.svg", dark: { text: "#ffffff" }, radius: 0 }
]

const hostedRecord = oneOf(
  map(
    all([workspace, ofSchema(Schema.Literals([0, 1, 2])), ofSchema(Schema.Boolean)]),
    ([one, look, disabled]): typeof hostedKind.schema.Type => {
      const theme = looks[look]
      return {
        _tag: "Workspace",
        workspace: {
          ...one,
          ...(theme === undefined ? {} : { theme: Result.getOrThrow(readTheme(theme)) }),
          ...(disabled ? { disabled } : {})
        }
      }
    }
  ),
  map(
    all([ofSchema(Schema.String), workspaceId, ofSchema(Schema.Boolean), ofSchema(Schema.Int)]),
    ([at, id, isNobody, deepest]): typeof hostedKind.schema.Type => ({
      _tag: "Address",
      at,
      workspace: isNobody ? null : id,
      deepest,
      taking: at
    })
  )
)

holdsFor(hostedKind, hostedRecord, hosted)

test("every kind of record is looked at here", () => {
  expect([...readers.keys()].sort()).toEqual([...kinds, census, clientChanges, failures, hosted].sort())
})

/** Forms have a place for it, and it goes no further than the memory of one request. */
const neverWritten = ["<Waiting>.to<Device>.code"]

/** Bodies as each version of each kind's form was really written. A release that changes a form adds to them. */
describe("a record that an older release wrote", () => {
  for (const [kind, { places, read, version }] of readers) {
    const bodies = (written as Record<string, ReadonlyArray<Json>>)[kind] ?? []

    test(`${kind}: there is one of every version`, () => {
      const versions = new Set(bodies.map((body) => (body as { _v: number })._v))
      expect([...versions].sort()).toEqual(Array.from({ length: version }, (_, index) => index + 1))
    })

    // What no body has may change its name, and an update would forget it everywhere without an error.
    test(`${kind}: there is one with each thing that a record may hold`, () => {
      const now = bodies.filter((body) => (body as { _v: number })._v === version)
      expect(missingIn(now, places)).toEqual(kind === "request" ? neverWritten : [])
    })

    for (const [index, body] of bodies.entries()) {
      test(`${kind} ${index + 1} still reads`, () => {
        const { _v, _by, ...fields } = body as Record<string, Json>
        const found = read(body)
        expect(Result.isSuccess(found)).toBe(true)
        if (_v === version) expect(found).toEqual(Result.succeed(fields))
      })

      test(`${kind} ${index + 1} is refused, not guessed at, where a newer release wrote it`, () => {
        expect(Result.isFailure(read({ ...(body as Record<string, Json>), _v: version + 1 }))).toBe(true)
      })
    }
  }
})

/** What rows of tables keep in a client's record. A server without `openid` keeps what one with it would refuse. */
describe("of a client that an older release wrote", () => {
  const clients = written.client.flatMap((body) => {
    const read = decodeBody(clientKind)(body as Json)
    return Result.isSuccess(read) ? [read.success.value] : []
  })

  for (const member of clientMembers) {
    test(`what it registered as ${member.name} is known`, () => {
      const kept = clients.map((client) => [member.of(client), client.members?.[member.name]])
      expect(kept.some(([known]) => known !== undefined)).toBe(true)
      for (const [known, stored] of kept) expect(known).toEqual(stored)
    })
  }

  test("secrets are known, the older ones too", () => {
    const secrets = clients.filter(({ credential }) => isSecret(credential))
    expect(secrets).toEqual(clients.filter(({ credential }) => credential._tag === "Secret"))
    expect(
      missingIn(
        secrets.map(({ credential }) => credential),
        placesOf(StoredSecret)
      )
    ).toEqual([])
  })

  test("keys are known, by value and by address", () => {
    const signing = clients.filter((client) => authMethodOf(client) === privateKeyJwt.name)
    expect(signing.map(({ credential }) => privateKeyJwt.keys(credential))).toEqual(
      signing.map(({ credential }) => credential.keys as KeySource)
    )
    expect(new Set(signing.map(({ credential }) => (credential.keys as KeySource)._tag))).toEqual(
      new Set(["Registered", "Fetched"])
    )
    expect(signing.map(({ credential }) => privateKeyJwt.told(credential).token_endpoint_auth_signing_alg)).toEqual(
      signing.map(({ credential }) => credential.algorithm)
    )
  })
})

/** Version 1 was for one resource at most. */
const withResources = <G extends { readonly resource?: string | null }>({ resource = null, ...fields }: G) => ({
  ...fields,
  resources: resource === null ? null : [resource]
})

test("a grant of version 1 had neither its code's challenge nor the client that refreshed", () => {
  const bodies = written.grant.filter(({ _tag, _v }) => _tag === "Active" && _v === 1)
  expect(bodies.length).toBeGreaterThan(0)
  for (const { _v, _by, ...fields } of bodies) {
    const refresh = { ...fields.refresh, rotatedBy: null }
    expect(readers.get("grant")?.read({ _v, _by, ...fields } as Json)).toEqual(
      Result.succeed({ ...withResources(fields), challenge: null, refresh, retriedElsewhereAt: null } as Json)
    )
  }
})

const { derived = [], ...goldenKeys } = keys as Record<string, ReadonlyArray<Key>>

/** Where each body of `records.json` lies: another key, and what an older release wrote would never be found again. */
describe("a record lies where every release looks for it", () => {
  for (const [kind, { keyOf }] of readers) {
    test(kind, () =>
      Effect.gen(function* () {
        const bodies = (written as Record<string, ReadonlyArray<Json>>)[kind] ?? []
        const found = yield* Effect.forEach(bodies, keyOf)
        expect(found.flat()).toEqual([...(goldenKeys[kind] ?? [])])
      }).pipe(Effect.runPromise)
    )
  }

  test("also where the key is made of something that only another part keeps", () =>
    Effect.gen(function* () {
      const { keys: taken, storage } = takingKeys()
      const now = Instant.make(0)
      const entropy = Entropy.of({ bytes: (length) => new Uint8Array(length).fill(1) })
      yield* makeOnce(storage).take(home, "set-up", "a value", "somebody", now)
      const usage = makeUsage(makeRecords(storage, usageKind), entropy)
      usage.saw("grant", home, "g".repeat(22), now)
      yield* usage.flush
      const shared = yield* Layer.build(sharedLimits).pipe(
        Effect.provideService(Storage, storage),
        Effect.provideService(Entropy, entropy)
      )
      const { account } = allowances
      const key = { allowance: account, workspace: home, of: "ada" }
      for (let n = 0; n < account.burst; n++) yield* Context.get(shared, Limiter).take(key)
      yield* Context.get(shared, LimitSharing).share
      const throttle = new SignInThrottle()
      const wrong = (attempt: Omit<Attempt, "workspace">, ending: "fail" | "turnAway" = "fail") => {
        throttle.begin({ workspace: home, ...attempt }, now)
        throttle[ending]({ workspace: home, ...attempt }, now)
      }
      // A record of each table, and of the share that first tries of a region have once the login's is spent.
      wrong({ login: "ada", network: "192.0.2.1", device: "her own" })
      for (let n = 0; n < 50; n++) wrong({ login: `${n}`, network: "192.0.2.1", device: undefined }, "turnAway")
      for (let n = 0; n < 200; n++) {
        wrong({ login: `${n}`, network: `2001:db8:2:${n.toString(16)}::/64`, device: undefined }, "turnAway")
      }
      for (let n = 0; n < 60; n++) wrong({ login: "ada", network: undefined, device: undefined })
      for (const n of [1, 2]) wrong({ login: "ada", network: `2001:db8:1:${n}::/64`, device: undefined })
      yield* throttle.sharing(storage, entropy)
      const login = loginIdOf(normaliseEmail("Ada@Example.com") ?? expect.unreachable())
      expect(taken).toEqual([...derived])
      expect(String(login)).toBe("tfyF5VdV-eDQMKEKtEKbaylEhV-aDWAHf-gyvsvEHXI")
    }).pipe(Effect.scoped, stoppedAt(0), Effect.runPromise))
})

test("a key of version 1 opened everything", () => {
  const old = written.grant.filter(({ _tag, _v }) => _tag === "Key" && _v === 1)
  expect(old.length).toBeGreaterThan(0)
  for (const { _v, _by, ...fields } of old) {
    expect(readers.get("grant")?.read({ _v, _by, ...fields } as Json)).toEqual(
      Result.succeed({ ...withResources(fields), use: "everything" } as Json)
    )
  }
})

/** A form that changed twice: `name` became `label`, and `size` came. */
const grown: RecordKind<{ readonly id: string; readonly label: string; readonly size: number }> = {
  kind: "usage",
  schema: Schema.Struct({ id: Schema.String, label: Schema.String, size: Schema.Int }),
  version: 3,
  upcast: [({ name = "", ...rest }) => ({ ...rest, label: name }), (body) => ({ ...body, size: 0 })],
  id: ({ id }) => id,
  owner: () => "nobody",
  expiresAt: () => null
}

lawOf(
  "a form that grew reads what each of its versions wrote",
  all([ofSchema(Schema.String), ofSchema(Schema.String)]),
  ([id, text]) => {
    const value = { id, label: text, size: 0 }
    const older: ReadonlyArray<Json> = [
      { id, name: text, _v: 1, _by: "w" },
      { id, label: text, _v: 2, _by: "w" },
      { ...value, _v: 3, _by: "w" }
    ]
    const read = readOf(grown)
    return older.every((body) => {
      const found = read(body)
      return Result.isSuccess(found) && sameJson(found.success, value)
    })
  }
)
