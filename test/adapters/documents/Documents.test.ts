import { expect, test } from "bun:test"
import { rootCertificates } from "node:tls"
import { Effect, Fiber, Logger, Result } from "effect"
import { layer, readAllowList } from "../../../adapters/documents/Documents.ts"
import { Documents } from "../../../core/ports/Documents.ts"

const limits = { longest: 1000, within: 5000, freshFor: { least: 60_000, most: 60_000 } }
const allow = Result.getOrThrow(readAllowList(["keys.example"]))

const comes = (documents: Documents["Service"], address: string) =>
  Effect.match(documents.fetch(address, limits), {
    onFailure: ({ reason }): string => reason,
    onSuccess: ({ body }) => body
  })

const within = (
  body: (documents: Documents["Service"]) => Effect.Effect<void>,
  options?: Parameters<typeof layer>[0]
) =>
  Effect.runPromise(
    Effect.flatMap(Documents, body).pipe(Effect.provide(layer(options)), Effect.provide(Logger.layer([])))
  )

test("lets nothing private in where nothing is said, and who goes away meanwhile ends nothing for others", () =>
  within((documents) =>
    Effect.gen(function* () {
      const first = yield* Effect.forkChild(comes(documents, "https://127.0.0.1/keys"), { startImmediately: true })
      const second = yield* Effect.forkChild(comes(documents, "https://[::1]/keys"), { startImmediately: true })
      yield* Fiber.interrupt(first)
      expect(yield* Fiber.join(second)).toBe("address_refused")
      expect(yield* comes(documents, "http://keys.example/keys")).toBe("bad_address")
    })
  ))

test("goes by fetch on Workers, and there to named hosts alone", async () => {
  const { fetch, navigator } = globalThis
  const asked: Array<string> = []
  const answering = async (url: string) => {
    asked.push(url)
    return new Response("{}", { headers: { "content-type": "application/json" } })
  }
  Object.defineProperty(globalThis, "navigator", { value: { userAgent: "Cloudflare-Workers" }, configurable: true })
  Object.defineProperty(globalThis, "fetch", { value: answering, configurable: true, writable: true })
  try {
    await within(
      (documents) =>
        Effect.gen(function* () {
          expect(yield* comes(documents, "https://keys.example/keys")).toBe("{}")
          expect(yield* comes(documents, "https://other.example/keys")).toBe("address_refused")
          expect(asked).toEqual(["https://keys.example/keys"])
        }),
      { allow, ca: undefined }
    )
    // Who vouches for them, no fetch can be told: it is said before the first would fail.
    await expect(within(() => Effect.void, { allow, ca: rootCertificates[0] })).rejects.toThrow(TypeError)
  } finally {
    Object.defineProperty(globalThis, "navigator", { value: navigator, configurable: true })
    Object.defineProperty(globalThis, "fetch", { value: fetch, configurable: true, writable: true })
  }
})
