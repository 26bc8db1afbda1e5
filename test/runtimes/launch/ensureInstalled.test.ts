import { describe, expect, test } from "bun:test"
import { isCurrent } from "../../../runtimes/launch/ensureInstalled.mjs"

const wanted = {
  "": { version: "0.1.0" },
  "node_modules/a": { version: "1.0.0", integrity: "sha512-a" },
  "node_modules/elsewhere": { version: "1.0.0", integrity: "sha512-e", optional: true }
}

const present = { "node_modules/a": { version: "1.0.0", integrity: "sha512-a" } }

describe("node_modules is what the lock file says", () => {
  test("when every package is there, those for other platforms aside", () => {
    expect(isCurrent(wanted, present)).toBe(true)
  })

  test("unless npm has never been here", () => {
    expect(isCurrent(wanted, undefined)).toBe(false)
  })

  test("unless a package is missing, of another version or of other content", () => {
    expect(isCurrent(wanted, {})).toBe(false)
    expect(isCurrent(wanted, { "node_modules/a": { version: "1.0.1", integrity: "sha512-a" } })).toBe(false)
    expect(isCurrent(wanted, { "node_modules/a": { version: "1.0.0", integrity: "sha512-b" } })).toBe(false)
  })

  test("unless an optional package is there in another version", () => {
    const older = { ...present, "node_modules/elsewhere": { version: "0.9.0", integrity: "sha512-d" } }
    expect(isCurrent(wanted, older)).toBe(false)
  })
})
