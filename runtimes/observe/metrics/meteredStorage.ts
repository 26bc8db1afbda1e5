import { Effect, Exit } from "effect"
import type { Audit, AuditEvent } from "../../../core/ports/Audit.ts"
import type { Conflict, Kind, Storage, StorageUnavailable, Taken } from "../../../core/ports/Storage.ts"
import { isDone } from "../../../core/serve.ts"
import { type Count, countsBy, type Meters, type Spread } from "./Meters.ts"

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
      default:
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
      if (count !== undefined) count.value += entry.event._tag === "Refused" ? (entry.event.count ?? 1) : 1
      return below.record(entry)
    }
  }
}

type Verb = keyof Storage["Service"]

interface Calls {
  readonly took: Spread
  readonly done: Count
  readonly conflict: Count
  readonly unavailable: Count
}

const callsOf = (meters: Meters, verb: Verb, kind: string): Calls => {
  const outcome = (word: string) =>
    meters.count("tessera_storage_calls_total", "Calls to the storage, by what came of them.", {
      verb,
      kind,
      outcome: word
    })
  return {
    took: meters.spread("tessera_storage_seconds", "How long the storage took.", { verb, kind }),
    done: outcome("done"),
    conflict: outcome("conflict"),
    unavailable: outcome("unavailable")
  }
}

/** A kind's series are made when it is first asked for: most verbs meet few kinds. */
const byKind = (meters: Meters, verb: Verb): ((kind: Kind) => Calls) => {
  const made = new Map<Kind, Calls>()
  return (kind) => {
    const known = made.get(kind)
    if (known !== undefined) return known
    const calls = callsOf(meters, verb, kind)
    made.set(kind, calls)
    return calls
  }
}

const outcomeOf = <A, E extends Taken | Conflict | StorageUnavailable>(calls: Calls, exit: Exit.Exit<A, E>): Count => {
  if (Exit.isSuccess(exit)) return calls.done
  const [reason] = exit.cause.reasons
  return reason?._tag === "Fail" && reason.error._tag !== "StorageUnavailable" ? calls.conflict : calls.unavailable
}

const note = <A, E extends Taken | Conflict | StorageUnavailable>(
  calls: Calls,
  start: number,
  exit: Exit.Exit<A, E>
): void => {
  calls.took.add((performance.now() - start) / 1000)
  outcomeOf(calls, exit).value++
}

/** A call that is done at once stays an `Exit`: the core answers such a request without a fiber's turn. */
const measured = <A, E extends Taken | Conflict | StorageUnavailable>(
  calls: Calls,
  call: () => Effect.Effect<A, E>
): Effect.Effect<A, E> => {
  const start = performance.now()
  const effect = call()
  if (isDone(effect)) {
    note(calls, start, effect)
    return effect
  }
  return Effect.suspend(() => {
    const begun = performance.now()
    return Effect.onExit(effect, (exit) => Effect.sync(() => note(calls, begun, exit)))
  })
}

/** The store below, with every call counted and timed. */
export const meteredStorage = (meters: Meters, below: Storage["Service"]): Storage["Service"] => {
  const get = byKind(meters, "get")
  const insert = byKind(meters, "insert")
  const replace = byKind(meters, "replace")
  const insertAndReplace = byKind(meters, "insertAndReplace")
  const both = below.insertAndReplace
  const remove = byKind(meters, "remove")
  const list = byKind(meters, "list")
  const sweep = callsOf(meters, "sweep", "all")
  const swept = meters.count("tessera_swept_records_total", "Expired records that this process removed.")
  return {
    get: (key) => measured(get(key.kind), () => below.get(key)),
    insert: (record) => measured(insert(record.kind), () => below.insert(record)),
    replace: (expected, record) => measured(replace(record.kind), () => below.replace(expected, record)),
    insertAndReplace:
      both &&
      ((added, expected, record) => measured(insertAndReplace(record.kind), () => both(added, expected, record))),
    remove: (key) => measured(remove(key.kind), () => below.remove(key)),
    list: (listing) => measured(list(listing.kind), () => below.list(listing)),
    sweep: (before, limit) =>
      Effect.tap(
        measured(sweep, () => below.sweep(before, limit)),
        (removed) =>
          Effect.sync(() => {
            swept.value += removed
          })
      )
  }
}
