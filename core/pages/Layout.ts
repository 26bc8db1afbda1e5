import type { Document } from "./Document.ts"
import { type Html, html, stylesheetTag } from "./Html.ts"
import type { Place } from "./Place.ts"
import { stylesheetOf } from "./stylesheet.ts"

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
<link rel="icon" href="data:image/svg+xml;base64,PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIHZpZXdCb3g9IjAgMCAzMiAzMiI+PHJlY3Qgd2lkdGg9IjMyIiBoZWlnaHQ9IjMyIiByeD0iNyIgZmlsbD0iIzNhNGZjNCIvPjxnIGZpbGw9IiNmZmYiPjxyZWN0IHg9IjciIHk9IjciIHdpZHRoPSI4IiBoZWlnaHQ9IjgiIHJ4PSIyIi8+PHJlY3QgeD0iMTciIHk9IjciIHdpZHRoPSI4IiBoZWlnaHQ9IjgiIHJ4PSIyIiBvcGFjaXR5PSIuNTUiLz48cmVjdCB4PSI3IiB5PSIxNyIgd2lkdGg9IjgiIGhlaWdodD0iOCIgcng9IjIiIG9wYWNpdHk9Ii41NSIvPjxyZWN0IHg9IjE3IiB5PSIxNyIgd2lkdGg9IjgiIGhlaWdodD0iOCIgcng9IjIiLz48L2c+PC9zdmc+">
${stylesheetTag(stylesheetOf(place.theme).css)}
</head>
<body>
${document.body}
</body>
</html>
`

/** Four tiles: in the tab, and at the top where the theme has no logo. */
const mark = html`<svg class="mark" viewBox="0 0 32 32" width="32" height="32" aria-hidden="true" focusable="false"><rect class="mark-tile" width="32" height="32" rx="7"/><g class="mark-dots"><rect x="7" y="7" width="8" height="8" rx="2"/><rect x="17" y="7" width="8" height="8" rx="2" opacity=".55"/><rect x="7" y="17" width="8" height="8" rx="2" opacity=".55"/><rect x="17" y="17" width="8" height="8" rx="2"/></g></svg>`

const name = (place: Place): Html =>
  html`${place.theme.logo === undefined ? mark : html`<img class="logo" src="${place.theme.logo}" alt="" height="32">`}<bdi>${place.name}</bdi>`

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
