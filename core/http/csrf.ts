import { Effect } from "effect"
import { base64Url } from "../codec/Base64Url.ts"
import { ForgedForm } from "../rules/Refusal.ts"
import { sameDigest } from "../rules/Secret.ts"
import type { Sealer, SealKey } from "../token/KeyRing.ts"
import type { Parameters } from "./form.ts"
import type { Call, Parts } from "./Route.ts"

const utf8 = new TextEncoder()

const made = (sealer: Sealer, key: SealKey, workspace: string, session: string): string =>
  `${key.id}.${base64Url(sealer.mac(key, workspace, "form", utf8.encode(session)))}`

/** The hidden field of a form: proves that the form was drawn for the session that posts it. */
export const csrfField = (sealer: Sealer, workspace: string, session: string): string =>
  made(sealer, sealer.first, workspace, session)

export const isCsrfField = (sealer: Sealer, workspace: string, session: string, presented: string): boolean => {
  const key = sealer.find(presented.split(".", 1)[0] ?? "")
  return key !== undefined && sameDigest(presented, made(sealer, key, workspace, session))
}

type Where = Pick<Call, "workspace">

/** The hidden field of a form that is drawn for this session. */
export const fieldFor = ({ keys }: Pick<Parts, "keys">, { workspace }: Where, session: string): string =>
  csrfField(keys.current(), workspace.id, session)

/** Refuses a form that was not drawn for this session. */
export const requireOwn = (
  { keys }: Pick<Parts, "keys">,
  { workspace }: Where,
  session: string,
  form: Parameters
): Effect.Effect<void, ForgedForm> =>
  isCsrfField(keys.current(), workspace.id, session, form.get("csrf") ?? "")
    ? Effect.void
    : Effect.fail(new ForgedForm({ reason: "csrf" }))
