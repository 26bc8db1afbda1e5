import { fstat, open, write } from "node:fs"
import { promisify } from "node:util"

/** Where lines go, and what to say of it. */
export interface LineWriterOptions {
  /** Gives a file to write to; asked again after a failure, and to reopen. */
  readonly open: () => Promise<number>
  readonly close: (file: number) => void
  /** Said once for each outage, and once when it is over. */
  readonly say: (trouble: { readonly over: boolean; readonly code: string }) => void
  /** What is written, once there is room again, of lines for which there was none. */
  readonly lostLine: (count: number) => string
  /** Characters that wait at most, so that a disk that hangs does not eat the memory. */
  readonly room: number
  readonly retryMillis: number
}

export interface LineWriter {
  /** Takes a line, without its end, and never waits. */
  readonly write: (line: string) => void
  /** From the next line on, the file that has the name then. */
  readonly reopen: () => void
  /** Everything that was taken is written, or can't be: how many lines were lost for good. */
  readonly flush: () => Promise<number>
}

const writeTo = promisify(write)
const openFile = promisify(open)
const statOf = promisify(fstat)

export const openAppending = (path: string): Promise<number> => openFile(path, "a", 0o600)

const codeOf = (thrown: unknown): string =>
  // Errors of the system carry their code beside what the language knows of them.
  thrown instanceof Error && "code" in thrown ? String(thrown.code) : "unknown failure"

/** A reader that is slow, not gone: what does not fit now fits later. */
const isBusy = (code: string) => code === "EAGAIN"

const identityOf = (file: number): Promise<string | undefined> =>
  statOf(file, { bigint: true }).then(
    ({ dev, ino }) => `${dev}:${ino}`,
    // What can't be looked at, as on a share that is gone, is no file to go on in.
    () => undefined
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
  /** The lines that are being written, and how many of their bytes are. */
  let batch: Buffer | undefined
  let written = 0
  let wantsReopen = false
  let failing = false
  let ending = false
  let writing: Promise<void> | undefined
  let retry: ReturnType<typeof setTimeout> | undefined

  const takeWaiting = (): Buffer | undefined => {
    if (waiting.length === 0) return undefined
    const taken = Buffer.from(`${waiting.join("\n")}\n`)
    waiting = []
    size = 0
    return taken
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
  }

  const once = async (): Promise<void> => {
    if (wantsReopen) await reopened()
    batch ??= takeWaiting()
    if (batch === undefined) return
    const { bytesWritten } = await writeTo(current, batch, written)
    written += bytesWritten
    if (written === batch.length) {
      batch = undefined
      written = 0
    }
    if (failing) options.say({ over: true, code: "" })
    failing = false
  }

  const failed = (thrown: unknown): void => {
    const code = codeOf(thrown)
    if (!isBusy(code)) {
      if (!failing) options.say({ over: false, code })
      failing = true
      wantsReopen = true
    }
    if (ending) return
    retry = setTimeout(start, options.retryMillis)
    retry.unref()
  }

  const hasWork = () => batch !== undefined || waiting.length > 0 || wantsReopen

  const drain = async (): Promise<void> => {
    try {
      while (hasWork()) await once()
    } catch (thrown) {
      failed(thrown)
    }
  }

  const start = (): void => {
    retry = undefined
    writing ??= drain().finally(() => {
      writing = undefined
      if (hasWork() && retry === undefined && !ending) start()
    })
  }

  const push = (line: string): void => {
    waiting.push(line)
    size += line.length + 1
  }

  return {
    write: (line) => {
      if (size + line.length > options.room) {
        lost++
        return
      }
      if (lost > 0) push(options.lostLine(lost))
      lost = 0
      push(line)
      if (retry === undefined) start()
    },
    reopen: () => {
      wantsReopen = true
      if (retry === undefined) start()
    },
    flush: async () => {
      ending = true
      clearTimeout(retry)
      await writing
      if (lost > 0) push(options.lostLine(lost))
      lost = 0
      // Once more, whatever went wrong before.
      await drain()
      const unwritten = batch === undefined ? 0 : batch.toString("utf8", written).split("\n").length - 1
      if (unwritten + waiting.length === 0) options.close(current)
      return unwritten + waiting.length
    }
  }
}
