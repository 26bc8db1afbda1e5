/**
 * Ids, owners and workspaces as text that any database can hold and sort. Databases often have no NUL and no lone
 * surrogates, and sort by code point, while the port sorts by UTF-16 code unit. So units from U+D800 on move up by
 * 0x800, and NUL and U+0001 become two characters. This keeps the order; common ids stay as they are.
 */
const special = /[^ -\ud7ff]/

export const toKeyText = (key: string): string => {
  if (!special.test(key)) return key
  let text = ""
  for (let i = 0; i < key.length; i++) {
    const unit = key.charCodeAt(i)
    text +=
      unit <= 1 ? `\u0001${String.fromCharCode(unit + 1)}` : String.fromCodePoint(unit < 0xd800 ? unit : unit + 0x800)
  }
  return text
}

export const fromKeyText = (text: string): string => {
  if (!special.test(text)) return text
  let key = ""
  let escaped = false
  for (const character of text) {
    const point = character.codePointAt(0) ?? 0
    if (escaped) key += String.fromCharCode(point - 1)
    else if (point !== 1) key += String.fromCharCode(point < 0xd800 ? point : point - 0x800)
    escaped = !escaped && point === 1
  }
  return key
}
