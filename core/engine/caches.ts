import { Result } from "effect"
import { LatelyUsed } from "../cache/LruMap.ts"
import { hasPassed, type Instant, later, type Millis } from "../rules/Instant.ts"
import { sameDigest } from "../rules/Secret.ts"
import type { Keys, Sealer } from "../token/KeyRing.ts"
import { type AccessToken, open, serialAt, type TokenFault } from "../token/Token.ts"
import type { WorkspaceId } from "../workspace/Workspace.ts"
import type { Kept } from "./Records.ts"

/** How much a process keeps of what it has made of tokens and grants, so as not to make it again. */
export interface AtHand {
  /** Access tokens that were opened: half a kilobyte each. */
  readonly tokens: number
  /** Grants that were written: a kilobyte each, and half as much again for what the collector lets gather beside it. */
  readonly grants: number
}

/** For a process that shares its machine. */
export const littleAtHand: AtHand = { tokens: 4096, grants: 4096 }

/** For one that serves more grants than that at a time, and may take some 40 MB for it. */
export const muchAtHand: AtHand = { tokens: 32_768, grants: 32_768 }

interface Entry<A> {
  readonly workspace: WorkspaceId
  readonly value: A
  readonly until: Instant
  /** When it was asked for: a clock that shows less was set back, and does not tell for how long it has been. */
  readonly since: Instant
}

/**
 * What was read a moment ago, by workspace and id. Ids are random, so two workspaces never have one in common but where
 * somebody copied it, and then the last that was read is at hand. Looking is a plain function call, and makes no key out
 * of two: `effect`'s Cache takes a fiber's turn for each look, and this is looked at by every request.
 */
export class Recent<A> {
  private readonly entries: LatelyUsed<string, Entry<A>>
  private forgettings = 0
  private readonly keptFor: Millis

  constructor(most: number, keptFor: Millis) {
    this.entries = new LatelyUsed(most)
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

  forget(workspace: WorkspaceId, id: string): void {
    this.forgettings++
    if (this.entries.get(id)?.workspace === workspace) this.entries.delete(id)
  }
}

interface WrittenEntry<V> {
  readonly workspace: WorkspaceId
  readonly kept: Kept<V>
}

/** Where one was wrong others write too, and a wrong one costs a swap for nothing: so many are read before the next try. */
const readAfterWrong = 64

/**
 * Records as this process wrote them last. A decision that is to be kept may be made on one without reading it, since the
 * swap asks for its version; what somebody else wrote meanwhile is found out there, and read.
 */
export class LastWritten<V> {
  private readonly entries: LatelyUsed<string, WrittenEntry<V>>
  private toRead = 0

  constructor(most: number) {
    this.entries = new LatelyUsed(most)
  }

  get(workspace: WorkspaceId, id: string): Kept<V> | undefined {
    const entry = this.entries.get(id)
    if (entry?.workspace !== workspace) return undefined
    if (this.toRead === 0) return entry.kept
    this.toRead--
    return undefined
  }

  wrote(workspace: WorkspaceId, id: string, kept: Kept<V>): void {
    this.entries.set(id, { workspace, kept })
  }

  wasWrong(workspace: WorkspaceId, id: string): void {
    this.toRead = readAfterWrong
    this.forget(workspace, id)
  }

  forget(workspace: WorkspaceId, id: string): void {
    if (this.entries.get(id)?.workspace === workspace) this.entries.delete(id)
  }
}

interface Opened {
  readonly workspace: WorkspaceId
  readonly text: string
  readonly token: AccessToken
}

/** Some carry a long address: those are opened every time, so that nobody decides how much is kept. */
const longest = 512

const utf8 = new TextEncoder()
const ascii = new TextDecoder()

/** A part of a text keeps the whole of it in memory, and a header may be long. */
const copyOf = (text: string): string => ascii.decode(utf8.encode(text))

/** Five characters are 30 bits. */
const placeLength = 5

/** The serial's random bits find a token; nobody but us can choose them for one whose seal holds. */
const placeOf = (text: string): number => {
  let place = 0
  for (let at = serialAt; at < serialAt + placeLength; at++) place = (place << 6) ^ text.charCodeAt(at)
  return place
}

/** A client bears the same access token for its whole life. A seal that held once holds; the grant is asked every time. */
export class OpenedTokens {
  private readonly keys: Keys["Service"]
  private sealer: Sealer
  private readonly most: number
  private opened: LatelyUsed<number, Opened>

  constructor(keys: Keys["Service"], most: number) {
    this.keys = keys
    this.most = most
    this.opened = new LatelyUsed(most)
    this.sealer = keys.current()
  }

  open(workspace: WorkspaceId, text: string, now: Instant): Result.Result<AccessToken, TokenFault> {
    const sealer = this.keys.current()
    // Another ring: what a key of the last one sealed may be worth nothing now.
    if (sealer !== this.sealer) {
      this.sealer = sealer
      this.opened = new LatelyUsed(this.most)
    }
    if (text.length > longest) return open(sealer, workspace, "access", text, now)
    const place = placeOf(text)
    const known = this.opened.get(place)
    // The text holds the seal, so it is compared as secrets are.
    if (known?.workspace === workspace && sameDigest(known.text, text)) {
      return hasPassed(known.token.expiresAt, now) ? Result.fail("expired") : Result.succeed(known.token)
    }
    const kept = copyOf(text)
    const opened = open(sealer, workspace, "access", kept, now)
    if (Result.isSuccess(opened)) this.opened.set(place, { workspace, text: kept, token: opened.success })
    return opened
  }
}
