import { Effect } from "effect"
import { ForgedForm } from "../rules/Refusal.ts"
import { csrfField, isCsrfField } from "../token/csrf.ts"
import type { Call } from "./Call.ts"
import type { Parameters } from "./form.ts"
import type { Parts } from "./Parts.ts"

type Where = Pick<Call, "workspace">

/** The hidden field of every form that is drawn for a session. */
export const fieldFor = ({ keys }: Pick<Parts, "keys">, { workspace }: Where, session: string): string =>
  csrfField(keys.current(), workspace.id, session)

/** Only a form counts that was drawn for this very session. */
export const requireOwn = (
  { keys }: Pick<Parts, "keys">,
  { workspace }: Where,
  session: string,
  form: Parameters
): Effect.Effect<void, ForgedForm> =>
  isCsrfField(keys.current(), workspace.id, session, form.get("csrf") ?? "")
    ? Effect.void
    : Effect.fail(new ForgedForm({ reason: "csrf" }))
