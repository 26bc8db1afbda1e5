import { base64Url } from "../rules/Base64Url.ts"
import { sameDigest } from "../rules/Secret.ts"
import type { Sealer, SealKey } from "./KeyRing.ts"

const utf8 = new TextEncoder()

const made = (sealer: Sealer, key: SealKey, workspace: string, session: string): string =>
  `${key.id}.${base64Url(sealer.mac(key, workspace, "form", utf8.encode(session)))}`

/** The hidden field of every form: shows that the form was drawn for the session that posts it. */
export const csrfField = (sealer: Sealer, workspace: string, session: string): string =>
  made(sealer, sealer.first, workspace, session)

export const isCsrfField = (sealer: Sealer, workspace: string, session: string, presented: string): boolean => {
  const key = sealer.find(presented.split(".", 1)[0] ?? "")
  return key !== undefined && sameDigest(presented, made(sealer, key, workspace, session))
}
