import { describe, expect, test } from "bun:test"
import { safeReturnUrl } from "../../../core/http/returnUrl.ts"
import { theWorkspace } from "../../given/World.ts"

describe("an address to return to that was encoded again and again", () => {
  const layered = (times: number) => `/settings%${"25".repeat(times)}2f`

  test("leads to the settings where it hides something, and where finding out would take a look for each time", () => {
    for (const times of [0, 1, 2, 3, 10, 4000]) {
      const hidden = `/settings%${"25".repeat(times)}2f%${"25".repeat(times)}2fevil.example`
      expect(safeReturnUrl(theWorkspace, hidden)).toBe("/settings")
    }
    expect(safeReturnUrl(theWorkspace, layered(4000))).toBe("/settings")
  })

  test("leads where it says if it was encoded once, as honest ones are", () => {
    for (const path of ["/oauth/authorize?state=%25252525252f", "/files/100%25"]) {
      expect(safeReturnUrl(theWorkspace, path)).toBe(path)
    }
  })
})
