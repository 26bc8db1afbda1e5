import { Base64 } from "effect/encoding"
import { LruMap } from "../cache/LruMap.ts"
import { hashOf } from "../rules/Secret.ts"
import type { Font, Theme } from "../workspace/Theme.ts"
import { darkPalette, lightPalette, type Palette, schemeOf } from "./Palette.ts"

/** The style of every page. Colours come from the palette; none is named here. */
const styles = `
*,*::before,*::after{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0;min-height:100vh;min-height:100dvh;background:var(--canvas);color:var(--text);
font:1rem/1.5 var(--font);
overflow-wrap:anywhere;-webkit-font-smoothing:antialiased}
h1,h2,h3,p,ul,ol,dl,dd,form,fieldset{margin:0;padding:0;border:0}
h1{font-size:1.5rem;line-height:1.25;font-weight:650;letter-spacing:-.015em;text-wrap:balance}
h2{font-size:1.0625rem;line-height:1.4;font-weight:620;letter-spacing:-.005em}
h3{font-size:1rem;line-height:1.4;font-weight:600}
ul{list-style:none}
[hidden]{display:none!important}
a{color:var(--link);text-underline-offset:.18em;text-decoration-thickness:1px}
a:hover{text-decoration-thickness:2px}
strong,.name,.host{font-weight:600}
code,.mono{font-family:ui-monospace,SFMono-Regular,"SF Mono",Menlo,Consolas,"Liberation Mono",monospace;font-size:.875em}
:focus-visible{outline:2px solid var(--focus);outline-offset:2px;border-radius:calc(var(--radius)*.75)}
.visually-hidden:not(:focus):not(:active){position:absolute;width:1px;height:1px;margin:-1px;padding:0;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.hint,.optional{color:var(--muted);font-size:.875rem;font-weight:400}

.stage{display:flex;flex-direction:column;align-items:center;gap:24px;width:100%;max-width:492px;margin:0 auto;padding:clamp(32px,8vh,88px) 16px 48px}
.brand{display:inline-flex;align-items:center;gap:10px;color:var(--text);font-weight:620;text-decoration:none;letter-spacing:-.01em;max-width:100%}
.mark{flex:none;display:block;width:28px;height:28px}
.mark-tile{fill:var(--brand)}
.mark-dots{fill:var(--on-brand)}
.logo{flex:none;display:block;height:32px;width:auto;max-width:160px}
.card{width:100%;background:var(--surface);border:1px solid var(--line);border-radius:calc(var(--radius)*1.75);padding:32px;box-shadow:0 1px 2px rgb(0 0 0/.04),0 12px 32px -16px rgb(0 0 0/.12)}
h1 .name{padding:0 .2em;border:1px solid var(--line);border-radius:calc(var(--radius)*.75);background:var(--sunken);-webkit-box-decoration-break:clone;box-decoration-break:clone}
.card>*+*{margin-top:20px}
.card>h1+.lead{margin-top:6px}
.claim{margin-top:6px;color:var(--muted);overflow-wrap:anywhere}
.lead{color:var(--muted)}
.lead .name{color:var(--text)}
.prose>*+*{margin-top:12px}
.aside{color:var(--muted);font-size:.875rem}
.actions{margin-top:24px}

.field+.field,.field+.check,.check+.field{margin-top:16px}
.field+button,.field+.button,.field+.form-actions{margin-top:24px}
.field label,.label{display:block;margin-bottom:6px;font-size:.875rem;font-weight:560}
.field .hint{margin-top:6px}
.optional{margin-left:4px}
input,select{display:block;scroll-margin:80px 0;width:100%;min-height:44px;padding:9px 12px;color:var(--text);background:var(--surface);border:1px solid var(--edge);border-radius:var(--radius);font:inherit;line-height:1.5}
input::placeholder{color:var(--muted);opacity:1}
input[readonly]{background:var(--sunken)}
input:focus-visible,select:focus-visible{outline-offset:0;border-color:var(--focus);border-radius:var(--radius)}
[aria-invalid=true]{border-color:var(--danger);border-width:2px}
input[aria-invalid=true]{padding:8px 11px}
select[aria-invalid=true]{padding:8px 39px 8px 11px}
.field-problem{margin-top:6px;color:var(--danger);font-size:.875rem;font-weight:500}
select{appearance:none;padding-right:40px;background-image:linear-gradient(45deg,transparent 50%,currentColor 50%),linear-gradient(-45deg,transparent 50%,currentColor 50%);background-position:right 20px center,right 14px center;background-size:6px 5px;background-repeat:no-repeat}

.button{display:inline-flex;align-items:center;justify-content:center;min-height:44px;padding:9px 18px;border:1px solid var(--edge);border-radius:var(--radius);background:var(--surface);color:var(--text);font:inherit;font-weight:560;line-height:1.4;text-align:center;text-decoration:none;overflow-wrap:normal;max-width:100%;cursor:pointer}
.button:hover{background:var(--sunken)}
.primary{background:var(--brand);border-color:transparent;color:var(--on-brand)}
.primary:hover{background:var(--brand-hover)}
.danger{color:var(--danger)}
.danger:not(.small){border-color:var(--danger)}
.danger:hover{background:var(--danger-wash)}
.wide{width:100%;overflow-wrap:anywhere}
.quiet-link{flex:none;font-size:.875rem;padding:12px 0}

.notice{padding:12px 14px;border-radius:var(--radius);border:1px solid transparent;font-size:.9375rem}
.notice-problem{background:var(--danger-wash);color:var(--danger);border-color:var(--danger)}
.notice-done{background:var(--good-wash);color:var(--good);border-color:var(--good)}
.notice-caution{background:var(--notice-wash);color:var(--notice)}

.terms{border:1px solid var(--line);border-radius:calc(var(--radius)*1.25)}
.terms>div{display:grid;grid-template-columns:minmax(0,1fr) auto;gap:0 16px;align-items:center;min-height:48px;padding:8px 14px}
.terms>div+div{border-top:1px solid var(--line)}
.terms dt{grid-column:1/-1;color:var(--muted);font-size:.875rem}
.terms dd{font-weight:560;font-size:.9375rem}
.terms .host{font-weight:650}
.terms>div:not(:has(.terms-aside))>dd{grid-column:1/-1}
.user-code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;letter-spacing:.06em;white-space:nowrap}
.qr{display:block;width:min(100%,260px);height:auto;margin:24px auto 0;border-radius:var(--radius)}
.permissions{display:grid;gap:12px}
.card>h2+.permissions{margin-top:12px}
.permissions li{display:flex;gap:12px}
.permissions .hint{display:block;margin-top:2px}
.tick{flex:none;width:8px;height:14px;margin:3px 4px 0 5px;border:solid var(--good);border-width:0 2px 2px 0;transform:rotate(42deg)}
.scope{padding:1px 6px;border-radius:calc(var(--radius)*.625);background:var(--sunken);color:var(--muted);display:inline-block;max-width:100%}
.card>.decide{margin-top:28px}
.decide{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,8rem),1fr));gap:12px}

.check{grid-column:1/-1;display:grid;grid-template-columns:auto minmax(0,1fr);gap:4px 12px;align-items:center;min-height:44px}
.check input{width:22px;height:22px;min-height:0;margin:0;padding:0;accent-color:var(--brand)}
.check .field-problem{grid-column:2;margin:0}
.choices{display:flex;flex-wrap:wrap;gap:0 28px;grid-column:1/-1;min-width:0}
.choices .label{padding:0;margin-bottom:0}
.choices .hint{flex-basis:100%}

.places{grid-column:1/-1;display:grid;grid-template-columns:minmax(0,1fr);gap:8px;min-width:0}
.places legend{padding:0;margin-bottom:8px;font-weight:650}
.places .field-problem,.places .hint{margin:0}
.places .search .hint{margin-top:6px}
.choice{display:grid;grid-template-columns:auto minmax(0,1fr);gap:0 12px;align-items:center;min-height:48px;padding:0 14px;border:1px solid var(--line);border-radius:var(--radius)}
.choice:has(:checked){border-color:var(--brand)}
.choice input{width:22px;height:22px;min-height:0;margin:0;padding:0;accent-color:var(--brand)}
.choice label{padding:11px 0;cursor:pointer}
.choice .hint{display:block}

.fold{border:1px solid var(--line);border-radius:calc(var(--radius)*1.25)}
summary{cursor:pointer}
.fold>summary{padding:11px 14px;font-size:.9375rem;font-weight:560;border-radius:calc(var(--radius)*1.25)}
.fold-body{padding:0 14px 14px;font-size:.9375rem}
.fold-body>*+*{margin-top:12px}
.facts{display:grid;gap:10px}
.facts dt{color:var(--muted);font-size:.8125rem}

.bar{background:var(--surface);border-bottom:1px solid var(--line)}
.bar-inner{display:flex;align-items:center;justify-content:space-between;gap:16px;max-width:1040px;margin:0 auto;padding:12px 24px;min-height:64px}
.bar .brand{min-height:40px}
.who{display:flex;align-items:center;gap:14px;min-width:0}
.who-name{color:var(--muted);font-size:.875rem;min-width:0;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.small{min-height:36px;padding:5px 12px;font-size:.875rem;border-color:var(--line)}
.skip{position:absolute;left:16px;top:-80px;z-index:3;padding:12px 16px;background:var(--surface);border:1px solid var(--edge);border-radius:var(--radius)}
.skip:focus{top:12px}
.frame{display:grid;grid-template-columns:200px minmax(0,1fr);gap:48px;max-width:1040px;margin:0 auto;padding:40px 24px 96px}
.sections ul{display:grid;gap:2px;position:sticky;top:24px}
.sections a{display:flex;align-items:center;min-height:40px;padding:6px 12px;border-radius:var(--radius);color:var(--muted);text-decoration:none;font-size:.9375rem;font-weight:500}
.sections a:hover{background:var(--sunken);color:var(--text)}
.sections a[aria-current]{background:var(--surface);color:var(--text);box-shadow:0 0 0 1px var(--line),0 1px 2px rgb(0 0 0/.05);font-weight:600}
.content{outline:0}
.content>*+*{margin-top:32px}
.heading h1{font-size:1.625rem}
.heading .lead{margin-top:6px;max-width:60ch}
.content section>h2{margin-bottom:12px}
.content section>h2:has(+.hint){margin-bottom:4px}
.content section>h2+.hint{margin-bottom:12px}
.panel{background:var(--surface);border:1px solid var(--line);border-radius:calc(var(--radius)*1.5)}.panel+.panel{margin-top:16px}
.padded{padding:24px}
.form-actions{display:flex;flex-wrap:wrap;gap:12px;margin-top:20px}
.inline-form{display:grid;grid-template-columns:minmax(0,1.6fr) minmax(0,1fr);gap:16px}
.inline-form .field+.field,.inline-form .form-actions{margin-top:0}
.inline-form .form-actions{grid-column:1/-1}
.empty{padding:40px 24px;text-align:center}
.empty p{margin:4px auto 0;max-width:44ch}
.once{padding:24px;border-color:var(--good);box-shadow:0 0 0 3px var(--good-wash)}
.once .field{margin-top:12px}
.once input{font-size:.875rem;text-overflow:ellipsis}
.row{display:grid;grid-template-columns:minmax(0,1fr) auto;gap:4px 24px;align-items:start;padding:18px 24px 20px}
.row+.row{border-top:1px solid var(--line)}
.row-head{padding-top:6px}.row-head .hint{line-height:1.3}
.row-body{grid-column:1/-1}
.row-facts{display:grid;grid-template-columns:repeat(auto-fill,minmax(7.75rem,1fr));gap:10px 24px;margin-top:6px;font-size:.875rem}
.row-facts dt{color:var(--muted);font-size:.8125rem}
.row-facts time{display:inline-block}
.row-facts dd>time:first-child::first-letter{text-transform:uppercase}
.may{display:grid;gap:6px;margin-top:12px;padding-left:1.1em;list-style:disc;font-size:.875rem}
.may li::marker{color:var(--edge)}
.row-actions{display:flex;flex:none;gap:8px}
.badge{display:inline-block;padding:1px 8px;border:1px solid var(--line);border-radius:99px;background:var(--sunken);color:var(--muted);font-size:.75rem;font-weight:600;vertical-align:.1em}
.badge-danger{background:var(--danger-wash);border-color:var(--danger);color:var(--danger)}
.confirm{position:relative}
.confirm>summary{list-style:none}
.confirm>summary::-webkit-details-marker{display:none}
.confirm[open]>summary{background:var(--sunken)}
.confirm-body{position:absolute;right:0;top:calc(100% + 8px);z-index:2;width:300px;padding:16px;background:var(--surface);border:1px solid var(--edge);border-radius:calc(var(--radius)*1.5);box-shadow:0 12px 32px -8px rgb(0 0 0/.28);font-size:.9375rem}
.confirm-body .button{margin-top:14px}
.plain{font-weight:560}
.search label{display:block;margin-bottom:6px;font-size:.875rem;font-weight:560}
.who .button,.search-line .button,.sign-out .button{flex:none}
.search-line{display:flex;flex-wrap:wrap;gap:8px}
.search-line input{flex:1 1 10rem;width:auto;min-width:0}
.pager{display:flex;gap:8px;justify-content:flex-end;margin-top:16px}
.sign-out{display:flex;align-items:center;justify-content:space-between;gap:12px}

@media (max-width:1020px){.inline-form{grid-template-columns:minmax(0,1fr)}}
@media (max-width:800px){.frame{grid-template-columns:minmax(0,1fr);gap:24px;padding:16px 16px 64px}.bar-inner{padding:12px 16px}
.sections{border-bottom:1px solid var(--line);padding-bottom:12px}.sections ul{display:flex;flex-wrap:wrap;gap:4px;position:static}.sections a{min-height:44px;padding:6px 8px;font-size:.875rem}}
@media (max-width:600px){.row{grid-template-columns:minmax(0,1fr);padding:16px}.row-head{padding:0}.row-facts{grid-template-columns:minmax(0,1fr);gap:4px}.row-facts>div{display:grid;grid-template-columns:minmax(0,7rem) minmax(0,1fr);gap:12px;align-items:baseline}.row-actions{order:1;margin-top:12px}.row-actions{flex-wrap:wrap;width:100%}.small{min-height:44px;padding:9px 16px}
.confirm[open]{flex-basis:100%}.confirm-body{position:static;width:auto;margin-top:8px;box-shadow:none}.padded,.once{padding:20px 16px}.form-actions .button{width:100%}.who-name{display:none}}
@media (min-width:601px){.row-facts:has(>:nth-child(5)){grid-template-columns:repeat(auto-fill,minmax(7.25rem,1fr))}.row:has(>.row-actions>:nth-child(4)){grid-template-columns:minmax(0,1fr)}.row-actions:has(>:nth-child(4)){position:relative;flex-wrap:wrap;justify-content:flex-end}.row-actions:has(>:nth-child(4)) .confirm{position:static}}
@media (max-width:480px){.stage{padding-top:24px;gap:16px}.card{padding:24px 20px}}
@media (prefers-reduced-motion:no-preference){.button,input,select{transition:background-color .12s,border-color .12s}}
@media (prefers-contrast:more){:root{--line:var(--edge);--edge:var(--text);--muted:var(--text)}}
@media (forced-colors:active){.sections a[aria-current]{outline:2px solid}.card,.badge,.panel,.notice,.button,.terms,.scope,.fold{border:1px solid}select{appearance:auto}.tick{border-color:CanvasText}.mark-tile{fill:CanvasText}.mark-dots{fill:Canvas}}
@media print{.stage{padding-top:0}.card{box-shadow:none}form:not(.who),.who .button,.quiet-link,.sections,.row-actions,.pager,.skip,.content section:has(>form){display:none}body{background:none}.frame{display:block;padding:24px 0}}
`

interface Stylesheet {
  readonly css: string
  /** Its source in the policy: `'sha256-…'`. */
  readonly source: string
}

const kebab = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

const variables = (palette: Palette): string =>
  Object.entries(palette)
    .map(([name, colour]) => `--${kebab(name)}:${colour};`)
    .join("")

const scheme = (palette: Palette): string => `color-scheme:${schemeOf(palette)};${variables(palette)}`

const generic = new Set(
  "serif sans-serif monospace system-ui ui-serif ui-sans-serif ui-monospace ui-rounded -apple-system".split(" ")
)

/** For the stylesheet: names in quotes unless they are keywords, then the default fonts. */
const familiesOf = (font: Font | undefined): string =>
  [
    ...(font === undefined ? [] : font.split(",").map((name) => name.trim())).map((name) =>
      generic.has(name) ? name : `"${name}"`
    ),
    standard
  ].join(",")

const standard = 'system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue","Noto Sans",Arial,sans-serif'

const make = (theme: Theme): Stylesheet => {
  const [bright, dim] = [lightPalette(theme), darkPalette(theme)]
  const shape = `--radius:${theme.radius ?? 8}px;--font:${familiesOf(theme.font)};`
  const css = [
    `:root{${scheme(bright)}${shape}}`,
    `@media (prefers-color-scheme:dark){:root{${scheme(dim)}}}`,
    `@media print{:root{${scheme(lightPalette({}))}}}`,
    styles
  ].join("\n")
  return { css, source: `'sha256-${Base64.encode(hashOf(css))}'` }
}

/** Of as many themes at once: each has 20 KB, and thousands of workspaces may have one of their own. */
const themesKept = 256

const made = new LruMap<Theme, Stylesheet>(themesKept)

/** Cached by theme, with its hash. */
export const stylesheetOf = (theme: Theme): Stylesheet => {
  const known = made.get(theme)
  if (known !== undefined) return known
  const sheet = make(theme)
  made.set(theme, sheet)
  return sheet
}
