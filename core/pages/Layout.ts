import { Base64 } from "effect/encoding"
import type { HeaderPairs } from "../http/Http.ts"
import type { Instant } from "../rules/Instant.ts"
import { sanitizeName } from "../rules/sanitizeName.ts"
import { basePath, type Workspace } from "../workspace/Workspace.ts"
import { type Html, html, stylesheetTag } from "./Html.ts"
import { lightPalette } from "./Palette.ts"
import { stylesheetOf } from "./stylesheet.ts"
import { defaultTheme, type Theme } from "./Theme.ts"

/** Where a page stands: what all pages of one workspace share. */
export interface Place {
  /** How the workspace is called in sentences. */
  readonly name: string
  /** What every path starts with: empty, or `/` and more. */
  readonly base: string
  readonly issuer: string
  readonly theme: Theme
}

export const placeOf = (workspace: Workspace, theme: Theme = defaultTheme): Place => ({
  name: sanitizeName(theme.name ?? workspace.name, 80) ?? "this server",
  base: basePath(workspace.issuer),
  issuer: workspace.issuer,
  theme
})

/** A page before it is an answer. */
export interface Document {
  readonly title: string
  /** Everything inside `<body>`. */
  readonly body: Html
  /**
   * Where its forms may end. Browsers hold `form-action` against every redirect that follows, so a form
   * that leads to a client's redirect URI can have none: it would silently do nothing.
   */
  readonly formsEnd: "here" | "anywhere"
  /** Applications open sign-in and consent in a pop-up and listen to it; cut off from its opener, it can't report back. */
  readonly opener: "kept" | "cut"
  /** What this page needs besides: `Retry-After`. */
  readonly headers?: HeaderPairs
}

/** Who looks at a page of settings, and what their forms need. */
export interface Visitor {
  /** `SignedIn.label` */
  readonly account: string
  readonly role: "owner" | "member"
  /** Bound to the session; every form of the page carries it. */
  readonly csrf: string
  readonly now: Instant
  /** The accounts are the host's own: there is no profile, no list of members and no sign-out of ours to lead to. */
  readonly accountsElsewhere?: boolean
  /** What the form that led here did. */
  readonly notice?: Notice
}

/** What just happened, said once at the top of the next page. */
export interface Notice {
  readonly kind: "done" | "problem"
  readonly text: string
}

/** Something went wrong and is said at once to who can't see it. */
export const problemLine = (text: string): Html =>
  html`<div class="notice notice-problem" role="alert"><p>${text}</p></div>`

const doneLine = (text: string): Html => html`<div class="notice notice-done" role="status"><p>${text}</p></div>`

export const notice = (of: Notice): Html => (of.kind === "done" ? doneLine(of.text) : problemLine(of.text))

const drawn = (theme: Theme): string => {
  const { brand, onBrand } = lightPalette(theme)
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="${brand}"/><g fill="${onBrand}"><rect x="7" y="7" width="8" height="8" rx="2"/><rect x="17" y="7" width="8" height="8" rx="2" opacity=".55"/><rect x="7" y="17" width="8" height="8" rx="2" opacity=".55"/><rect x="17" y="17" width="8" height="8" rx="2"/></g></svg>`
  return `data:image/svg+xml;base64,${Base64.encode(svg)}`
}

const made = new WeakMap<Theme, string>()

/** The picture in the tab: the logo, or our four tiles in the accent. Drawn once for each theme. */
const iconOf = (theme: Theme): string => {
  if (theme.logo !== undefined) return theme.logo
  const icon = made.get(theme) ?? drawn(theme)
  made.set(theme, icon)
  return icon
}

/** The whole document around a page's body. */
export const shell = (place: Place, document: Document): Html =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${document.title} · ${place.name}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex, nofollow">
<meta name="format-detection" content="telephone=no, email=no, address=no, date=no">
<link rel="icon" href="${iconOf(place.theme)}">
${stylesheetTag(stylesheetOf(place.theme).css)}
</head>
<body>
${document.body}
</body>
</html>
`

/** Four tiles: in the tab, and at the top where the theme has no logo. */
const mark = html`<svg class="mark" viewBox="0 0 32 32" width="32" height="32" aria-hidden="true" focusable="false"><rect class="mark-tile" width="32" height="32" rx="7"/><g class="mark-dots"><rect x="7" y="7" width="8" height="8" rx="2"/><rect x="17" y="7" width="8" height="8" rx="2" opacity=".55"/><rect x="7" y="17" width="8" height="8" rx="2" opacity=".55"/><rect x="17" y="17" width="8" height="8" rx="2"/></g></svg>`

const logo = ({ dark, logo }: Theme): Html => {
  if (logo === undefined) return mark
  const picture = html`<img class="logo" src="${logo}" alt="" height="32">`
  return dark?.logo === undefined
    ? picture
    : html`<picture><source media="(prefers-color-scheme: dark)" srcset="${dark.logo}">${picture}</picture>`
}

const name = (place: Place): Html => html`${logo(place.theme)}<bdi>${place.name}</bdi>`

/** The workspace at the top, leading home. */
export const brandLink = (place: Place): Html => html`<a class="brand" href="${place.base}/">${name(place)}</a>`

/** The frame of a page that asks or tells one thing; nothing at its top leads away. */
export const card = (place: Place, main: Html): Html =>
  html`<div class="stage">
<header class="stage-head"><span class="brand">${name(place)}</span></header>
<main class="card">
${main}
</main>
</div>`
