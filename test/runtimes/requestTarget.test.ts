import { describe, expect, test } from "bun:test"
import { drawFrom } from "../../core/testing/Draw.ts"
import { readTarget } from "../../runtimes/requestTarget.ts"

const pieces = [
  "/",
  "//",
  "a",
  ".",
  "..",
  "%2e",
  "%2E%2e",
  "%2F",
  "%zz",
  "%",
  "~",
  "é",
  "\\",
  '"',
  "<",
  "|",
  "^",
  "`",
  "{",
  ";a=b",
  "@",
  ":80",
  "\u0001",
  " "
] as const

describe("the target of a request", () => {
  test("is what the web's URL makes of it, whatever it is made of", () => {
    const seed = "request target"
    const draw = drawFrom(seed)
    for (let run = 0; run < 5000; run++) {
      const path = `/${Array.from({ length: draw.below(8) }, () => draw.oneOf(pieces)).join("")}`
      const target = draw.below(2) === 0 ? path : `${path}?a=${draw.oneOf(pieces)}&b`
      const read = readTarget(target)
      const url = `http://host${path}`
      expect({ seed, run, target, path: read?.path }).toEqual({
        seed,
        run,
        target,
        path: URL.canParse(url) ? new URL(url).pathname : undefined
      })
    }
  })

  test.each([
    ["/a?b=c?d#e?f", { path: "/a", query: "b=c?d" }],
    ["/a#b?c", { path: "/a", query: "" }],
    ["/a?", { path: "/a", query: "" }],
    ["/?%20+'\"<>", { path: "/", query: "%20+'\"<>" }],
    ["http://elsewhere.example/a?b", { path: "/a", query: "b" }],
    ["https://elsewhere.example", { path: "/", query: "" }],
    ["//evil.example/a", { path: "//evil.example/a", query: "" }]
  ])("%s is read as it is meant", (target, meant) => {
    expect(readTarget(target)).toEqual(meant)
  })

  test.each(["", "*", "a", "host:80", "ftp://a/b", "http://", "javascript:alert(1)"])("%p is none", (target) => {
    expect(readTarget(target)).toBeUndefined()
  })
})
