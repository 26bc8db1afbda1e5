import { Base64 } from "effect/encoding"
import { LruMap } from "../cache/LruMap.ts"
import type { HeaderPairs } from "../http/Http.ts"
import type { Instant } from "../rules/Instant.ts"
import { sanitizeName } from "../rules/sanitizeName.ts"
import { pagesPath } from "../workspace/SessionPath.ts"
import { defaultTheme, type Theme } from "../workspace/Theme.ts"
import type { OpenWorkspace } from "../workspace/Workspace.ts"
import { type Html, html, stylesheetTag } from "./Html.ts"
import { lightPalette } from "./Palette.ts"
import { type SessionOfPage, sessionScript } from "./sessionScript.ts"
import { stylesheetOf } from "./stylesheet.ts"

/** What all pages of one workspace share. */
export interface Place {
  /** The workspace's name in sentences. */
  readonly name: string
  /** The beginning of every page's path: empty, or `/` and more. */
  readonly base: string
  readonly issuer: string
  /** The end of `base`, if it is a session's own path. */
  readonly sessionPath?: string
  readonly theme: Theme
}

/** `shared`: the look of workspaces that have none of their own. */
export const placeOf = (workspace: OpenWorkspace, shared: Theme = defaultTheme): Place => {
  const theme = workspace.theme ?? shared
  return {
    name: sanitizeName(theme.name ?? workspace.name, 80) ?? "this server",
    base: pagesPath(workspace),
    issuer: workspace.issuer,
    ...(workspace.sessionPath === undefined ? {} : { sessionPath: workspace.sessionPath }),
    theme
  }
}

/** A page before it becomes an answer. */
export interface Document {
  /** Names the page for tests and scripts, in `data-page`; its words may change, this may not. */
  readonly name: string
  readonly title: string
  /** Everything inside `<body>`. */
  readonly body: Html
  /**
   * Where its forms may lead. Browsers check `form-action` for each redirect too, so a page whose form ends at
   * a client's redirect URI has none: the browser would stop silently.
   */
  readonly formsEnd: "here" | "anywhere"
  /** `kept` where an application may open the page in a pop-up that reports back to it. */
  readonly opener: "kept" | "cut"
  readonly session?: SessionOfPage
  /** Headers of this page only, such as `Retry-After`. */
  readonly headers?: HeaderPairs
}

/** The signed-in person on a page of settings, and what the forms of the page need. */
export interface Visitor {
  /** `SignedIn.label` */
  readonly account: string
  readonly role: "owner" | "member"
  /** Bound to the session; in every form of the page. */
  readonly csrf: string
  readonly now: Instant
  /** The host has its own accounts, so the page links to no profile, members or sign-out. */
  readonly accountsElsewhere?: boolean
  /** The result of the form that redirected here. */
  readonly notice?: Notice
}

/** The result of a form, at the top of the next page. */
export interface Notice {
  readonly kind: "done" | "problem"
  readonly text: string
}

export const doneNotice = (text: string): Notice => ({ kind: "done", text })
export const problemNotice = (text: string): Notice => ({ kind: "problem", text })

/** A problem; screen readers read an alert at once. */
export const problemLine = (text: string): Html =>
  html`<div class="notice notice-problem" role="alert"><p>${text}</p></div>`

const doneLine = (text: string): Html => html`<div class="notice notice-done" role="status"><p>${text}</p></div>`

export const notice = (of: Notice): Html => (of.kind === "done" ? doneLine(of.text) : problemLine(of.text))

const drawn = (theme: Theme): string => {
  const { brand, onBrand } = lightPalette(theme)
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="${brand}"/><g fill="${onBrand}"><rect x="7" y="7" width="8" height="8" rx="2"/><rect x="17" y="7" width="8" height="8" rx="2" opacity=".55"/><rect x="7" y="17" width="8" height="8" rx="2" opacity=".55"/><rect x="17" y="17" width="8" height="8" rx="2"/></g></svg>`
  return `data:image/svg+xml;base64,${Base64.encode(svg)}`
}

interface Icon {
  readonly url: string
}

const iconsKept = 1024
const made = new LruMap<Theme, Icon>(iconsKept)

/** The icon of the tab: the logo, or four tiles in the accent colour. Drawn once for each theme. */
const iconOf = (theme: Theme): string => {
  if (theme.logo !== undefined) return theme.logo
  const known = made.get(theme)
  if (known !== undefined) return known.url
  const url = drawn(theme)
  made.set(theme, { url })
  return url
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
${sessionScript(place, document.session)?.tag}
</head>
<body data-page="${document.name}">
${document.body}
</body>
</html>
`

/** Four tiles, at the top of pages whose theme has no logo. */
const mark = html`<svg class="mark" viewBox="0 0 32 32" width="32" height="32" aria-hidden="true" focusable="false"><rect class="mark-tile" width="32" height="32" rx="7"/><g class="mark-dots"><rect x="7" y="7" width="8" height="8" rx="2"/><rect x="17" y="7" width="8" height="8" rx="2" opacity=".55"/><rect x="7" y="17" width="8" height="8" rx="2" opacity=".55"/><rect x="17" y="17" width="8" height="8" rx="2"/></g></svg>`

const logo = ({ dark, logo }: Theme): Html => {
  if (logo === undefined) return mark
  const picture = html`<img class="logo" src="${logo}" alt="" height="32">`
  return dark?.logo === undefined
    ? picture
    : html`<picture><source media="(prefers-color-scheme: dark)" srcset="${dark.logo}">${picture}</picture>`
}

const name = (place: Place): Html => html`${logo(place.theme)}<bdi>${place.name}</bdi>`

/** The workspace's name, as a link to the home page. */
export const brandLink = (place: Place): Html => html`<a class="brand" href="${place.base}/">${name(place)}</a>`

/** The frame of a page with one purpose; its head has no link. */
export const card = (place: Place, main: Html): Html =>
  html`<div class="stage">
<header class="stage-head"><span class="brand">${name(place)}</span></header>
<main class="card">
${main}
</main>
</div>`
