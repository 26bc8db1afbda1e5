import { describe, expect, test } from "bun:test"
import { createHash } from "node:crypto"
import { page } from "../../core/pages/pageAnswer.ts"
import { Colour, Logo, type Theme } from "../../core/workspace/Theme.ts"
import { gallery, placeFor } from "./gallery.ts"

const place = placeFor((text) => text)
const documents = [...gallery()]
const settings = documents.filter(([name]) => name.startsWith("settings-"))

const answerOf = (name: string, theme: Theme = place.theme) => {
  const document = gallery((text) => text, theme).get(name)
  if (document === undefined) throw new Error(`no page ${name}`)
  return page(200, document, { place: { ...place, theme } })
}

const header = (answer: ReturnType<typeof page>, name: string): string | undefined =>
  answer.headers.find(([given]) => given === name)?.[1]

const sourceOfStyle = (body: string): string => {
  const style = /<style>([\s\S]*?)<\/style>/.exec(body)?.[1] ?? ""
  expect(style.length).toBeGreaterThan(1000)
  return `'sha256-${createHash("sha256").update(style, "utf8").digest("base64")}'`
}

describe("the policy", () => {
  test.each(documents)("%s admits exactly the style sheet that it carries, and nothing else", (_, document) => {
    const answer = page(200, document, { place })
    const directives = (header(answer, "content-security-policy") ?? "").split("; ")
    const expected = [
      "default-src 'none'",
      `style-src ${sourceOfStyle(answer.body)}`,
      "img-src data:",
      "base-uri 'none'",
      "frame-ancestors 'none'"
    ]
    expect(directives.filter((directive) => !directive.startsWith("form-action"))).toEqual(expected)
  })

  test("another theme has a hash of its own that fits too", () => {
    const theme: Theme = { accent: Colour.make("#ff6600"), logo: Logo.make("/brand/logo.svg") }
    const answer = answerOf("login", theme)
    const policy = header(answer, "content-security-policy") ?? ""
    expect(policy).toContain(`style-src ${sourceOfStyle(answer.body)};`)
    expect(policy).toContain("img-src data: 'self';")
    expect(sourceOfStyle(answer.body)).not.toBe(sourceOfStyle(answerOf("login").body))
    expect(answer.body).toContain(`src="/brand/logo.svg"`)
  })

  test("forms end here, except where the answer to one leads to a client", () => {
    const leadsAway = documents
      .filter(
        ([, document]) =>
          !(header(page(200, document, { place }), "content-security-policy") ?? "").includes("form-action 'self'")
      )
      .map(([name]) => name)
    expect(leadsAway).toEqual([
      "login",
      "login-problem",
      "login-late",
      "login-signed-in",
      "consent",
      "consent-loopback",
      "consent-resources",
      "consent-app",
      "consent-document",
      "consent-device",
      "consent-unacknowledged",
      "consent-places",
      "consent-places-problem",
      "consent-places-many",
      "consent-hostile",
      "device",
      "device-linked",
      "device-wrong",
      "end-session",
      "end-session-application"
    ])
  })
})

describe("the headers", () => {
  test.each(documents)("%s is not framed, stored, sniffed or referred from", (_, document) => {
    const answer = page(403, document, {
      place,
      headers: [
        ["set-cookie", "a=1"],
        ["set-cookie", "b=2"]
      ]
    })
    expect(answer.status).toBe(403)
    expect(header(answer, "content-type")).toBe("text/html; charset=utf-8")
    expect(header(answer, "x-frame-options")).toBe("DENY")
    expect(header(answer, "cross-origin-resource-policy")).toBe("same-origin")
    expect(header(answer, "referrer-policy")).toBe("no-referrer")
    expect(header(answer, "cache-control")).toBe("no-store")
    expect(header(answer, "x-content-type-options")).toBe("nosniff")
    expect(answer.headers.filter(([name]) => name === "set-cookie")).toHaveLength(2)
  })

  test("settings are cut off from their opener; sign-in and consent in a pop-up are not", () => {
    for (const [, document] of settings) {
      expect(header(page(200, document, { place }), "cross-origin-opener-policy")).toBe("same-origin")
    }
    expect(header(answerOf("consent"), "cross-origin-opener-policy")).toBeUndefined()
    expect(header(answerOf("login"), "cross-origin-opener-policy")).toBeUndefined()
  })

  test("a page about a limit says when to come back", () => {
    expect(header(answerOf("rate-limited"), "retry-after")).toBe("200")
    expect(answerOf("rate-limited").body).toContain("Wait 4 minutes")
  })
})
