import { Context, Result } from "effect"
import { LruMap } from "../cache/LruMap.ts"
import type { Json } from "../ports/Storage.ts"
import { hasPassed, type Instant, later, type Millis } from "../rules/Instant.ts"
import { sameDigest } from "../rules/Secret.ts"
import type { Keys, Place, Sealer } from "../token/KeyRing.ts"
import { type AccessToken, open, serialAt, type TokenFault } from "../token/Token.ts"
import type { WorkspaceId } from "../workspace/Workspace.ts"

/** The entries of the two caches that grow with the grants in use: half a kilobyte a token, two and a half a grant. */
export const cacheSizes = {
  /** 12 MB at most, for a process that shares its machine. */
  small: 4096,
  /** 100 MB at most, and only where so many are in use. */
  large: 32_768
} as const

/** Which of the sizes a process has. A server sets it by its kind of store; it is no option of a host. */
export const CacheSize = Context.Reference<keyof typeof cacheSizes>("tessera/core/engine/CacheSize", {
  defaultValue: () => "large"
})

interface Entry<A> {
  readonly workspace: WorkspaceId
  readonly value: A
  readonly until: Instant
  /** When it was asked for: a clock that shows less was set back, and does not tell for how long it has been. */
  readonly since: Instant
}

/**
 * What was read a moment ago, by workspace and id. Ids are random, so two workspaces never have one in common but where
 * one was copied, and then the last that was read is at hand. Looking is a plain function call, and makes no key out
 * of two: `effect`'s Cache takes a fiber's turn for each look, and this is looked at by every request.
 */
export class TtlCache<A> {
  private readonly entries: LruMap<string, Entry<A>>
  private forgettings = 0
  private readonly keptFor: Millis

  constructor(most: number, keptFor: Millis) {
    this.entries = new LruMap(most)
    this.keptFor = keptFor
  }

  get(workspace: WorkspaceId, id: string, now: Instant): A | undefined {
    const entry = this.entries.get(id)
    if (entry === undefined || entry.workspace !== workspace) return undefined
    return hasPassed(entry.until, now) || now < entry.since ? undefined : entry.value
  }

  /** What was read before something was forgotten may be what was forgotten: it is not to be remembered after it. */
  get forgotten(): number {
    return this.forgettings
  }

  remember(workspace: WorkspaceId, id: string, value: A, now: Instant, forgottenBefore: number): void {
    if (forgottenBefore !== this.forgettings) return
    this.entries.set(id, { workspace, value, until: later(now, this.keptFor), since: now })
  }

  forget(workspace: string, id: string): void {
    this.forgettings++
    if (this.entries.get(id)?.workspace === workspace) this.entries.delete(id)
  }

  forgetAll(workspace: WorkspaceId): void {
    this.forgettings++
    for (const [id, entry] of this.entries) if (entry.workspace === workspace) this.entries.delete(id)
  }

  forgetEverything(): void {
    this.forgettings++
    this.entries.clear()
  }
}

/** A record as the core reads it. */
export interface Kept<A> {
  readonly value: A
  readonly version: number
  /** The write that made this version, by which a write whose answer was lost is recognised. */
  readonly command: string
}

interface RecordEntry<V> {
  readonly workspace: WorkspaceId
  readonly body: Json
  readonly kept: Kept<V>
}

/** One stale record means that other processes write too: so many records are read before the next one is assumed. */
const readAfterStale = 64

/**
 * Records as this process read or wrote them last. A body that a store gives back as the same object is not decoded
 * again. A decision that writes may assume the record unread, because the swap compares its version.
 */
export class RecordCache<V> {
  private readonly entries: LruMap<string, RecordEntry<V>>
  private readonly mayAssume: (value: V) => boolean
  private toRead = 0

  /** `mayAssume`: not of a record that goes and comes again under its id, whose versions then begin anew. */
  constructor(most: number, mayAssume: (value: V) => boolean = () => true) {
    this.entries = new LruMap(most)
    this.mayAssume = mayAssume
  }

  /** What this body was decoded to; bodies are immutable, so the same object says the same. */
  decoded(id: string, body: Json, version: number): Kept<V> | undefined {
    const entry = this.entries.get(id)
    return entry !== undefined && entry.body === body && entry.kept.version === version ? entry.kept : undefined
  }

  /** The record as it was last seen. It may be stale: only a swap on its version may rely on it. */
  assumed(workspace: WorkspaceId, id: string): Kept<V> | undefined {
    const entry = this.entries.get(id)
    if (entry?.workspace !== workspace || !this.mayAssume(entry.kept.value)) return undefined
    if (this.toRead === 0) return entry.kept
    this.toRead--
    return undefined
  }

  wrote(workspace: WorkspaceId, id: string, body: Json, kept: Kept<V>): void {
    this.entries.set(id, { workspace, body, kept })
  }

  /** A slow read that ends after a write of this process does not replace what was written. */
  read(workspace: WorkspaceId, id: string, body: Json, kept: Kept<V>): void {
    const known = this.entries.get(id)
    if (known?.workspace !== workspace || known.kept.version <= kept.version) this.wrote(workspace, id, body, kept)
  }

  wasStale(workspace: WorkspaceId, id: string): void {
    this.toRead = readAfterStale
    this.forget(workspace, id)
  }

  forget(workspace: WorkspaceId, id: string): void {
    if (this.entries.get(id)?.workspace === workspace) this.entries.delete(id)
  }
}

interface Opened {
  readonly workspace: string
  readonly issuer: string
  readonly secret: string
  readonly token: AccessToken
}

/** Some carry a long address: those are opened every time, so that no client decides how much is kept. */
const longest = 512

const utf8 = new TextEncoder()
const ascii = new TextDecoder()

/** A part of a text keeps the whole of it in memory, and a header may be long. */
const copyOf = (text: string): string => ascii.decode(utf8.encode(text))

/** Five characters are 30 bits. */
const placeLength = 5

/** The serial's random bits find a token; only the server can choose them for one whose seal holds. */
const placeOf = (text: string): number => {
  let place = 0
  for (let at = serialAt; at < serialAt + placeLength; at++) place = (place << 6) ^ text.charCodeAt(at)
  return place
}

/** A client bears the same access token for its whole life. A seal that held once holds; the grant is asked every time. */
export class TokenCache {
  private readonly keys: Keys["Service"]
  private sealer: Sealer
  private readonly most: number
  private opened: LruMap<number, Opened>

  constructor(keys: Keys["Service"], most: number) {
    this.keys = keys
    this.most = most
    this.opened = new LruMap(most)
    this.sealer = keys.current()
  }

  open(place: Place, text: string, now: Instant): Result.Result<AccessToken, TokenFault> {
    const sealer = this.keys.current()
    // Another ring: what a key of the last one sealed may be worth nothing now.
    if (sealer !== this.sealer) {
      this.sealer = sealer
      this.opened = new LruMap(this.most)
    }
    if (text.length > longest) return open(sealer, place, "access", text, now)
    const at = placeOf(text)
    const known = this.opened.get(at)
    // The text holds the seal, so it is compared as secrets are.
    if (known?.workspace === place.id && known.issuer === place.issuer && sameDigest(known.secret, text)) {
      return hasPassed(known.token.expiresAt, now) ? Result.fail("expired") : Result.succeed(known.token)
    }
    const kept = copyOf(text)
    const opened = open(sealer, place, "access", kept, now)
    if (Result.isSuccess(opened)) {
      this.opened.set(at, { workspace: place.id, issuer: place.issuer, secret: kept, token: opened.success })
    }
    return opened
  }
}
