import { expect, test } from "bun:test"
import { Effect } from "effect"
import {
  allowedMethods,
  empty,
  finish,
  forAWhile,
  json,
  noSniffing,
  noStore,
  preflight,
  secretJson,
  seeOther,
  shuttingDown,
  wholeAnswer,
  withRequestId
} from "../../core/http/answer.ts"
import { broken } from "../../core/http/faults.ts"
import type { HttpResponse } from "../../core/http/Http.ts"
import type { Route } from "../../core/http/Route.ts"
import { header, text } from "../given/flow.ts"
import { inWorld, requestOf } from "../given/World.ts"

test("who is sent elsewhere takes nothing along that is kept, and no address of ours", () => {
  expect(seeOther("/settings", [["set-cookie", "a=b"]])).toEqual({
    status: 303,
    headers: [
      ["location", "/settings"],
      ["cache-control", "no-store"],
      ["pragma", "no-cache"],
      ["referrer-policy", "no-referrer"],
      ["set-cookie", "a=b"]
    ],
    body: ""
  })
})

test("where they are sent holds nothing that no header can hold", () => {
  const sent = (location: string) => seeOther(location).headers.find(([name]) => name === "location")?.[1]
  expect(sent("/a\r\nset-cookie: x=y")).toBe("/a%0D%0Aset-cookie:%20x=y")
  expect(sent("/\u00e9\u{1f600}\ud800")).toBe("/%C3%A9%F0%9F%98%80%EF%BF%BD")
  expect(sent('https://app.example/?a=%20&b="\\')).toBe('https://app.example/?a=%20&b="\\')
})

test("every answer carries its request's id and is not sniffed, each said once, and its own headers as they are", () => {
  const type = ["content-type", "application/json"] as const
  const retry = ["retry-after", "1"] as const
  const rows: ReadonlyArray<readonly [HttpResponse, HttpResponse["headers"], string]> = [
    [json(200, { a: "é" }), [type], '{"a":"é"}'],
    [json(200, 1, noStore), [type, ...noStore], "1"],
    [json(200, 1, forAWhile), [type, ...forAWhile], "1"],
    [json(200, 1, [retry]), [type, retry], "1"],
    [secretJson(400, 1), [type, ...noStore], "1"],
    [secretJson(400, 1, [retry]), [type, ...noStore, retry], "1"],
    [empty(204), [], ""],
    [empty(429, [retry]), [retry], ""],
    [empty(200, [retry, noSniffing]), [retry], ""]
  ]
  const sorted = (headers: HttpResponse["headers"]) => headers.map((header) => header.join(": ")).toSorted()
  for (const [response, own, body] of rows) {
    for (const cors of [true, false]) {
      const common = [...own, noSniffing, ["x-request-id", "r1"] as const]
      const opened = [
        ["access-control-allow-origin", "*"],
        ["access-control-expose-headers", "WWW-Authenticate, Retry-After, DPoP-Nonce, X-Request-Id"]
      ] as const
      const expected = cors ? [...common, ...opened] : common
      const got = wholeAnswer(finish("r1", requestOf("GET", "/", {}), { cors }, response))
      expect([got.status, got.body, sorted(got.headers)]).toEqual([response.status, body, sorted(expected)])
      const head = finish("r1", requestOf("HEAD", "/", {}), { cors }, response)
      const length = ["content-length", String(Buffer.byteLength(body))] as const
      expect([head.status, head.body, sorted(head.headers)]).toEqual([
        response.status,
        "",
        sorted([...expected, length])
      ])
    }
    const nowhere = wholeAnswer(finish("r1", requestOf("GET", "/", {}), undefined, response))
    expect(sorted(nowhere.headers)).toEqual(sorted([...own, noSniffing, ["x-request-id", "r1"]]))
  }
})

const preflightOf = (methods: Route["methods"], asked?: string) =>
  preflight({ path: "/", match: "exact", methods, errors: "oauth", cors: true, scopes: [] }, asked)

const handler = () => Effect.succeed(empty(200))

test("a preflight is answered whole, with the headers that were asked for where they can be told back", () => {
  const answer = (methods: string, headers: string) => ({
    status: 204,
    headers: [
      ["access-control-allow-origin", "*"],
      ["access-control-expose-headers", "WWW-Authenticate, Retry-After, DPoP-Nonce, X-Request-Id"],
      ["access-control-allow-methods", methods],
      ["access-control-allow-headers", headers],
      ["access-control-max-age", "86400"],
      ["vary", "Access-Control-Request-Headers"]
    ],
    body: ""
  })
  const usual = "Authorization, Content-Type"
  const asked = ["dpop", "DPoP, X-A_b.c~1", "!#$%&'*+^`|", "a".repeat(1024)]
  for (const names of asked)
    expect<unknown>(preflightOf({ POST: handler }, names)).toEqual(answer("POST, OPTIONS", names))
  for (const wrong of ["a".repeat(1025), "a\nb: c", "é", "a;b", 'a"b', " \u0000"]) {
    expect<unknown>(preflightOf({ POST: handler }, wrong)).toEqual(answer("POST, OPTIONS", usual))
  }
  expect<unknown>(preflightOf({ GET: handler, DELETE: handler })).toEqual(answer("GET, DELETE, HEAD, OPTIONS", usual))
})

test("the methods of a route are told with those that come with them", () => {
  expect(allowedMethods({ methods: {}, cors: false })).toBe("")
  expect(allowedMethods({ methods: { POST: handler }, cors: false })).toBe("POST")
  expect(allowedMethods({ methods: { GET: handler }, cors: false })).toBe("GET, HEAD")
  expect(allowedMethods({ methods: { POST: handler, GET: handler }, cors: true })).toBe("POST, GET, HEAD, OPTIONS")
})

test("what the server says of itself alone is a whole answer that no cache keeps", () => {
  const type = ["content-type", "application/json"]
  const kept = [
    ["cache-control", "no-store"],
    ["pragma", "no-cache"]
  ]
  for (const [answer, status, error, more] of [
    [broken, 500, "server_error", []],
    [shuttingDown, 503, "temporarily_unavailable", [["retry-after", "1"]]]
  ] as const) {
    expect<unknown>([answer.status, [...answer.headers]]).toEqual([status, [type, ...kept, ...more]])
    expect(JSON.parse(answer.body)).toEqual({ error, error_description: expect.stringMatching(/\w/) })
  }
})

test("an answer that is whole stays as it is, and one gets its request's id behind its own headers", () => {
  const answer = empty(204, [["retry-after", "1"]])
  expect(wholeAnswer(answer)).toBe(answer)
  expect(withRequestId("r1", answer)).toEqual({
    status: 204,
    headers: [
      ["retry-after", "1"],
      ["x-request-id", "r1"]
    ],
    body: ""
  })
})

test("a preflight that names no header is told which there are, however the runtime says that it named none", () => {
  const route = { path: "/", match: "exact", methods: {}, errors: "oauth", cors: true, scopes: [] } as const
  for (const none of [undefined, null, ""]) {
    const told = preflight(route, none).headers.find(([name]) => name === "access-control-allow-headers")
    expect(told?.[1]).toBe("Authorization, Content-Type")
  }
})

test("every answer has an id of its own, of 64 random bits, and many are drawn at once", () => {
  const drawn: Array<number> = []
  let counter = 0
  const entropy = {
    bytes: (length: number) => {
      drawn.push(length)
      return Uint8Array.from({ length }, () => counter++ % 251)
    }
  }
  return inWorld(
    function* (world) {
      const ids: Array<string> = []
      drawn.length = 0
      for (let request = 0; request < 100; request++) {
        ids.push(text(header(yield* world.send("GET", "/nowhere"), "x-request-id")))
        const guarded = yield* world.guard("/x", { scopes: ["api"] }, {})
        if (guarded._tag === "Refused") ids.push(text(header(guarded.response, "x-request-id")))
      }
      expect(ids.filter((id) => !/^[0-9a-f]{16}$/.test(id))).toEqual([])
      expect(new Set(ids).size).toBe(200)
      expect(drawn).toEqual([512, 512, 512, 512])
    },
    { entropy }
  )
})
