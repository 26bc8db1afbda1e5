import { describe, expect, test } from "bun:test"
import type { Mount } from "../../core/serve.ts"
import { drawFrom } from "../../core/testing/Draw.ts"
import * as ofElysia from "../../runtimes/elysia.ts"
import * as ofFetch from "../../runtimes/fetch.ts"
import { guardOf } from "../../runtimes/guard/Check.ts"
import { pathOf, readTarget, targetOf } from "../../runtimes/serve/request.ts"
import { statusOfRaw } from "../given/statusOfRaw.ts"

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

describe("what a `Request` is for", () => {
  test.each([
    ["http://host/a?b=c?d#e?f", { path: "/a", query: "b=c?d" }],
    ["https://host/a#b?c", { path: "/a", query: "" }],
    ["https://host/", { path: "/", query: "" }],
    ["https://host", { path: "/", query: "" }],
    ["http+unix://%2Ftmp%2Fsocket/a/b?c", { path: "/a/b", query: "c" }],
    ["/a/b?c", { path: "/a/b", query: "c" }]
  ])("is read from its address: %s", (url, meant) => {
    expect(targetOf(url)).toEqual(meant)
    expect(pathOf(url)).toBe(meant.path)
  })

  test.each(["/a/../b", "/%2e%2E/b", "/a\\b", "/a/."])("is nothing sure where no server has folded it: %s", (url) => {
    expect(pathOf(url)).toBeUndefined()
  })
})

describe("the host of a `Request`", () => {
  const seen: Array<string | null | undefined> = []
  const handle = ofFetch.handler(({ headers }) => {
    seen.push(headers.get("host"))
    return { status: 200, headers: [], body: "" }
  })
  const guard = guardOf(async ({ headers }) => {
    seen.push(headers.get("host"))
    return { _tag: "Refused", response: { status: 401, headers: [], body: "" } }
  })

  const readers: ReadonlyArray<readonly [name: string, read: (request: Request) => unknown]> = [
    ["a handler", handle],
    ["a guard", ofFetch.guard(guard, { scopes: [] }, () => new Response("let in"))],
    [
      "Elysia's guard",
      (request) => ofElysia.guard(guard, { scopes: [] })({ request, set: { headers: {} }, status: () => undefined })
    ]
  ]

  test.each([...readers])("is that of its address where no header says one, to %s", async (_name, read) => {
    seen.length = 0
    await read(new Request("https://red.example/a"))
    await read(new Request("https://red.example:8443/a?b=//blue.example"))
    await read(new Request("https://red.example/a", { headers: { host: "blue.example" } }))
    await read(new Request("https://red.example/a", { headers: { host: "" } }))
    expect(seen).toEqual(["red.example", "red.example:8443", "blue.example", ""])
  })
})

describe("a request without a host (HTTP/1.0), on Bun", () => {
  const mount: Mount = {
    serve: ({ path }) => ({ status: 200, headers: [], body: path }),
    routes: [{ path: "/ours", match: "exact" }],
    prefix: "",
    owns: (path) => path === "/ours"
  }
  const seen: Array<string> = []
  const guard = guardOf(async ({ path }) => {
    seen.push(path)
    return { _tag: "Refused", response: { status: 401, headers: [], body: "" } }
  })
  const mounted = ofFetch.mount(mount)
  const apps: ReadonlyArray<readonly [name: string, handle: (request: Request) => Response | Promise<Response>]> = [
    ["a mount", (request) => mounted(request) ?? new Response("the app's own", { status: 202 })],
    ["a guard", ofFetch.guard(guard, { scopes: [] }, () => new Response("let in"))],
    [
      "Elysia's guard",
      async (request) => {
        const status = (code: number) => new Response(null, { status: code })
        const told: unknown = await ofElysia.guard(guard, { scopes: [] })({ request, set: { headers: {} }, status })
        return told instanceof Response ? told : new Response("let in")
      }
    ]
  ]
  const expected = { "a mount": [200, 202, 202], "a guard": [401, 401, 401], "Elysia's guard": [401, 401, 401] }

  test.each([...apps])("is answered by %s", async (name, handle) => {
    seen.length = 0
    const server = Bun.serve({ hostname: "127.0.0.1", port: 0, development: false, fetch: handle })
    try {
      const statuses: Array<number> = []
      for (const target of ["/ours", "/app?a", "/app/../ours"]) {
        statuses.push(await statusOfRaw(server.port ?? 0, `GET ${target} HTTP/1.0\r\n\r\n`))
      }
      expect(statuses).toEqual(Object.entries(expected).find(([one]) => one === name)?.[1] ?? [])
      if (name !== "a mount") expect(seen).toEqual(["/ours", "/app", "/"])
    } finally {
      await server.stop(true)
    }
  })
})
