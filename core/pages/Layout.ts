import type { Document } from "./Document.ts"
import { type Html, html, stylesheetTag } from "./Html.ts"
import { iconOf } from "./icon.ts"
import type { Place } from "./Place.ts"
import { stylesheetOf } from "./stylesheet.ts"
import type { Theme } from "./Theme.ts"

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
