import { type Html, html } from "../Html.ts"

/** A secret on the only page that ever shows it. Reached by Tab it is selected as a whole, and a click can't edit it. */
export const shownOnce = (of: {
  readonly title: string
  readonly label: string
  readonly secret: string
  readonly advice: Html
}): Html => html`<section class="panel once" role="status" aria-labelledby="once-title">
<h2 id="once-title">${of.title}</h2>
<div class="field">
<label for="once">${of.label}</label>
<input id="once" class="mono" type="text" value="${of.secret}" readonly autocomplete="off" spellcheck="false" aria-describedby="once-advice">
<p class="hint" id="once-advice">${of.advice}</p>
</div>
</section>`
