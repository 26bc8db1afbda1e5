import { Schema } from "effect"

/** RFC 8628 §6.1: no vowels, so that no code is a word, and none of the letters is taken for a digit. */
const letters = "BCDFGHJKLMNPQRSTVWXZ"
const length = 8

/** What a device shows, and its person enters: eight letters, as they are compared. */
export const UserCode = Schema.String.check(Schema.isPattern(/^[BCDFGHJKLMNPQRSTVWXZ]{8}$/)).pipe(
  Schema.brand("UserCode")
)
export type UserCode = typeof UserCode.Type

/** So many random bytes that each code comes as often as any other, but for one part in 2^29. */
export const userCodeEntropy = 8

export const userCodeOf = (bytes: Uint8Array): UserCode => {
  let left = bytes.reduce((whole, byte) => whole * 256n + BigInt(byte), 0n)
  let text = ""
  for (let i = 0; i < length; i++) {
    text += letters.charAt(Number(left % 20n))
    left /= 20n
  }
  // Eight of the letters.
  return text as UserCode
}

/** In two groups, as it is read out. */
export const groupedCode = (code: UserCode): string => `${code.slice(0, length / 2)}-${code.slice(length / 2)}`

const longestEntered = 64
const isCode = Schema.is(UserCode)

/** RFC 8628 §6.1: what a person typed, without case, blanks and dashes; `undefined` where that is no code. */
export const readUserCode = (text: string): UserCode | undefined => {
  if (text.length > longestEntered) return undefined
  const code = text.replace(/[\s\p{Dash_Punctuation}]/gu, "").toUpperCase()
  return isCode(code) ? code : undefined
}
