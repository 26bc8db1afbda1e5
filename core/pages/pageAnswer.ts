import type { HeaderPairs, HttpResponse } from "../http/Http.ts"
import type { Logo } from "../workspace/Theme.ts"
import { render } from "./Html.ts"
import { type Document, type Place, shell } from "./Layout.ts"
import { sessionScript } from "./sessionScript.ts"
import { stylesheetOf } from "./stylesheet.ts"

/** A source of the policy: the one address, not its whole host. */
const imageSource = (logo: Logo | undefined): ReadonlyArray<string> =>
  logo === undefined ? [] : logo.startsWith("/") ? ["'self'"] : logo.startsWith("data:") ? [] : [logo]

const policy = (document: Document, place: Place): string => {
  const { theme } = place
  const script = sessionScript(place, document.session)
  return [
    "default-src 'none'",
    ...(script === undefined ? [] : [`script-src ${script.source}`]),
    `style-src ${stylesheetOf(theme).source}`,
    `img-src ${[...new Set(["data:", ...[theme.logo, theme.dark?.logo].flatMap(imageSource)])].join(" ")}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
    ...(document.formsEnd === "here" ? ["form-action 'self'"] : [])
  ].join("; ")
}

/** A page as an answer, with the headers that keep a browser from storing, framing or sniffing it. */
export const page = (
  status: number,
  document: Document,
  options: {
    readonly place: Place
    /** Headers of the endpoint, such as `Set-Cookie`. */
    readonly headers?: HeaderPairs
  }
): HttpResponse => ({
  status,
  headers: [
    ["content-type", "text/html; charset=utf-8"],
    ["content-security-policy", policy(document, options.place)],
    ["x-frame-options", "DENY"],
    ["referrer-policy", "no-referrer"],
    ["cache-control", "no-store"],
    ["x-content-type-options", "nosniff"],
    ["permissions-policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()"],
    ["cross-origin-resource-policy", "same-origin"],
    ...(document.opener === "cut" ? ([["cross-origin-opener-policy", "same-origin"]] as const) : []),
    ...(document.headers ?? []),
    ...(options.headers ?? [])
  ],
  body: render(shell(options.place, document))
})

/** Headers of every page on which people approve something, even if the host drew it. */
const always: HeaderPairs = [
  ["x-frame-options", "DENY"],
  ["cache-control", "no-store"],
  ["x-content-type-options", "nosniff"]
]

const isAlways = (name: string): boolean => always.some(([kept]) => kept === name)

/** RFC 9110 §5.1, §5.5: Node throws on any other header when it writes the answer. */
const isHeader = ([name, value]: HeaderPairs[number]): boolean =>
  /^[\w!#$%&'*+.^`|~-]+$/.test(name) && /^[\t\x20-\x7e\x80-\xff]*$/.test(value)

const canBeSent = ({ headers, status }: HttpResponse): boolean =>
  Number.isInteger(status) && status >= 200 && status < 600 && headers.every(isHeader)

/** A page that the host drew: never framed, stored or sniffed, and with the host's policy beside this one. */
export const ownPage = (drawn: HttpResponse): HttpResponse => {
  // A defect, like every exception of a host's page: logged, and answered with 500.
  if (!canBeSent(drawn)) throw new TypeError("a page of the host's has a status or a header that cannot be sent")
  const { body, headers, status } = drawn
  const own = headers.map(([name, value]) => [name.toLowerCase(), value] as const).filter(([name]) => !isAlways(name))
  return {
    status,
    headers: [
      ...own,
      ...always,
      // A browser enforces every policy, so this one does not replace the host's.
      ["content-security-policy", "frame-ancestors 'none'; base-uri 'none'"],
      ...(own.some(([name]) => name === "referrer-policy") ? [] : [["referrer-policy", "no-referrer"] as const])
    ],
    body
  }
}
