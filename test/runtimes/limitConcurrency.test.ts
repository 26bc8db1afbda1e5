import { describe, expect, test } from "bun:test"
import type { HttpRequest, HttpResponse } from "../../core/http/Http.ts"
import { limitConcurrency } from "../../runtimes/serve/limitConcurrency.ts"

const request: HttpRequest = { method: "GET", path: "/", query: "", headers: new Headers(), body: "" }
const fine: HttpResponse = { status: 200, headers: [], body: "" }

describe("under overload", () => {
  test("what is too much is turned away at once, and told when to come back", async () => {
    const held: Array<() => void> = []
    const serve = limitConcurrency(() => new Promise((resolve) => held.push(() => resolve(fine))), 2)
    const under = [serve(request), serve(request)]
    const turned = serve(request)
    expect(turned).not.toBeInstanceOf(Promise)
    const { headers, status } = await turned
    expect(status).toBe(503)
    expect(headers.find(([name]) => name === "retry-after")?.[1]).toBe("1")
    expect(held).toHaveLength(2)
    const idOf = ({ headers }: HttpResponse) => headers.find(([name]) => name === "x-request-id")?.[1]
    expect(idOf(await turned)).toMatch(/^[0-9a-f]{16}$/)
    expect(idOf(await serve(request))).not.toBe(idOf(await turned))
    expect(headers).toContainEqual(["access-control-allow-origin", "*"])

    for (const release of held) release()
    expect((await Promise.all(under)).map((answer) => answer.status)).toEqual([200, 200])
    const next = serve(request)
    held[2]?.()
    expect((await next).status).toBe(200)
  })

  test("what is answered at once never counts", async () => {
    const serve = limitConcurrency(() => fine, 1)
    for (let i = 0; i < 10; i++) expect((await serve(request)).status).toBe(200)
  })

  test("what a host's own server rejects makes room again", async () => {
    const serve = limitConcurrency(() => Promise.reject(new Error("the host's own trouble")), 1)
    for (let i = 0; i < 3; i++) await expect(Promise.resolve(serve(request))).rejects.toThrow("the host's own trouble")
  })
})
