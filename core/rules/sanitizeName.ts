/** Joiners and the two styles of an emoji stay: emoji and several scripts need them. */
const invisible =
  /[\p{Cc}\p{Cs}\p{Co}\p{Zl}\p{Zp}\u2800]|(?!\u200c|\u200d|\ufe0e|\ufe0f)[\p{Cf}\p{DI}]|\p{Noncharacter_Code_Point}/gu
const pileOfMarks = /(\p{M}{4})\p{M}+/gu

/**
 * Somebody else's text, made fit to stand in our sentence: no control or direction characters, nothing
 * invisible, no towers of accents, at most `limit` characters. Nothing where nothing is left of it.
 */
export const sanitizeName = (text: string, limit: number): string | undefined => {
  const clean = text.replace(invisible, " ").replace(pileOfMarks, "$1").replace(/\s+/gu, " ").trim()
  const characters = [...new Intl.Segmenter("en", { granularity: "grapheme" }).segment(clean)]
  if (!/[\p{L}\p{N}\p{P}\p{S}]/u.test(clean)) return undefined
  if (characters.length <= limit) return clean
  return `${characters
    .slice(0, limit - 1)
    .map(({ segment }) => segment)
    .join("")
    .trimEnd()}…`
}

/** The same text for who debugs it: what can't be seen is spelled out. */
export const spellOut = (text: string, limit: number): string => {
  const shown = [...text].slice(0, limit).join("")
  const spelled = shown.replace(invisible, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`)
  return shown.length < text.length ? `${spelled}…` : spelled
}
