import { attributes, type Html, html } from "./Html.ts"

/** What is wrong with a form, told beside the field of that name. */
export interface FieldProblem<Name extends string = string> {
  readonly field: Name
  readonly text: string
}

/** The problem, where it is this field's. */
export const problemAt = <Name extends string>(problem: FieldProblem<Name> | undefined, name: Name) =>
  problem?.field === name ? problem.text : undefined

/** An input with its label, hint and problem, connected for screen readers. */
export interface Field {
  readonly label: string
  readonly name: string
  /** Default: `text`. */
  readonly type?: "text" | "email" | "password"
  /** WCAG 1.3.5: the purpose of the field, for browsers and password managers. Default: `off`. */
  readonly autocomplete?: "username" | "email" | "name" | "current-password" | "new-password" | "off"
  readonly value?: string | undefined
  readonly hint?: string | undefined
  readonly problem?: string | undefined
  readonly optional?: boolean
  readonly readonly?: boolean
  /** Default: where it has a problem. */
  readonly autofocus?: boolean
  readonly minlength?: number
  readonly maxlength?: number
}

/** What stands below an input or a choice, and how that points to it. */
const below = (id: string, hint: string | Html | undefined, problem: string | undefined) => {
  const hintId = hint === undefined ? undefined : `${id}-hint`
  const problemId = problem === undefined ? undefined : `${id}-problem`
  const described = [problemId, hintId].filter((part) => part !== undefined).join(" ")
  return {
    pointers: {
      "aria-invalid": problem === undefined ? undefined : "true",
      "aria-describedby": described === "" ? undefined : described
    },
    lines: html`${problem !== undefined && html`<p class="field-problem" id="${problemId}">${problem}</p>`}
${hint !== undefined && html`<p class="hint" id="${hintId}">${hint}</p>`}`
  }
}

export const field = (of: Field): Html => {
  const { autocomplete = "off", autofocus = of.problem !== undefined, name, type = "text" } = of
  const { lines, pointers } = below(name, of.hint, of.problem)
  const plain = type === "text"
  // Type text: with type email, browsers refuse addresses that are not ASCII, or change their domain.
  const isEmail = type === "email"
  return html`<div class="field">
<label for="${name}">${of.label}${of.optional === true && html` <span class="optional">optional</span>`}</label>
<input id="${name}" name="${name}" type="${isEmail ? "text" : type}"${attributes({
    inputmode: isEmail ? "email" : undefined,
    value: of.value,
    autocomplete,
    autocapitalize: plain ? undefined : "none",
    spellcheck: plain ? undefined : "false",
    required: of.optional !== true,
    readonly: of.readonly,
    autofocus,
    minlength: of.minlength,
    maxlength: of.maxlength,
    ...pointers
  })}>
${lines}
</div>`
}

/** A choice of one of several, like a `field`. */
export const choiceField = (of: {
  readonly label: string
  readonly name: string
  readonly options: ReadonlyArray<readonly [value: string, words: string]>
  readonly chosen: string
  readonly hint?: string | Html
  readonly problem?: string | undefined
}): Html => {
  const { lines, pointers } = below(of.name, of.hint, of.problem)
  return html`<div class="field">
<label for="${of.name}">${of.label}</label>
<select id="${of.name}" name="${of.name}"${attributes({ autofocus: of.problem !== undefined, ...pointers })}>${of.options.map(
    ([value, words]) => html`<option value="${value}"${attributes({ selected: value === of.chosen })}>${words}</option>`
  )}</select>
${lines}
</div>`
}

/** Hidden fields of a form. */
export const hidden = (fields: Readonly<Record<string, string | undefined>>): Html =>
  html`${Object.entries(fields).map(
    ([name, value]) => value !== undefined && html`<input type="hidden" name="${name}" value="${value}">`
  )}`
