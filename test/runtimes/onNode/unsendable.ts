import type { HeaderPairs, HttpResponse } from "../../../core/http/Http.ts"

const answer = (status: number, headers: HeaderPairs = []): HttpResponse => ({
  status,
  headers: [["set-cookie", "session=of-nobody"], ["content-length", "3"], ...headers, ["x-request-id", "the-request"]],
  body: "abc"
})

/** Answers that a host's own route may give, and that Node throws at, by the path that gives them. */
export const unsendable: Readonly<Record<string, HttpResponse>> = {
  "/unsendable/value": answer(200, [["x-value", "a\r\nset-cookie: b=c"]]),
  "/unsendable/letter": answer(200, [["x-letter", "\u20ac"]]),
  "/unsendable/name": answer(200, [["no name", "a"]]),
  "/unsendable/chunked": answer(200, [
    ["transfer-encoding", "chunked"],
    ["x-value", "\n"]
  ]),
  "/unsendable/status": answer(1000)
}
