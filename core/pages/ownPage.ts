import type { HeaderPairs, HttpResponse } from "../http/Http.ts"

/** What a page that somebody approves something on is never without, whoever drew it. */
const always: HeaderPairs = [
  ["x-frame-options", "DENY"],
  ["cache-control", "no-store"],
  ["x-content-type-options", "nosniff"]
]

const isAlways = (name: string): boolean => always.some(([kept]) => kept === name)

/** A page of the host's own: not framed, stored or sniffed, whatever it says itself; its own policy stands beside ours. */
export const ownPage = ({ body, headers, status }: HttpResponse): HttpResponse => {
  const own = headers.map(([name, value]) => [name.toLowerCase(), value] as const).filter(([name]) => !isAlways(name))
  return {
    status,
    headers: [
      ...own,
      ...always,
      // Of several policies each has to allow what happens, so this one takes nothing from theirs.
      ["content-security-policy", "frame-ancestors 'none'; base-uri 'none'"],
      ...(own.some(([name]) => name === "referrer-policy") ? [] : [["referrer-policy", "no-referrer"] as const])
    ],
    body
  }
}
