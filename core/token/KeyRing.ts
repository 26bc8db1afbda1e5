import { Array as Arr, Context, Layer, Redacted, Result, Schema } from "effect"
import { Base64Url } from "effect/encoding"
import { LruMap } from "../cache/LruMap.ts"
import { hexOf } from "../codec/Base64Url.ts"
import { type Mac, macUnder, sha256Of } from "../codec/Sha256.ts"
import { workspacesKept } from "../workspace/Workspace.ts"

/** A sealing key is 256 random bits; its id is the start of its own digest. */
export interface SealKey {
  readonly id: string
  readonly idBytes: Uint8Array
  readonly bytes: Redacted.Redacted<Uint8Array>
}

/** The first key seals, all of them open: adding one in front ends no session. */
export type KeyRing = Arr.NonEmptyReadonlyArray<SealKey>

export const sealKeyLength = 32
export const keyIdLength = 4

export class BadSealKey extends Schema.TaggedError<BadSealKey>()("BadSealKey", {
  message: Schema.String
}) {}

export const sealKey = (bytes: Uint8Array): SealKey => {
  const idBytes = sha256Of(bytes).slice(0, keyIdLength)
  return { id: hexOf(idBytes), idBytes, bytes: Redacted.make(bytes, { label: "seal key" }) }
}

/** Keys as they are configured: base64url of 32 bytes each, separated by commas. */
export const parseKeyRing = (text: Redacted.Redacted<string>): Result.Result<KeyRing, BadSealKey> => {
  const keys: Array<SealKey> = []
  for (const part of Redacted.value(text).split(",")) {
    // Of `effect/encoding`, which takes every form of base64url: a key may have been made by any other tool.
    const bytes = Base64Url.decode(part.trim())
    if (Result.isFailure(bytes) || bytes.success.length !== sealKeyLength) {
      return Result.fail(
        new BadSealKey({ message: `seal key ${keys.length + 1} is not ${sealKeyLength} bytes of base64url` })
      )
    }
    const key = sealKey(bytes.success)
    if (keys.some((other) => other.id === key.id)) {
      return Result.fail(new BadSealKey({ message: `seal key ${keys.length + 1} repeats an earlier one` }))
    }
    keys.push(key)
  }
  return Arr.isReadonlyArrayNonEmpty(keys)
    ? Result.succeed(keys)
    : Result.fail(new BadSealKey({ message: "there is no seal key" }))
}

/** Where a seal holds: in one workspace, for as long as one issuer speaks for it. */
export interface Place {
  readonly id: string
  readonly issuer: string
  /** Whether an earlier release, whose keys knew no issuer, may have sealed something here. What it sealed still opens. */
  readonly sealedBefore?: boolean
}

const sealPurposes = [
  "token",
  "ticket",
  "request",
  "device",
  "user_code",
  "form",
  "session",
  "sender",
  "signing",
  "stamp",
  "nonce",
  "client",
  "secret",
  "registration"
] as const

/** What a MAC is made for. A MAC for one purpose, or in one place, is noise for every other. */
export type SealPurpose = (typeof sealPurposes)[number]

const utf8 = new TextEncoder()

/** Whether a sealed message was sealed in this place. */
export const holdsAt = (sealer: Sealer, key: SealKey, place: Place, purpose: SealPurpose, bytes: Uint8Array): boolean =>
  sealer.under(key, place, purpose).holds(bytes) || sealer.before(key, place, purpose)?.holds(bytes) === true

/** The ring at work: MACs under keys derived for one purpose in one place, kept ready for the next request. */
export interface Sealer {
  readonly first: SealKey
  readonly keys: KeyRing
  readonly find: (keyId: string) => SealKey | undefined
  /** By its id read as a number, as it stands in a token. */
  readonly findByNumber: (keyId: number) => SealKey | undefined
  readonly under: (key: SealKey, place: Place, purpose: SealPurpose) => Mac
  /** What an earlier release sealed under here, where one may have. It opens, and seals nothing any more. */
  readonly before: (key: SealKey, place: Place, purpose: SealPurpose) => Mac | undefined
  readonly mac: (key: SealKey, place: Place, purpose: SealPurpose, data: Uint8Array) => Uint8Array
}

interface Derived {
  readonly issuer: string
  readonly mac: Mac
}

/** The MACs of one key, by workspace. A workspace has one issuer at a time, so no key of two has to be made for a look. */
const derivedBy = (key: SealKey, textOf: (place: Place) => string): ((place: Place) => Mac) => {
  const derived = new LruMap<string, Derived>(workspacesKept)
  return (place) => {
    const known = derived.get(place.id)
    if (known !== undefined && known.issuer === place.issuer) return known.mac
    const mac = macUnder(macUnder(Redacted.value(key.bytes)).of(utf8.encode(textOf(place))))
    derived.set(place.id, { issuer: place.issuer, mac })
    return mac
  }
}

interface ForPurpose {
  readonly now: (place: Place) => Mac
  readonly before: (place: Place) => Mac
}

type Purposes = { readonly [purpose in SealPurpose]: ForPurpose }

const forPurpose = (key: SealKey, purpose: SealPurpose): ForPurpose => ({
  // No workspace's id holds a space.
  now: derivedBy(key, ({ id, issuer }) => `tessera 2 ${purpose} ${id} ${issuer}`),
  before: derivedBy(key, ({ id }) => `tessera 1 ${purpose} ${id}`)
})

const purposesOf = (key: SealKey): Purposes =>
  // With all of the list that `SealPurpose` is made of.
  Object.fromEntries(sealPurposes.map((purpose) => [purpose, forPurpose(key, purpose)])) as Purposes

export const makeSealer = (ring: KeyRing): Sealer => {
  const byId = new Map(ring.map((key) => [key.id, key]))
  const byNumber = new Map(ring.map((key) => [Number.parseInt(key.id, 16), key]))
  const byKey = new Map<SealKey, Purposes>()
  const purposesFor = (key: SealKey): Purposes => {
    const known = byKey.get(key)
    if (known !== undefined) return known
    const made = purposesOf(key)
    byKey.set(key, made)
    return made
  }
  const under: Sealer["under"] = (key, place, purpose) => purposesFor(key)[purpose].now(place)
  return {
    first: ring[0],
    keys: ring,
    find: (keyId) => byId.get(keyId),
    findByNumber: (keyId) => byNumber.get(keyId),
    under,
    before: (key, place, purpose) =>
      place.sealedBefore === true ? purposesFor(key)[purpose].before(place) : undefined,
    mac: (key, place, purpose, data) => under(key, place, purpose).of(data)
  }
}

/**
 * The keys of this process. Asked at every use, so that a host's own layer may turn the ring while it runs; `layer`, and
 * with it our server, has the ring that it was started with, and a new key takes a restart.
 */
export class Keys extends Context.Service<Keys, { readonly current: () => Sealer }>()("tessera/core/token/Keys") {
  static readonly layer = (ring: KeyRing) => {
    const sealer = makeSealer(ring)
    return Layer.succeed(Keys, { current: () => sealer })
  }
}
