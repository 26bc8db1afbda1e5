/** What a search looks for: the bytes of a secret in every form in which a store might have kept them. */
export interface Needle {
  readonly what: string
  readonly bytes: Buffer
  /** Hexadecimal is searched for without regard to case. */
  readonly hex: string
}

/** The characters that stand for these bytes and no others, wherever in a longer text of base64 they begin. */
const inBase64 = (bytes: Buffer): ReadonlyArray<string> =>
  [0, 1, 2].flatMap((before) => {
    const whole = Buffer.concat([Buffer.alloc(before), bytes])
    const first = Math.ceil((before * 8) / 6)
    const end = Math.floor((whole.length * 8) / 6)
    return (["base64", "base64url"] as const).map((encoding) => whole.toString(encoding).slice(first, end))
  })

const needles = (what: string, bytes: Buffer): ReadonlyArray<Needle> => [
  { what: `${what}, raw`, bytes, hex: "" },
  { what: `${what}, in hex`, bytes: Buffer.alloc(0), hex: bytes.toString("hex") },
  ...inBase64(bytes).map((text) => ({ what: `${what}, in base64`, bytes: Buffer.from(text), hex: "" }))
]

const macLength = 32
const checksumLength = 6

/** Of a secret's text and of what it stands for: all of it, and its secret part alone. */
export const needlesOf = (what: string, text: string): ReadonlyArray<Needle> => {
  const asText = needles(`${what}: its text`, Buffer.from(text))
  const [, payload] = /^tsr_[a-z]{2}_(.+)$/.exec(text) ?? []
  if (payload !== undefined) {
    const bytes = Buffer.from(payload.slice(0, -checksumLength), "base64url")
    // Ahead of that stands what is no secret, the grant's id above all, by which its record is found.
    const secret = bytes.subarray(-macLength)
    return [...asText, ...needles(`${what}: its bytes`, bytes), ...needles(`${what}: its secret part`, secret)]
  }
  if (!/^[A-Za-z0-9_-]{43}$/.test(text)) return asText
  return [...asText, ...needles(`${what}: its bytes`, Buffer.from(text, "base64url"))]
}

/** Which of them are there. */
export const foundIn = (haystack: Buffer, sought: ReadonlyArray<Needle>): ReadonlyArray<string> => {
  const lower = Buffer.from(haystack.toString("latin1").toLowerCase(), "latin1")
  return sought
    .filter(({ bytes, hex }) => (hex === "" ? haystack.includes(bytes) : lower.includes(hex)))
    .map(({ what }) => what)
}

const member = /"d":\s*"/

/** The private member of a JWK, as it is written or within base64 of either alphabet, wherever that begins. */
export const holdsPrivateKey = (haystack: Buffer): boolean => {
  const text = haystack.toString("latin1")
  if (member.test(text)) return true
  return [...text.matchAll(/[\w+/-]{40,}/g)].some(([run]) =>
    [0, 1, 2, 3].some((start) => member.test(Buffer.from(run.slice(start), "base64url").toString("latin1")))
  )
}
