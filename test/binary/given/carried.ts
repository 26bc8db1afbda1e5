/** A body in the pieces that it travels in: one with its length said before, or chunks. */
export interface Framed {
  readonly content: Buffer
  readonly frame: (content: Buffer) => Buffer
}

const plain = (content: Buffer): Framed => ({ content, frame: (other) => other })

/** Other content of the same length goes into chunks of the same sizes. */
const chunked = (body: Buffer): Framed => {
  const sizes: Array<number> = []
  const pieces: Array<Buffer> = []
  for (let at = 0; ; ) {
    const line = body.indexOf("\r\n", at)
    const size = Number.parseInt(body.toString("latin1", at, line), 16)
    if (line === -1 || !(size > 0)) break
    sizes.push(size)
    pieces.push(body.subarray(line + 2, line + 2 + size))
    at = line + 2 + size + 2
  }
  const frame = (content: Buffer): Buffer => {
    let at = 0
    const chunks = sizes.flatMap((size) => {
      const piece = content.subarray(at, at + size)
      at += size
      return [Buffer.from(`${size.toString(16)}\r\n`), piece, Buffer.from("\r\n")]
    })
    return Buffer.concat([...chunks, Buffer.from("0\r\n\r\n")])
  }
  return { content: Buffer.concat(pieces), frame }
}

export const framed = (body: string | Uint8Array, inChunks: boolean): Framed => {
  const bytes = Buffer.from(body)
  return inChunks ? chunked(bytes) : plain(bytes)
}

/** What a sign-in page sends, with the email last: that one is shown again where the form is out of date. */
const before = Buffer.from("password=none&email=")
const mark = Buffer.from("\ufeff")

/** What separates and escapes in a form, as what it is. */
const escaped = (bytes: Buffer): Buffer =>
  Buffer.from(
    bytes.toString("latin1").replace(/[%&+]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`),
    "latin1"
  )

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
  "`": "&#96;"
}

/** A text as a page shows it in a field. */
const shown = (text: string): string =>
  text
    .replace(/[&<>"'`]/g, (sign) => entities[sign] ?? sign)
    .replace(/[^\t\n\r\P{Cc}]|\p{Cs}|\p{Noncharacter_Code_Point}/gu, "\ufffd")

/** Longer ones are compared by their length, as the transcript's own echo tells them. */
const wholeUpTo = 200

export interface Carried {
  readonly content: Buffer
  /** What the server shows of the email, as what it must have read. */
  readonly readBack: (email: string) => string | { readonly length: number }
}

/**
 * A body as the form of a sign-in. A short one is the email in it, byte for byte; a long one gives up as many
 * bytes at its beginning as the rest of the form takes, so that it is as long as it was.
 */
export const carried = (body: Buffer): Carried => {
  if (body.length > wholeUpTo) {
    const content = Buffer.concat([before, Buffer.alloc(body.length - before.length, "a")])
    return { content, readBack: (email) => ({ length: before.length + email.length }) }
  }
  // A byte-order mark is one at the very beginning, and nowhere else.
  const [begin, rest] = body.subarray(0, mark.length).equals(mark)
    ? [mark, body.subarray(mark.length)]
    : [Buffer.alloc(0), body]
  const text = rest.toString()
  return {
    content: Buffer.concat([begin, before, escaped(rest)]),
    readBack: (email) => (email === shown(text) ? text : email)
  }
}
