import { describe, expect, spyOn, test } from "bun:test"
import { Result } from "effect"
import { isJson, readForm, readParameters, repeatedParameter } from "../../core/http/form.ts"
import { InvalidRequest } from "../../core/rules/Refusal.ts"
import { formHeaders } from "../given/flow.ts"
import { requestOf } from "../given/World.ts"

const typed = (type: string | undefined, body = "") =>
  requestOf("POST", "/", { body, headers: type === undefined ? {} : { "content-type": type } })

describe("parameters (RFC 6749 §3.1)", () => {
  test("are form-decoded, each once, and one without a value was not sent", () => {
    const { parameters, repeated } = readParameters("a=1&b=x+y%2Bz&c=&d&%65=%E4%BD%A0")
    expect(Object.fromEntries(parameters)).toEqual({ a: "1", b: "x y+z", e: "你" })
    expect(repeated.size).toBe(0)
  })

  test("that repeat are named, each once, and the first value stands", () => {
    const { parameters, repeated } = readParameters("a=1&a=2&b=1&b=1&a=3&c=1")
    expect([...repeated]).toEqual(["a", "b"])
    expect(parameters.get("a")).toBe("1")
  })

  test("may repeat without a value, which says nothing", () => {
    const { parameters, repeated } = readParameters("a=&a=1&a=&b=&b=")
    expect([[...repeated], parameters.get("a"), parameters.has("b")]).toEqual([["a"], "1", false])
  })

  for (const [what, text] of [
    ["ampersands", "&"],
    ["names without a value", "a&"],
    ["values without a name", "=&"],
    ["escapes", "%41&"]
  ] as const) {
    test(`are looked for in each character once or twice, also among ${what} alone`, () => {
      const body = text.repeat(65_536 / text.length)
      const indexOf = spyOn(String.prototype, "indexOf")
      readParameters(body)
      const looked = indexOf.mock.calls.map(([, from = 0], at) => {
        const found = indexOf.mock.results[at]?.value
        return (found === -1 ? body.length : Number(found) + 1) - from
      })
      indexOf.mockRestore()
      expect(looked.length).toBeGreaterThan(0)
      expect(looked.reduce((sum, one) => sum + one)).toBeLessThanOrEqual(2 * body.length)
    })
  }

  test("are told repeated by name, in the characters that an error_description may have, and briefly", () => {
    const named = (...names: ReadonlyArray<string>) => repeatedParameter(new Set(names)).message.split(": ")[1]
    expect(named("scope", "a.b-c_d")).toBe("scope, a.b-c_d.")
    expect(named('"<\\ä\n')).toBe("?????.")
    expect(named("x".repeat(65))).toBe(`${"x".repeat(64)}.`)
    expect(repeatedParameter(new Set(["a"])).reason).toBe("repeated_parameter")
  })
})

describe("a form", () => {
  test("is known by its media type, whatever its case and parameters", () => {
    for (const type of [
      "application/x-www-form-urlencoded",
      "application/x-www-form-urlencoded; charset=UTF-8",
      "Application/X-WWW-Form-Urlencoded ;charset=utf-8"
    ]) {
      expect(Result.map(readForm(typed(type, "a=1")), (read) => read.get("a"))).toEqual(Result.succeed("1"))
    }
    for (const type of [undefined, "", "application/json", "text/plain", "x; application/x-www-form-urlencoded"]) {
      expect(readForm(typed(type, "a=1"))).toEqual(
        Result.fail(
          new InvalidRequest({
            reason: "wrong_content_type",
            message: "The body has to be application/x-www-form-urlencoded."
          })
        )
      )
    }
  })

  test("is refused with a repeated parameter", () => {
    const read = readForm(requestOf("POST", "/", { headers: formHeaders, body: "a=1&a=1" }))
    expect(Result.isFailure(read) && read.failure.reason).toBe("repeated_parameter")
  })
})

describe("JSON", () => {
  test("is known by its media type", () => {
    expect(isJson(typed("application/json"))).toBe(true)
    expect(isJson(typed(" APPLICATION/json ; charset=utf-8"))).toBe(true)
    for (const type of [undefined, "application/jsonx", "application/x-www-form-urlencoded"]) {
      expect(isJson(typed(type))).toBe(false)
    }
  })
})
