import { describe, expect, test } from "bun:test"
import { render } from "../../core/pages/Html.ts"
import { gallery } from "./gallery.ts"

// Screen readers begin a page with its title, and pass over what is a live region from the start.
describe("a title says what the form before it came to", () => {
  test.each([...gallery()].filter(([name]) => !name.startsWith("error-")))("%s", (_, { body, title }) => {
    const text = render(body)
    const problem = /role="alert"|aria-invalid="true"/.test(text)
    const done = / role="status"/.test(text)
    expect([title.startsWith("Problem: "), title.startsWith("Done: ")]).toEqual([problem, done && !problem])
  })
})
