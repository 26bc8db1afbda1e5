import { randomFillSync } from "node:crypto"
import { constants, fstatSync, openSync, writeSync } from "node:fs"

/**
 * What the server owes beside its answer, in the barest way: each token leads to a line of the log, with the fields of
 * Tessera's audit, and what a client asks for is counted against a limit.
 */

const standardError = 2
/** Bytes that a pipe takes whole or not at all. */
const onePiece = 4096

/** No write to a pipe waits for its reader, as with Tessera's log. */
const openLog = (): number =>
  fstatSync(standardError).isFIFO()
    ? openSync("/proc/self/fd/2", constants.O_WRONLY | constants.O_NONBLOCK)
    : standardError

const log = openLog()
let pieces: Array<string> = []
let piece = ""
let isComing = false

const pause = 2

/** A piece that a full pipe does not take waits for its reader, and the others behind it. */
const isWritten = (text: string): boolean => {
  try {
    writeSync(log, text)
    return true
  } catch {
    return false
  }
}

const writeAll = (): void => {
  pieces.push(piece)
  piece = ""
  const from = pieces.findIndex((one) => !isWritten(one))
  pieces = from === -1 ? [] : pieces.slice(from)
  isComing = from !== -1
  if (isComing) setTimeout(writeAll, pause)
}

/** Lines of one turn go out together, in pieces that several processes may write to one pipe. */
const write = (line: string): void => {
  if (piece.length + line.length > onePiece) {
    pieces.push(piece)
    piece = ""
  }
  piece += line
  if (isComing) return
  isComing = true
  setImmediate(writeAll)
}

const idLength = 8
const random = Buffer.alloc(64 * idLength)
let used = random.length

const requestId = (): string => {
  if (used === random.length) {
    randomFillSync(random)
    used = 0
  }
  used += idLength
  return random.toString("hex", used - idLength, used)
}

let lastMillis = -1
let lastTime = ""

const timeOf = (millis: number): string => {
  if (millis !== lastMillis) {
    lastMillis = millis
    lastTime = new Date(millis).toISOString()
  }
  return lastTime
}

/** A line for each token. Nothing in it has to be escaped. */
export const audit = (grantType: string, client: string, grant: string): void =>
  write(
    `{"requestId":"${requestId()}","workspace":"default","grantType":"${grantType}","client":"${client}","scope":"api","grant":"${grant}","time":"${timeOf(Date.now())}","level":"Info","message":"TokensIssued"}\n`
  )

const window = 60_000
const most = 1_000_000_000
const counts = new Map<string, { count: number; until: number }>()

/** Whether there is room for one more in this minute. */
export const isAllowed = (of: string): boolean => {
  const now = Date.now()
  const known = counts.get(of)
  if (known !== undefined && now < known.until) return ++known.count <= most
  counts.set(of, { count: 1, until: now + window })
  return true
}
