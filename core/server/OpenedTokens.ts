import { Result } from "effect"
import { hasPassed, type Instant } from "../rules/Instant.ts"
import { sameDigest } from "../rules/Secret.ts"
import type { Keys, Sealer } from "../token/KeyRing.ts"
import { type AccessToken, open, sealLength, type TokenFault } from "../token/Token.ts"
import type { WorkspaceId } from "../workspace/Workspace.ts"
import { Recent } from "./Recent.ts"

/** An access token's text without its seal is no secret; the seal is compared as secrets are. */
interface Opened {
  readonly seal: string
  readonly token: AccessToken
}

const most = 10_000
const keptFor = 10 * 60 * 1000
/** Some carry a long address: those are opened every time, so that nobody decides how much is kept. */
const longest = 512

/** A client bears the same access token for its whole life. A seal that held once holds; the grant is asked every time. */
export class OpenedTokens {
  private readonly keys: Keys["Service"]
  private sealer: Sealer
  private recent = new Recent<Opened>(most, keptFor)

  constructor(keys: Keys["Service"]) {
    this.keys = keys
    this.sealer = keys.current()
  }

  open(workspace: WorkspaceId, text: string, now: Instant): Result.Result<AccessToken, TokenFault> {
    const sealer = this.keys.current()
    // Another ring: what a key of the last one sealed may be worth nothing now.
    if (sealer !== this.sealer) {
      this.sealer = sealer
      this.recent = new Recent(most, keptFor)
    }
    if (text.length > longest) return open(sealer, workspace, "access", text, now)
    const sealAt = text.length - sealLength
    const content = text.slice(0, sealAt)
    const known = this.recent.get(workspace, content, now)
    if (known !== undefined && sameDigest(known.seal, text.slice(sealAt))) {
      return hasPassed(known.token.expiresAt, now) ? Result.fail("expired") : Result.succeed(known.token)
    }
    const opened = open(sealer, workspace, "access", text, now)
    if (Result.isSuccess(opened)) {
      const entry = { seal: text.slice(sealAt), token: opened.success }
      this.recent.remember(workspace, content, entry, now, this.recent.forgotten)
    }
    return opened
  }
}
