const headEnd = Buffer.from("\r\n\r\n")
const lastChunk = Buffer.from("0\r\n\r\n")

export interface Answer {
  readonly status: number
  readonly bytes: Buffer
  readonly bodyAt: number
}

/** Cuts what comes over one connection into answers: no more of HTTP than that takes. One request is out at a time. */
export class Answers {
  private pending: Buffer | undefined

  /** The answer, once it is all there. */
  take(chunk: Buffer): Answer | undefined {
    const bytes = this.pending === undefined ? chunk : Buffer.concat([this.pending, chunk])
    const end = bytes.indexOf(headEnd)
    if (end === -1) return this.wait(bytes, chunk)
    const head = bytes.toString("latin1", 0, end)
    const bodyAt = end + headEnd.length
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
    const isWhole =
      length !== undefined
        ? bytes.length >= bodyAt + Number(length)
        : !/\r\ntransfer-encoding: *chunked/i.test(head) || bytes.subarray(-lastChunk.length).equals(lastChunk)
    if (!isWhole) return this.wait(bytes, chunk)
    this.pending = undefined
    return { status: Number(head.slice(9, 12)), bytes, bodyAt }
  }

  /** The socket may use a chunk's memory again. */
  private wait(bytes: Buffer, chunk: Buffer): undefined {
    this.pending = bytes === chunk ? Buffer.from(bytes) : bytes
    return undefined
  }
}
