import { Result } from "effect"
import { hasPassed, type Instant } from "../rules/Instant.ts"
import { LatelyUsed } from "../rules/LatelyUsed.ts"
import { sameDigest } from "../rules/Secret.ts"
import type { Keys, Sealer } from "../token/KeyRing.ts"
import { type AccessToken, open, serialAt, type TokenFault } from "../token/Token.ts"
import type { WorkspaceId } from "../workspace/Workspace.ts"

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
