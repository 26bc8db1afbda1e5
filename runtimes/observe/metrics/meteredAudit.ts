import type { Audit, AuditEvent } from "../../../core/ports/Audit.ts"
import { type Count, countsBy, type Meters } from "./Meters.ts"

/** Counts what happened, by what the audit is told of it. */
const counting = (meters: Meters): ((event: AuditEvent) => Count | undefined) => {
  const issued = countsBy(meters, "tessera_tokens_issued_total", "Answers that held tokens, by grant type.", [
    "grant_type"
  ])
  const consents = countsBy(meters, "tessera_consents_total", "What people answered to consent pages.", ["decision"])
  const refusals = countsBy(meters, "tessera_refusals_total", "Refusals by their exact reason.", ["refusal", "reason"])
  const clients = countsBy(meters, "tessera_clients_total", "Registrations of clients, and changes to them.", [
    "change"
  ])
  const revocations = countsBy(meters, "tessera_revocations_total", "What was revoked.", ["what"])
  const keys = countsBy(meters, "tessera_api_keys_created_total", "API keys that were made.", [])
  const signIns = countsBy(meters, "tessera_sign_ins_total", "Sign-ins by outcome.", ["outcome"])
  return (event) => {
    switch (event._tag) {
      case "TokensIssued":
        return issued(event.grantType)
      case "ConsentGiven":
        return consents("given")
      case "ConsentDenied":
        return consents("denied")
      case "Refused":
        return refusals(event.refusal, event.reason ?? "")
      case "ClientRegistered":
        return clients("registered")
      case "ClientChanged":
        return clients(event.change)
      case "ClientDeleted":
        return clients("deleted")
      case "GrantRevoked":
        return revocations("grant")
      case "TokenRevoked":
        return revocations("token")
      case "KeyRevoked":
        return revocations("key")
      case "KeyCreated":
        return keys()
      case "SignedIn":
        return signIns("signed_in")
      case "SignInFailed":
        return signIns(event.reason)
      case "SignedOut":
      case "AccountChanged":
      case "AccountRefused":
        return undefined
    }
  }
}

/** The audit below, with what passes counted. */
export const meteredAudit = (meters: Meters, below: Audit["Service"]): Audit["Service"] => {
  const countOf = counting(meters)
  return {
    record: (entry) => {
      const count = countOf(entry.event)
      if (count !== undefined) count.value++
      return below.record(entry)
    }
  }
}
