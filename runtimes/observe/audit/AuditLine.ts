import { Schema } from "effect"
import type { AuditEntry, AuditEvent } from "../../../core/ports/Audit.ts"

const who = {
  /** When it happened: ISO 8601, UTC. */
  time: Schema.String.check(Schema.isPattern(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)),
  workspace: Schema.String,
  /** The `x-request-id` of the answer; `command line`, `host program` or `server` where no request led to it. */
  requestId: Schema.String
}

const line = <const Event extends string, Fields extends Schema.Struct.Fields>(event: Event, fields: Fields) =>
  Schema.Struct({ ...who, event: Schema.Literal(event), ...fields })

const client = Schema.String
/** The first eight characters of a grant's or a key's id: the whole of it is half of a token. */
const grant = Schema.String.check(Schema.isMaxLength(8))
const account = Schema.String
/** An account's id, `command line`, `host program` or `OWNER_EMAIL`. */
const actor = Schema.String
const byMaybe = { actor: Schema.optionalKey(actor) }
const reason = Schema.String
const scope = Schema.String

/** One line of the audit stream. Fields may be added to an event; none is renamed or taken away. */
export const AuditLine = Schema.Union([
  line("ClientRegistered", { client, ...byMaybe }),
  line("ClientChanged", { client, change: Schema.Literals(["updated", "disabled", "enabled"]), ...byMaybe }),
  line("ClientDeleted", { client, ...byMaybe }),
  line("ConsentGiven", { client, grant, scope, actor }),
  line("ConsentDenied", { client, actor }),
  line("TokensIssued", { client, grant, grantType: Schema.String, scope }),
  line("GrantRevoked", { grant, reason, ...byMaybe }),
  line("TokenRevoked", { grant, client }),
  line("KeyCreated", { grant, actor }),
  line("KeyRevoked", { grant, actor }),
  line("AccountChanged", { account, change: Schema.String, actor, role: Schema.optionalKey(Schema.String) }),
  line("AccountRefused", { account: Schema.optionalKey(account), change: Schema.String, reason, ...byMaybe }),
  line("SignedIn", { account }),
  line("SignedOut", { account }),
  line("SignInFailed", { reason, account: Schema.optionalKey(account) }),
  line("Refused", { endpoint: Schema.String, refusal: Schema.String, reason: Schema.NullOr(reason) }),
  /** So many events before this one could not be written, and are nowhere. */
  line("EventsLost", { count: Schema.Int })
])

export type AuditLine = typeof AuditLine.Type

type Told = AuditLine extends infer Line ? (Line extends AuditLine ? Omit<Line, keyof typeof who> : never) : never

const by = (actor: string | undefined) => (actor === undefined ? {} : { actor })

const told = (event: AuditEvent): Told => {
  switch (event._tag) {
    case "ClientRegistered":
      return { event: event._tag, client: event.client, ...by(event.by) }
    case "ClientChanged":
      return { event: event._tag, client: event.client, change: event.change, ...by(event.by) }
    case "ClientDeleted":
      return { event: event._tag, client: event.client, ...by(event.by) }
    case "ConsentGiven":
      return {
        event: event._tag,
        client: event.client,
        grant: event.grant,
        scope: event.scope,
        actor: event.user
      }
    case "ConsentDenied":
      return { event: event._tag, client: event.client, actor: event.user }
    case "TokensIssued":
      return {
        event: event._tag,
        client: event.client,
        grant: event.grant,
        grantType: event.grantType,
        scope: event.scope
      }
    case "GrantRevoked":
      return { event: event._tag, grant: event.grant, reason: event.why, ...by(event.by) }
    case "TokenRevoked":
      return { event: event._tag, grant: event.grant, client: event.client }
    case "KeyCreated":
    case "KeyRevoked":
      return { event: event._tag, grant: event.grant, actor: event.by }
    case "AccountChanged":
      return {
        event: event._tag,
        account: event.account,
        change: event.change,
        actor: event.by,
        ...(event.role === undefined ? {} : { role: event.role })
      }
    case "AccountRefused":
      return {
        event: event._tag,
        change: event.change,
        reason: event.reason,
        ...(event.account === undefined ? {} : { account: event.account }),
        ...by(event.by)
      }
    case "SignedIn":
    case "SignedOut":
      return { event: event._tag, account: event.account }
    case "SignInFailed":
      return {
        event: event._tag,
        reason: event.reason,
        ...(event.account === undefined ? {} : { account: event.account })
      }
    case "Refused":
      return { event: event._tag, endpoint: event.endpoint, refusal: event.refusal, reason: event.reason }
  }
}

export const lineOf = ({ at, event, requestId, workspace }: AuditEntry): AuditLine => ({
  time: new Date(at).toISOString(),
  workspace,
  requestId,
  ...told(event)
})
