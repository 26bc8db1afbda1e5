import { Effect } from "effect"
import { base64Url } from "../codec/Base64Url.ts"
import type { Mac } from "../codec/Sha256.ts"
import { ForgedForm } from "../rules/Refusal.ts"
import { sameDigest } from "../rules/Secret.ts"
import type { Place, Sealer, SealKey } from "../token/KeyRing.ts"
import type { Parameters } from "./form.ts"
import type { Call, Services } from "./Route.ts"

const utf8 = new TextEncoder()

const macField = (key: SealKey, mac: Mac, session: string): string =>
  `${key.id}.${base64Url(mac.of(utf8.encode(session)))}`

/** The hidden field of a form: proves that the form was drawn for the session that posts it. */
export const csrfField = (sealer: Sealer, place: Place, session: string): string =>
  macField(sealer.first, sealer.under(sealer.first, place, "form"), session)

export const isCsrfField = (sealer: Sealer, place: Place, session: string, presented: string): boolean => {
  const key = sealer.find(presented.split(".", 1)[0] ?? "")
  if (key === undefined) return false
  const isOf = (mac: Mac | undefined) => mac !== undefined && sameDigest(presented, macField(key, mac, session))
  return isOf(sealer.under(key, place, "form")) || isOf(sealer.before(key, place, "form"))
}

type Where = Pick<Call, "workspace">

/** The hidden field of a form that is drawn for this session. */
export const fieldFor = ({ keys }: Pick<Services, "keys">, { workspace }: Where, session: string): string =>
  csrfField(keys.current(), workspace, session)

/** Refuses a form that was not drawn for this session. */
export const requireOwn = (
  { keys }: Pick<Services, "keys">,
  { workspace }: Where,
  session: string,
  form: Parameters
): Effect.Effect<void, ForgedForm> =>
  isCsrfField(keys.current(), workspace, session, form.get("csrf") ?? "")
    ? Effect.void
    : Effect.fail(new ForgedForm({ reason: "csrf" }))
