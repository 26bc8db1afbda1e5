import type { Parameters } from "../http/form.ts"
import type { Call, Services } from "../http/Route.ts"
import { attributes, type Html, html } from "../pages/Html.ts"
import { scopesOf } from "../workspace/Workspace.ts"

const fieldOf = (scope: string): string => `scope.${scope}`

/** The scopes that a form of this workspace offers. */
export const scopeNames = ({ policy }: Services, { workspace }: Call): ReadonlyArray<string> =>
  scopesOf(policy, workspace).map(({ name }) => name)

/** A tick for each scope, in a form of settings. */
export const scopeBoxes = (
  scopes: ReadonlyArray<string>,
  ticked: ReadonlyArray<string>,
  hint?: string
): Html => html`<fieldset class="choices"${attributes({ "aria-describedby": hint === undefined ? undefined : "scopes-hint" })}>
<legend class="label">Scopes</legend>
${scopes.map((name) => {
  const id = fieldOf(name)
  return html`<div class="check">
<input id="${id}" name="${id}" type="checkbox" value="yes"${attributes({ checked: ticked.includes(name) })}>
<label for="${id}"><code>${name}</code></label>
</div>
`
})}${hint !== undefined && html`<p class="hint" id="scopes-hint">${hint}</p>`}</fieldset>`

/** Those of these scopes that were ticked. */
export const tickedScopes = (scopes: ReadonlyArray<string>, form: Parameters): ReadonlyArray<string> =>
  scopes.filter((scope) => form.get(fieldOf(scope)) === "yes")
