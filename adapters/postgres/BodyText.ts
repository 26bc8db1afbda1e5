import type { Json } from "../../core/ports/Storage.ts"

/**
 * Bodies as `jsonb` can hold them: it refuses NUL and lone surrogates, in strings and in keys. Each becomes U+0001 and
 * what it was, and U+0001 itself becomes U+0001 and "1". `JSON.stringify` writes all three as `\uXXXX`, and so does
 * PostgreSQL with U+0001, so the change is made in the text, and bodies without them are left alone.
 */
const unholdable = /\\u(?:000[01]|d[89a-f])/
const escapes = /\\(?:u(000[01]|d[89a-f][0-9a-f]{2})|.)/g
const marked = /\\(?:u0001([01]|d[89a-f][0-9a-f]{2})|.)/g

export const toBodyText = (body: Json): string => {
  const text = JSON.stringify(body)
  if (!unholdable.test(text)) return text
  return text.replace(escapes, (whole: string, unit: string | undefined) =>
    unit === undefined ? whole : `\\u0001${unit.startsWith("000") ? unit.slice(3) : unit}`
  )
}

export const fromBodyText = (text: string): Json => {
  if (!text.includes("\\u0001")) return JSON.parse(text)
  return JSON.parse(
    text.replace(marked, (whole: string, unit: string | undefined) =>
      unit === undefined ? whole : `\\u${unit.length === 1 ? `000${unit}` : unit}`
    )
  )
}
