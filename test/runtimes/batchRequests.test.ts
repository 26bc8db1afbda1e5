import { describe, expect, test } from "bun:test"
import type { HttpRequest, HttpResponse } from "../../core/http/Http.ts"
import { batchRequests } from "../../runtimes/serve/batchRequests.ts"

const requestTo = (path: string): HttpRequest => ({
  method: "GET",
  path,
  query: "",
  headers: { get: () => null },
  body: "",
  peer: undefined
})

const answerTo = ({ path }: HttpRequest): HttpResponse => ({ status: 200, headers: [], body: path })

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve))

/** What happens, in its order. */
const gathering = (serve: (request: HttpRequest) => HttpResponse | Promise<HttpResponse>) => {
  const seen: Array<string> = []
  const ask = batchRequests(
    (request) => {
      seen.push(`asked ${request.path}`)
      return serve(request)
    },
    () => (work) => work()
  )
  const askFor = (path: string, then: () => void = () => undefined) =>
    ask(requestTo(path), (answered) => {
      seen.push(`took ${answered instanceof Promise ? "a promise" : answered.body}`)
      then()
    })
  /** From now on they do not come one by one. */
  const crowd = async () => {
    askFor("/1")
    askFor("/2")
    askFor("/3")
    await nextTurn()
    seen.length = 0
  }
  return { seen, ask, askFor, crowd }
}

describe("requests that come one by one", () => {
  test("are answered at once, and so is the first of a crowd", async () => {
    const { askFor, seen } = gathering(answerTo)
    askFor("/a")
    expect(seen).toEqual(["asked /a", "took /a"])
    await nextTurn()
    seen.length = 0
    askFor("/b")
    expect(seen).toEqual(["asked /b", "took /b"])
    askFor("/c")
    expect(seen.slice(2)).toEqual([])
    await nextTurn()
    expect(seen.slice(2)).toEqual(["asked /c", "took /c"])
  })

  test("are known to come so by the last turn", async () => {
    const { askFor, crowd, seen } = gathering(answerTo)
    await crowd()
    askFor("/a")
    expect(seen).toEqual([])
    await nextTurn()
    expect(seen).toEqual(["asked /a", "took /a"])
    askFor("/b")
    expect(seen.slice(2)).toEqual(["asked /b", "took /b"])
  })

  test("are no part of what they ask for themselves", async () => {
    const { askFor, seen } = gathering(answerTo)
    askFor("/a", () => askFor("/b"))
    expect(seen).toEqual(["asked /a", "took /a"])
    await nextTurn()
    expect(seen.slice(2)).toEqual(["asked /b", "took /b"])
  })
})

describe("requests of one turn", () => {
  test("are answered one after the other, and then handed out, each to its caller", async () => {
    const { askFor, crowd, seen } = gathering(answerTo)
    await crowd()
    askFor("/a")
    askFor("/b")
    expect(seen).toEqual([])
    await nextTurn()
    expect(seen).toEqual(["asked /a", "asked /b", "took /a", "took /b"])
  })

  test("leave those that come meanwhile to the next", async () => {
    const { askFor, crowd, seen } = gathering(answerTo)
    await crowd()
    askFor("/a", () => askFor("/c"))
    askFor("/b")
    await nextTurn()
    expect(seen).toEqual(["asked /a", "asked /b", "took /a", "took /b"])
    await nextTurn()
    expect(seen.slice(4)).toEqual(["asked /c", "took /c"])
  })

  test("lose none that one of them asks for while it is answered", async () => {
    const { askFor, crowd, seen } = gathering((request) => {
      if (request.path === "/a") askFor("/c")
      return answerTo(request)
    })
    await crowd()
    askFor("/a")
    askFor("/b")
    await nextTurn()
    await nextTurn()
    expect(seen).toEqual(["asked /a", "asked /b", "took /a", "took /b", "asked /c", "took /c"])
  })

  test("do not wait for one of them that waits", async () => {
    const { askFor, crowd, seen } = gathering((request) =>
      request.path === "/slow" ? new Promise(() => undefined) : answerTo(request)
    )
    await crowd()
    askFor("/slow")
    askFor("/b")
    await nextTurn()
    expect(seen.slice(2)).toEqual(["took a promise", "took /b"])
  })

  test("are handed out to all, also where one who takes an answer throws, and that is not hushed up", async () => {
    const { askFor, crowd, seen } = gathering(answerTo)
    await crowd()
    const later: Array<() => void> = []
    const real = setImmediate
    const schedule = (value: unknown) =>
      Object.defineProperty(globalThis, "setImmediate", { value, configurable: true, writable: true })
    schedule((callback: () => void) => later.push(callback))
    askFor("/a", () => {
      throw new Error("nobody takes this")
    })
    askFor("/b")
    schedule(real)
    expect(() => {
      for (const callback of later) callback()
    }).toThrow("nobody takes this")
    expect(seen).toEqual(["asked /a", "asked /b", "took /a", "took /b"])
  })

  test.each(["one by one", "in a crowd"])("do not suffer from one of them that throws, %s", async (how) => {
    const { ask, askFor, crowd, seen } = gathering((request) => {
      if (request.path === "/broken") throw new Error("broken")
      return answerTo(request)
    })
    if (how === "in a crowd") await crowd()
    const fault = new Promise((resolve) => {
      ask(requestTo("/broken"), (answered) => void Promise.resolve(answered).catch(resolve))
    })
    askFor("/b")
    expect(await fault).toEqual(new Error("broken"))
    await nextTurn()
    expect(seen.at(-1)).toBe("took /b")
  })
})
