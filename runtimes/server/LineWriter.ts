import { constants, fstat, fstatSync, open, openSync, write, writeSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"
import { systemCode } from "../serve/defect.ts"

/** What is said of an outage: how it began, that lines are lost for want of room, or that it is over. */
export type Trouble =
  | { readonly _tag: "Failed"; readonly code: string }
  | { readonly _tag: "Full" }
  | { readonly _tag: "Over" }

/** Where lines go, and what to say of it. */
export interface LineWriterOptions {
  /** Whether no write to these files waits for a reader: then a piece is written in the turn, without a thread. */
  readonly neverWaits?: boolean
  /** Gives a file to write to; asked again after a failure, and to reopen. */
  readonly open: () => Promise<number>
  readonly close: (file: number) => void
  /** Asked of a regular file before so many bytes are written to it: whether to open another first. */
  readonly isOver?: (file: number, coming: number) => Promise<boolean>
  /** Said once for each outage, and once when it is over. */
  readonly say: (trouble: Trouble) => void
  /** The line that tells, once there is room again, how many found none. */
  readonly lostLine: (count: number) => string
  /** Characters that wait at most, so that a disk that hangs does not eat the memory. */
  readonly room: number
  /** Between two tries after a failure, and at most between two at a reader that is slow. */
  readonly retryMillis: number
  /** How long the end waits for what is not written yet. */
  readonly patienceMillis: number
}

/** For what a whole server writes: some ten thousand lines wait. */
export const serverBounds: Pick<LineWriterOptions, "patienceMillis" | "retryMillis" | "room"> = {
  room: 4 * 1024 * 1024,
  retryMillis: 1000,
  patienceMillis: 3000
}

export interface LineWriter {
  /** Takes a line, without its end, and never waits. */
  readonly write: (line: string) => void
  /** From the next line on, the file that has the name then. */
  readonly reopen: () => void
  /**
   * Everything that was taken is written, or can't be in time: how many lines were lost for good. There is one end,
   * however many ask for it.
   */
  readonly flush: () => Promise<number>
}

export const writeTo = promisify(write)
const openFile = promisify(open)
const statOf = promisify(fstat)

const { O_APPEND, O_CREAT, O_NONBLOCK, O_WRONLY } = constants

/** Of a pipe nothing is waited for: Node ends no process while one of its threads waits for a reader. */
export const openAppending = (path: string): Promise<number> =>
  openFile(path, O_APPEND | O_CREAT | O_NONBLOCK | O_WRONLY, 0o600)

/**
 * The pipe of a standard stream once more, opened so that no write waits for its reader, even where another process has
 * the stream too. Nothing where the stream is no pipe, or where the system does not open its own files by number.
 */
export const openPipeOf = (file: number): number | undefined => {
  try {
    return fstatSync(file).isFIFO() ? openSync(`/proc/self/fd/${file}`, O_WRONLY | O_NONBLOCK) : undefined
  } catch {
    return undefined
  }
}

/** A reader that is slow, not gone: what does not fit now fits later. */
const isBusy = (code: string) => code === "EAGAIN"

/** Bytes that a pipe on Linux takes whole or not at all, so that what others write to it comes between lines. */
const onePiece = 4096

const lineEnd = "\n".charCodeAt(0)

/** How many bytes, from there on, are written at once: whole lines, and a line that is longer alone. */
const pieceFrom = (batch: Buffer, start: number): number => {
  const last = batch.lastIndexOf(lineEnd, start + onePiece - 1)
  return (last < start ? batch.indexOf(lineEnd, start) : last) + 1 - start
}

/** A reader that reads has emptied a pipe by then. */
const shortestPause = 2

type Drained = "all" | "busy" | "failed"

const identityOf = (file: number): Promise<string | undefined> =>
  statOf(file, { bigint: true }).then(
    ({ dev, ino }) => `${dev}:${ino}`,
    // What can't be looked at, as on a share that is gone, is no file to go on in.
    () => undefined
  )

const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

const isRegular = (file: number): Promise<boolean> =>
  statOf(file).then(
    (stat) => stat.isFile(),
    () => false
  )

const isSameFile = async (one: number, other: number): Promise<boolean> => {
  const [first, second] = await Promise.all([identityOf(one), identityOf(other)])
  return first !== undefined && first === second
}

/** Writes line after line in the background, one write at a time, and goes on after a failure where it was. */
export const makeLineWriter = (file: number, options: LineWriterOptions): LineWriter => {
  let current = file
  let waiting: Array<string> = []
  let size = 0
  let lost = 0
  /** How many each of the lines stands for that tell of a loss and are not written yet. */
  const lostBy = new Map<string, number>()
  /** The lines that are being written, and how many of their bytes are. */
  let batch: Buffer | undefined
  let written = 0
  let wantsReopen = false
  let told: Trouble["_tag"] = "Over"
  /** Whether a line found no room since the batch was taken. */
  let overfull = false
  /** Whether the current file keeps what several processes append to it apart, however long it is: a pipe does not. */
  let keepsApart: boolean | undefined
  let pause = shortestPause
  let ending = false
  let gaveUp = false
  let flushed: Promise<number> | undefined
  let writing: Promise<void> | undefined
  let retry: ReturnType<typeof setTimeout> | undefined

  const takeWaiting = (): Buffer | undefined => {
    if (waiting.length === 0) return undefined
    const taken = Buffer.from(`${waiting.join("\n")}\n`)
    waiting = []
    size = 0
    overfull = false
    return taken
  }

  const tell = (trouble: Trouble): void => {
    if (told === trouble._tag) return
    told = trouble._tag
    options.say(trouble)
  }

  const reopened = async (): Promise<void> => {
    const fresh = await options.open()
    wantsReopen = false
    // Half a line is none, so another file gets all of it.
    if (batch !== undefined && written > 0 && !(await isSameFile(current, fresh))) {
      written = batch.lastIndexOf("\n", written - 1) + 1
    }
    options.close(current)
    current = fresh
    keepsApart = undefined
  }

  /** Where lines would soon be lost for want of room, all is written at once: better that one is torn. */
  const isCrowded = (unwritten: number): boolean => unwritten + size > options.room / 4

  const once = async (): Promise<void> => {
    if (wantsReopen) await reopened()
    batch ??= takeWaiting()
    if (batch === undefined) return
    keepsApart ??= await isRegular(current)
    if (keepsApart && written === 0 && (await options.isOver?.(current, batch.length)) === true) {
      await reopened()
      keepsApart = await isRegular(current)
    }
    const unwritten = batch.length - written
    const piece = keepsApart || isCrowded(unwritten) ? unwritten : pieceFrom(batch, written)
    written +=
      options.neverWaits === true
        ? writeSync(current, batch, written, piece)
        : (await writeTo(current, batch, written, piece)).bytesWritten
    pause = shortestPause
    if (written < batch.length) return
    batch = undefined
    written = 0
    if (waiting.length === 0) lostBy.clear()
    // As long as lines find no room it goes on, however much is taken of the others.
    if (!overfull) tell({ _tag: "Over" })
  }

  const hasWork = () => batch !== undefined || waiting.length > 0 || wantsReopen

  const drain = async (): Promise<Drained> => {
    try {
      while (hasWork()) await once()
      return "all"
    } catch (thrown) {
      const code = systemCode(thrown) ?? "unknown failure"
      if (isBusy(code)) return "busy"
      tell({ _tag: "Failed", code })
      wantsReopen = true
      return "failed"
    }
  }

  /** Lines of one turn travel together; a write that needs a thread gathers those that come meanwhile by itself. */
  const drainSoon = (): Promise<Drained> => (options.neverWaits === true ? nextTurn().then(drain) : drain())

  const nextPause = (): number => {
    const next = Math.min(pause, options.retryMillis)
    pause = next * 2
    return next
  }

  const start = (): void => {
    if (ending) return
    retry = undefined
    writing ??= drainSoon().then((drained) => {
      writing = undefined
      if (ending) return
      if (drained === "all") {
        if (hasWork()) start()
        return
      }
      retry = setTimeout(start, drained === "busy" ? nextPause() : options.retryMillis)
      retry.unref()
    })
  }

  /** Once more, whatever went wrong before, and again as long as the reader is no more than slow. */
  const finish = async (): Promise<void> => {
    await writing
    pushLost()
    pause = shortestPause
    while (!gaveUp && (await drain()) === "busy") await sleep(nextPause(), undefined, { ref: false })
  }

  const end = async (): Promise<number> => {
    ending = true
    clearTimeout(retry)
    // A disk may hang for longer than a shutdown waits.
    const waited = new AbortController()
    await Promise.race([finish(), sleep(options.patienceMillis, undefined, waited).catch(() => undefined)])
    gaveUp = true
    waited.abort()
    const begun = batch === undefined ? [] : batch.toString("utf8", written).split("\n").slice(0, -1)
    const unwritten = [...begun, ...waiting]
    if (unwritten.length === 0) options.close(current)
    return unwritten.reduce((sum, line) => sum + (lostBy.get(line) ?? 1), 0)
  }

  const push = (line: string): void => {
    waiting.push(line)
    size += line.length + 1
  }

  const pushLost = (): void => {
    if (lost === 0) return
    const line = options.lostLine(lost)
    lostBy.set(line, lost)
    push(line)
    lost = 0
  }

  return {
    write: (line) => {
      if (size + line.length > options.room) {
        lost++
        overfull = true
        if (told === "Over") tell({ _tag: "Full" })
        return
      }
      pushLost()
      push(line)
      if (retry === undefined) start()
    },
    reopen: () => {
      wantsReopen = true
      if (retry === undefined) start()
    },
    flush: () => {
      flushed ??= end()
      return flushed
    }
  }
}
