import { closeSync } from "node:fs"
import { open, stat } from "node:fs/promises"
import { Effect, Layer, Schema } from "effect"
import { Audit, type AuditEntry, type AuditEvent } from "../../core/ports/Audit.ts"
import { systemCode } from "../serve/defect.ts"
import {
  type LineWriterOptions,
  makeLineWriter,
  openAppending,
  serverBounds,
  type Trouble,
  writeTo
} from "../server/LineWriter.ts"
import { WrongSettings } from "../server/Variable.ts"
import { makeCeiling } from "./ceiling.ts"
import { type AuditTarget, unappendable } from "./ObserveSettings.ts"

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
/** An account's id, `command line`, `host program`, `server itself` or `OWNER_EMAIL`. */
const actor = Schema.String
const byMaybe = { actor: Schema.optionalKey(actor) }
const reason = Schema.String
const scope = Schema.String
/** Of the request that retried, held against the one that refreshed at first. */
const likeness = Schema.Literals(["same", "other", "unknown"])

/** One line of the audit stream. Fields may be added to an event; none is renamed or taken away. */
export const AuditLine = Schema.Union([
  line("ClientRegistered", { client, identifier: Schema.optionalKey(Schema.String), ...byMaybe }),
  line("ClientChanged", {
    client,
    change: Schema.Literals([
      "updated",
      "disabled",
      "enabled",
      "approved",
      "refused",
      "secret_made",
      "secret_dropped",
      "opaque_access_tokens",
      "jwt_access_tokens",
      "standard_profile",
      "fapi2_profile",
      "exchange_allowed",
      "exchange_ended",
      "document_changed"
    ]),
    ...byMaybe
  }),
  line("ClientDeleted", { client, ...byMaybe }),
  line("ConsentGiven", {
    client,
    grant,
    scope,
    actor,
    place: Schema.optionalKey(Schema.String),
    device: Schema.optionalKey(Schema.Literal(true)),
    remembered: Schema.optionalKey(Schema.Literal(true))
  }),
  line("ConsentDenied", { client, actor }),
  line("TokensIssued", { client, grant, grantType: Schema.String, scope, secret: Schema.optionalKey(Schema.String) }),
  line("OlderSecretUsed", { client, endpoint: Schema.String, secret: Schema.String }),
  line("RefreshRetried", { client, grant, network: likeness, userAgent: likeness }),
  line("GrantRevoked", { grant, reason, ...byMaybe }),
  line("TokenRevoked", { grant, client, secret: Schema.optionalKey(Schema.String) }),
  line("WorkspaceMoved", { from: Schema.String, to: Schema.String, actor }),
  line("WorkspaceChanged", { change: Schema.Literals(["added", "changed", "disabled", "enabled"]), actor }),
  line("SigningKeysChanged", {
    change: Schema.Literals(["rotated", "retired", "withdrawn"]),
    key: Schema.String,
    actor
  }),
  line("KeyCreated", { grant, actor }),
  line("KeyRevoked", { grant, actor }),
  line("IssuerTrusted", { issuer: Schema.String, actor }),
  line("IssuerChanged", { issuer: Schema.String, actor }),
  line("IssuerRemoved", { issuer: Schema.String, actor }),
  line("ClientDocumentsChanged", {
    hosts: Schema.Union([Schema.Literal("any"), Schema.Array(Schema.String)]),
    actor
  }),
  line("ClientHostBlocked", { host: Schema.String, actor }),
  line("ClientHostUnblocked", { host: Schema.String, actor }),
  line("ResourceAdded", { resource: Schema.String, actor }),
  line("ResourceRemoved", { resource: Schema.String, actor }),
  line("AccountChanged", {
    account,
    change: Schema.String,
    actor,
    role: Schema.optionalKey(Schema.String),
    place: Schema.optionalKey(Schema.String)
  }),
  line("AccountRefused", { account: Schema.optionalKey(account), change: Schema.String, reason, ...byMaybe }),
  line("LogoutCallGivenUp", { client, reason }),
  line("SignedIn", { account }),
  line("SignedOut", { account }),
  line("SignInFailed", { reason, account: Schema.optionalKey(account) }),
  line("Refused", {
    endpoint: Schema.String,
    refusal: Schema.String,
    reason: Schema.NullOr(reason),
    /** So many like it since the last line that told of them; one, where none is said. */
    count: Schema.optionalKey(Schema.Int)
  }),
  /** So many events before this one could not be written, and are nowhere. */
  line("EventsLost", { count: Schema.Int })
])

export type AuditLine = typeof AuditLine.Type

/** Members that the stream names otherwise: whoever did it is its actor. */
interface Names {
  readonly _tag: "event"
  readonly by: "actor"
  readonly user: "actor"
  readonly why: "reason"
}

type Renamed<Event> = Event extends unknown
  ? // No cast: each member under its other name, where it has one.
    { readonly [Name in keyof Event as Name extends keyof Names ? Names[Name] : Name]: Event[Name] }
  : never

const told = (given: AuditEvent): Renamed<AuditEvent> => {
  const { _tag: event, by, user = by, why, ...same }: { readonly [Name in keyof Names]?: string } = given
  // Each member is there under the name that it has in the stream; JSON leaves out what is undefined.
  return { event, actor: user, reason: why, ...same } as Renamed<AuditEvent>
}

export const lineOf = ({ at, event, requestId, workspace }: AuditEntry): AuditLine => ({
  time: new Date(at).toISOString(),
  workspace,
  requestId,
  ...told(event)
})

/** Calls this whenever an operator asks for new files, until the answer is called. */
export type OnHangUp = (act: () => void) => () => void

const lostLine = (count: number): string =>
  JSON.stringify({
    time: new Date().toISOString(),
    workspace: "",
    requestId: "server",
    event: "EventsLost",
    count
  } satisfies AuditLine)

const failures = {
  EACCES: "may not be written",
  ENOENT: "has no folder",
  EISDIR: "is a folder",
  ENXIO: "has no reader, or is a socket"
} as const

const isKnown = (code: string): code is keyof typeof failures => code in failures

const refusedFile = (path: string, thrown: unknown): WrongSettings => {
  const code = systemCode(thrown) ?? "unknown failure"
  const why = isKnown(code) ? failures[code] : `can't be opened (${code})`
  return new WrongSettings({ complaints: [unappendable(path, why)] })
}

/** Whether the last line has no end: its writer was killed, or had no room for all of it. */
const isCutOff = async (path: string): Promise<boolean> => {
  const { size } = await stat(path)
  if (size === 0) return false
  const file = await open(path)
  try {
    const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1)
    // Another process may be in the midst of a line.
    return buffer.toString() !== "\n" && (await file.stat()).size === size
  } finally {
    await file.close()
  }
}

const openAtLine = async (path: string): Promise<number> => {
  const file = await openAppending(path)
  // A file that may not be read, or has no room, is no worse than it was.
  if (await isCutOff(path).catch(() => false)) await writeTo(file, "\n").catch(() => undefined)
  return file
}

const openFile = (path: string) =>
  Effect.tryPromise({ try: () => openAtLine(path), catch: (thrown) => refusedFile(path, thrown) })

const toldOf = (place: string, trouble: Trouble): Effect.Effect<void> => {
  switch (trouble._tag) {
    case "Failed":
      return Effect.logError(
        `${place} can't be written: ${trouble.code}. Events wait in memory, as far as there is room, and requests go on`
      )
    case "Full":
      return Effect.logError(`${place} takes less than comes. There is no room for more, and events are lost`)
    case "Over":
      return Effect.logWarning(`${place} is written again`)
  }
}

/** A sink whose troubles are told in the log, and stop no request. */
const writing = (
  file: number,
  place: string,
  files: Pick<LineWriterOptions, "close" | "isOver" | "open">,
  onHangUp?: OnHangUp
) =>
  Effect.gen(function* () {
    const context = yield* Effect.context<never>()
    const say: LineWriterOptions["say"] = (trouble) => Effect.runForkWith(context)(toldOf(place, trouble))
    const writer = makeLineWriter(file, { ...files, ...serverBounds, say, lostLine })
    const flush = Effect.flatMap(Effect.promise(writer.flush), (lost) =>
      lost === 0 ? Effect.void : Effect.logError(`${place} could not be finished`, { eventsLost: lost })
    )
    yield* Effect.addFinalizer(() => flush)
    const forget = onHangUp?.(writer.reopen)
    if (forget !== undefined) yield* Effect.addFinalizer(() => Effect.sync(forget))
    return Audit.of({
      // Taken at once: an effect that is yet to be run would cost every answer with tokens a fiber's turn.
      record: (entry) => {
        writer.write(JSON.stringify(lineOf(entry)))
        return Effect.void
      }
    })
  })

/** Audit events as lines of JSON, in a file of their own or on one of the streams that the process was given. */
export const auditStream = (
  target: Exclude<AuditTarget, { readonly _tag: "Log" | "Off" }>,
  onHangUp?: OnHangUp
): Layer.Layer<Audit, WrongSettings> => {
  if (target._tag === "Stream") {
    const files = { open: () => Promise.resolve(target.file), close: () => undefined }
    return Layer.effect(Audit, writing(target.file, "the audit stream", files))
  }
  const { most, path } = target
  const place = `the audit file ${path}`
  return Layer.effect(
    Audit,
    Effect.gen(function* () {
      const context = yield* Effect.context<never>()
      const sayStuck = (code: string) =>
        Effect.runForkWith(context)(
          Effect.logError(`${place} can't be moved to ${path}.1: ${code}. It grows beyond AUDIT_MAX_SIZE`)
        )
      const files = {
        open: () => openAppending(path),
        close: closeSync,
        ...(most === undefined ? {} : { isOver: makeCeiling(path, most, sayStuck) })
      }
      return yield* writing(yield* openFile(path), place, files, onHangUp)
    })
  )
}
