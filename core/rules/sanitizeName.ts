/** Joiners and emoji style selectors are kept, because emoji and several scripts need them. */
const invisible =
  /[\p{Cc}\p{Cs}\p{Co}\p{Zl}\p{Zp}\u2800]|(?!\u200c|\u200d|\ufe0e|\ufe0f)[\p{Cf}\p{DI}]|\p{Noncharacter_Code_Point}/gu
const pileOfMarks = /(\p{M}{4})\p{M}+/gu

/**
 * Text from a client, made safe to stand in a sentence: no control, direction or invisible characters, no
 * stacks of accents, at most `limit` characters. `undefined` if no visible character is left.
 */
export const sanitizeName = (text: string, limit: number): string | undefined => {
  const clean = text.replace(invisible, " ").replace(pileOfMarks, "$1").replace(/\s+/gu, " ").trim()
  if (!/[\p{L}\p{N}\p{P}\p{S}]/u.test(clean)) return undefined
  // A character has one unit or more: what is short is not taken apart.
  if (clean.length <= limit) return clean
  const characters = [...new Intl.Segmenter("en", { granularity: "grapheme" }).segment(clean)]
  if (characters.length <= limit) return clean
  return `${characters
    .slice(0, limit - 1)
    .map(({ segment }) => segment)
    .join("")
    .trimEnd()}…`
}

/** The text for a developer: invisible characters are spelled out. */
export const spellOut = (text: string, limit: number): string => {
  const shown = [...text].slice(0, limit).join("")
  const spelled = shown.replace(invisible, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`)
  return shown.length < text.length ? `${spelled}…` : spelled
}
