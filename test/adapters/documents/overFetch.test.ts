import { describe, expect, test } from "bun:test"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { makeDocuments } from "../../../adapters/documents/makeDocuments.ts"
import { exchangesOverFetch, type Fetch } from "../../../adapters/documents/overFetch.ts"

const limits = { longest: 1000, within: 5000, freshFor: { least: 60_000, most: 60_000 } }
const json = { "content-type": "application/json" }

interface Asked {
  readonly url: string
  readonly init: RequestInit
}

const fetching = (answer: (init: RequestInit) => Promise<Response>, asked: Array<Asked> = []) => {
  const fetch: Fetch = (url, init) => {
    asked.push({ url, init })
    return answer(init)
  }
  return Effect.map(makeDocuments(exchangesOverFetch(fetch), new Set(["keys.example:443"])), (documents) =>
    Effect.match(documents.fetch("https://keys.example/keys", limits), {
      onFailure: ({ reason }): string => reason,
      onSuccess: ({ body }) => body
    })
  )
}

const came = (answer: () => Response | Promise<Response>) =>
  Effect.runPromise(Effect.scoped(Effect.flatten(fetching(async () => answer()))))

const endless = () => {
  const part = new Uint8Array(256).fill(0x20)
  return new ReadableStream({ pull: (controller) => controller.enqueue(part) })
}

describe("over fetch, for Workers", () => {
  test("only hosts that were named are gone to, whatever their addresses are", async () => {
    const asked: Array<Asked> = []
    const fetch: Fetch = async (url, init) => {
      asked.push({ url, init })
      return new Response("{}", { headers: json })
    }
    const reasons = await Effect.runPromise(
      Effect.gen(function* () {
        const documents = yield* makeDocuments(exchangesOverFetch(fetch), new Set(["keys.example:443"]))
        const addresses = ["https://other.example/keys", "https://8.8.8.8/keys", "https://keys.example:8443/keys"]
        return yield* Effect.forEach(addresses, (address) => Effect.flip(documents.fetch(address, limits)))
      }).pipe(Effect.scoped)
    )
    expect(reasons.map(({ reason }) => reason)).toEqual(["address_refused", "address_refused", "address_refused"])
    expect(asked).toEqual([])
  })

  test("a request follows nothing and holds no credentials", async () => {
    const asked: Array<Asked> = []
    const fetched = fetching(async () => new Response("{}", { headers: json }), asked)
    expect(await Effect.runPromise(Effect.scoped(Effect.flatten(fetched)))).toBe("{}")
    expect(asked.map(({ url, init: { headers, redirect } }) => ({ url, headers, redirect }))).toEqual([
      {
        url: "https://keys.example/keys",
        headers: { accept: "application/json", "accept-encoding": "identity", "user-agent": "Tessera" },
        redirect: "manual"
      }
    ])
  })

  test("an answer is judged as anywhere", async () => {
    const redirect = { status: 302, headers: { location: "https://10.0.0.1/" } }
    expect(await came(() => new Response(null, redirect))).toBe("redirected")
    // As a browser has it, without a word of where it leads.
    const opaque = () =>
      Object.defineProperty(new Response("{}", { headers: json }), "type", { value: "opaqueredirect" })
    expect(await came(opaque)).toBe("redirected")
    expect(await came(() => new Response("{}", { status: 404, headers: json }))).toBe("status")
    expect(await came(() => new Response("{}", { headers: { "content-type": "text/html" } }))).toBe("not_json")
    expect(await came(() => new Response("{}", { headers: { ...json, "content-encoding": "gzip" } }))).toBe("not_json")
    expect(await came(() => new Response(Uint8Array.of(0x22, 0xff, 0x22), { headers: json }))).toBe("not_json")
    expect(await came(() => new Response(null, { headers: json }))).toBe("not_json")
    expect(await came(() => new Response(endless(), { headers: json }))).toBe("too_long")
    expect(await came(() => new Response(`"${"a".repeat(998)}"`, { headers: json }))).toHaveLength(1000)
    expect(await came(() => Promise.reject(new TypeError("no route")))).toBe("unreachable")
  })

  test("a form is sent to named hosts alone, follows nothing either, and comes to a status", async () => {
    const asked: Array<Asked> = []
    const fetch: Fetch = async (url, init) => {
      asked.push({ url, init })
      return new Response(null, {
        status: url.endsWith("/moved") ? 307 : 204,
        headers: { location: "https://10.0.0.1/" }
      })
    }
    const sent = await Effect.runPromise(
      Effect.gen(function* () {
        const documents = yield* makeDocuments(exchangesOverFetch(fetch), new Set(["app.example:443"]))
        return yield* Effect.forEach(["app.example/end", "app.example/moved", "other.example/end"], (at) =>
          Effect.match(documents.post(`https://${at}`, "a=b", limits), {
            onFailure: ({ reason }) => reason,
            onSuccess: (status) => status
          })
        )
      }).pipe(Effect.scoped)
    )
    expect(sent).toEqual([204, "redirected", "address_refused"])
    expect(asked.map(({ url }) => url)).toEqual(["https://app.example/end", "https://app.example/moved"])
    expect(asked[0]?.init).toMatchObject({
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: "a=b",
      redirect: "manual"
    })
  })

  test("what takes too long is given up", async () => {
    const asked: Array<Asked> = []
    const body = Effect.gen(function* () {
      const fetched = yield* fetching(() => new Promise(() => undefined), asked)
      const waiter = yield* Effect.forkChild(fetched, { startImmediately: true })
      yield* TestClock.adjust(limits.within)
      expect(yield* Fiber.join(waiter)).toBe("timed_out")
      expect(asked[0]?.init.signal?.aborted).toBe(true)
    })
    await Effect.runPromise(body.pipe(Effect.scoped, Effect.provide(TestClock.layer())))
  })
})
