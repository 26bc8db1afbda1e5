import { closeSync } from "node:fs"
import { open, stat } from "node:fs/promises"
import { Effect, Layer } from "effect"
import { Audit } from "../../../core/ports/Audit.ts"
import {
  type LineWriterOptions,
  makeLineWriter,
  openAppending,
  serverBounds,
  type Trouble,
  writeTo
} from "../../server/LineWriter.ts"
import { complaint } from "../../server/Variable.ts"
import { WrongSettings } from "../../server/WrongSettings.ts"
import { systemCode } from "../../systemCode.ts"
import type { AuditTarget } from "../ObserveSettings.ts"
import { type AuditLine, lineOf } from "./AuditLine.ts"

/** Calls this whenever somebody asks for new files, until the answer is called. */
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
  return new WrongSettings({ complaints: [complaint("AUDIT", `a file that can be appended to, and ${path} ${why}`)] })
}

/** Whether the last line has no end: whoever wrote it was killed, or had no room for all of it. */
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
        `${place} can't be written: ${trouble.code}. Events wait, as far as there is room, and nobody else does`
      )
    case "Full":
      return Effect.logError(`${place} takes less than comes. There is no room for more, and events are lost`)
    case "Over":
      return Effect.logWarning(`${place} is written again`)
  }
}

/** A sink whose troubles are told in the log, and are nobody else's. */
const writing = (file: number, place: string, files: Pick<LineWriterOptions, "close" | "open">, onHangUp?: OnHangUp) =>
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
  const { path } = target
  const files = { open: () => openAppending(path), close: closeSync }
  return Layer.effect(
    Audit,
    Effect.flatMap(openFile(path), (file) => writing(file, `the audit file ${path}`, files, onHangUp))
  )
}
