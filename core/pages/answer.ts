import type { HeaderPairs, HttpResponse } from "../http/Http.ts"
import type { Document } from "./Document.ts"
import { render } from "./Html.ts"
import { shell } from "./Layout.ts"
import type { Place } from "./Place.ts"
import { stylesheetOf } from "./stylesheet.ts"
import type { Logo, Theme } from "./Theme.ts"

/** As the policy names it: one address, not all of its host. */
const imageSource = (logo: Logo | undefined): ReadonlyArray<string> =>
  logo === undefined ? [] : logo.startsWith("/") ? ["'self'"] : logo.startsWith("data:") ? [] : [logo]

const policy = (document: Document, theme: Theme): string =>
  [
    "default-src 'none'",
    `style-src ${stylesheetOf(theme).source}`,
    `img-src ${[...new Set(["data:", ...[theme.logo, theme.dark?.logo].flatMap(imageSource)])].join(" ")}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
    ...(document.formsEnd === "here" ? ["form-action 'self'"] : [])
  ].join("; ")

/** A page as an answer, with everything that keeps a browser from doing more with it than showing it. */
export const page = (
  status: number,
  document: Document,
  options: {
    readonly place: Place
    /** What the endpoint adds: `Set-Cookie`, the request id. */
    readonly headers?: HeaderPairs
  }
): HttpResponse => ({
  status,
  headers: [
    ["content-type", "text/html; charset=utf-8"],
    ["content-security-policy", policy(document, options.place.theme)],
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
