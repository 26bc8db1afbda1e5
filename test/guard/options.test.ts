import { describe, expect, test } from "bun:test"
import { BadGuardOption, type RemoteGuardOptions, remoteGuard } from "../../runtimes/guard/Guard.ts"

const good: RemoteGuardOptions = {
  issuer: "https://auth.example",
  apiKey: "tsr_ak_do-not-tell-anybody",
  resource: "https://api.example"
}

const wrong: ReadonlyArray<readonly [option: string, over: object]> = [
  ["issuer", { issuer: "http://auth.example" }],
  ["issuer", { issuer: "nowhere" }],
  ["issuer", { issuer: "https://auth.example/" }],
  ["apiKey", { apiKey: "" }],
  ["apiKey", { apiKey: undefined }],
  ["apiKey", { apiKey: "tsr_ak_do-not-tell-anybody\r\nx: y" }],
  ["resource", { resource: "http://api.example" }],
  ["introspectionEndpoint", { introspectionEndpoint: "http://auth.example/oauth/introspect" }],
  ["introspectionEndpoint", { introspectionEndpoint: "https://me:secret@auth.example/oauth/introspect" }],
  ["cache.ttl", { cache: { ttl: "soon" } }],
  ["cache.negativeTtl", { cache: { negativeTtl: -1 } }],
  ["cache.maxEntries", { cache: { maxEntries: 0 } }],
  ["timeout", { timeout: 0 }],
  ["questionsAtOnce", { questionsAtOnce: 0 }],
  ["questionsAtOnce", { questionsAtOnce: 1.5 }],
  ["questionsAtOnce", { questionsAtOnce: Number.NaN }]
]

describe("an option of a remote guard that cannot be", () => {
  for (const [index, [option, over]] of wrong.entries()) {
    test(`is refused by its name: ${option} (${index + 1})`, () => {
      let refused: unknown
      try {
        // Wrong on purpose: the types would not let some of it through.
        remoteGuard({ ...good, ...over } as RemoteGuardOptions)
      } catch (error) {
        refused = error
      }
      if (!(refused instanceof BadGuardOption)) throw new Error("it was not refused")
      expect(refused.option).toBe(option)
      expect(refused.message).toStartWith(`remoteGuard: ${option} `)
      expect(`${refused.message} ${refused.stack}`).not.toContain("do-not-tell-anybody")
    })
  }

  test("and the rest is taken", () => {
    remoteGuard(good)
    remoteGuard({ ...good, issuer: "http://127.0.0.1:3000/auth", resource: "http://localhost:4000/api" })
  })
})
