import { expect, test } from "bun:test"
import {
  empty,
  finish,
  forAWhile,
  json,
  noSniffing,
  noStore,
  preflight,
  secretJson,
  seeOther,
  wholeAnswer
} from "../../core/http/answer.ts"
import type { HttpResponse } from "../../core/http/Http.ts"
import { requestOf } from "../given/World.ts"

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

test("a preflight that names no header is told which there are, however the runtime says that it named none", () => {
  const route = { path: "/", match: "exact", methods: {}, errors: "oauth", cors: true, scopes: [] } as const
  for (const none of [undefined, null, ""]) {
    const told = preflight(route, none).headers.find(([name]) => name === "access-control-allow-headers")
    expect(told?.[1]).toBe("Authorization, Content-Type")
  }
})
