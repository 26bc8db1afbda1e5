import { expect, test } from "bun:test"
import { seeOther } from "../../core/http/answer.ts"

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
