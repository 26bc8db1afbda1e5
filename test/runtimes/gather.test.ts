import { describe, expect, test } from "bun:test"
import type { HttpRequest, HttpResponse } from "../../core/http/Http.ts"
import { gather } from "../../runtimes/gather.ts"

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
  const ask = gather((request) => {
    seen.push(`asked ${request.path}`)
    return serve(request)
  })
  const askFor = (path: string, then: () => void = () => undefined) =>
    ask(requestTo(path), (answered) => {
      seen.push(`took ${answered instanceof Promise ? "a promise" : answered.body}`)
      then()
    })
  return { seen, ask, askFor }
}

describe("requests of one turn", () => {
  test("are answered one after the other, and then handed out, each to whoever asked", async () => {
    const { askFor, seen } = gathering(answerTo)
    askFor("/a")
    askFor("/b")
    expect(seen).toEqual([])
    await nextTurn()
    expect(seen).toEqual(["asked /a", "asked /b", "took /a", "took /b"])
  })

  test("leave those that come meanwhile to the next", async () => {
    const { askFor, seen } = gathering(answerTo)
    askFor("/a", () => askFor("/b"))
    await nextTurn()
    expect(seen).toEqual(["asked /a", "took /a"])
    await nextTurn()
    expect(seen).toEqual(["asked /a", "took /a", "asked /b", "took /b"])
  })

  test("do not wait for one of them that waits", async () => {
    const { askFor, seen } = gathering((request) =>
      request.path === "/slow" ? new Promise(() => undefined) : answerTo(request)
    )
    askFor("/slow")
    askFor("/b")
    await nextTurn()
    expect(seen.slice(2)).toEqual(["took a promise", "took /b"])
  })

  test("do not suffer from one of them that throws", async () => {
    const { ask, askFor, seen } = gathering((request) => {
      if (request.path === "/broken") throw new Error("broken")
      return answerTo(request)
    })
    const fault = new Promise((resolve) => {
      ask(requestTo("/broken"), (answered) => void Promise.resolve(answered).catch(resolve))
    })
    askFor("/b")
    expect(await fault).toEqual(new Error("broken"))
    expect(seen.at(-1)).toBe("took /b")
  })
})
