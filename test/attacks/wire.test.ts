import { describe, expect, test } from "bun:test"
import { serverOfFile } from "../given/serverOfFile.ts"
import { open, untilClosed } from "../runtimes/given/wire.ts"

/** Bytes that no client would send: requests that lie about where they end, and things that are no requests. */

const server = serverOfFile({ env: { REQUEST_TIMEOUT: "3 seconds" } })

const form = "content-type: application/x-www-form-urlencoded"
const lines = (...text: ReadonlyArray<string>) => text.join("\r\n")

/** All that comes back until the server closes, or until it has said nothing for longer than it waits for a request. */
const exchange = async (bytes: string | Uint8Array, thenClose = false): Promise<string> => {
  const socket = open(server().port)
  const heard = untilClosed(socket)
  socket.write(bytes)
  if (thenClose) socket.end()
  else socket.setTimeout(8000, () => socket.destroy())
  return (await heard).toString("latin1")
}

const statuses = (heard: string): ReadonlyArray<number> =>
  [...heard.matchAll(/(?:^|\r\n|\})HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status))

const isWell = async () => (await fetch(`${server().url}/readyz`)).status

const smuggled = "GET /smuggled HTTP/1.1\r\nhost: a\r\n\r\n"

const ambiguous: ReadonlyArray<readonly [string, string]> = [
  [
    "a length and chunks",
    lines(
      "POST /oauth/token HTTP/1.1",
      "host: a",
      form,
      `content-length: ${smuggled.length + 5}`,
      "transfer-encoding: chunked",
      "",
      "0",
      "",
      smuggled
    )
  ],
  [
    "chunks and a shorter length",
    lines(
      "POST /oauth/token HTTP/1.1",
      "host: a",
      form,
      "transfer-encoding: chunked",
      "content-length: 4",
      "",
      "5c",
      smuggled,
      "0",
      "",
      ""
    )
  ],
  [
    "two lengths",
    lines(
      "POST /oauth/token HTTP/1.1",
      "host: a",
      form,
      "content-length: 0",
      `content-length: ${smuggled.length}`,
      "",
      smuggled
    )
  ],
  [
    "two lengths in one header",
    lines("POST /oauth/token HTTP/1.1", "host: a", form, `content-length: 0, ${smuggled.length}`, "", smuggled)
  ],
  ["a negative length", lines("POST /oauth/token HTTP/1.1", "host: a", form, "content-length: -1", "", smuggled)],
  ["a length with a sign", lines("POST /oauth/token HTTP/1.1", "host: a", form, "content-length: +0", "", smuggled)],
  [
    "a length in another base",
    lines("POST /oauth/token HTTP/1.1", "host: a", form, "content-length: 0x0", "", smuggled)
  ],
  [
    "a length beyond numbers",
    lines("POST /oauth/token HTTP/1.1", "host: a", form, "content-length: 99999999999999999999999", "", smuggled)
  ],
  [
    "an unknown encoding",
    lines("POST /oauth/token HTTP/1.1", "host: a", form, "transfer-encoding: xchunked", "", "0", "", smuggled)
  ],
  [
    "two encodings",
    lines(
      "POST /oauth/token HTTP/1.1",
      "host: a",
      form,
      "transfer-encoding: identity",
      "transfer-encoding: chunked",
      "",
      "0",
      "",
      smuggled
    )
  ],
  [
    "a header name with a space behind it",
    lines("POST /oauth/token HTTP/1.1", "host: a", form, `content-length : ${smuggled.length}`, "", smuggled)
  ],
  [
    "a folded header",
    lines(
      "POST /oauth/token HTTP/1.1",
      "host: a",
      form,
      "x-folded: a",
      " content-length: 5",
      "content-length: 0",
      "",
      smuggled
    )
  ],
  [
    "chunk sizes that are none",
    lines(
      "POST /oauth/token HTTP/1.1",
      "host: a",
      form,
      "transfer-encoding: chunked",
      "",
      "zz",
      "abc",
      "0",
      "",
      smuggled
    )
  ],
  [
    "a chunk size beyond numbers",
    lines(
      "POST /oauth/token HTTP/1.1",
      "host: a",
      form,
      "transfer-encoding: chunked",
      "",
      "fffffffffffffffff",
      "abc",
      "0",
      "",
      smuggled
    )
  ],
  [
    "a chunk longer than it says",
    lines(
      "POST /oauth/token HTTP/1.1",
      "host: a",
      form,
      "transfer-encoding: chunked",
      "",
      "1",
      "abcdef",
      "0",
      "",
      smuggled
    )
  ]
]

describe("a body whose end is in doubt", () => {
  test("is told from two honest requests, which have two answers", async () => {
    const honest = lines("GET /unknown HTTP/1.1", "host: a", form, "content-length: 0", "", smuggled)
    expect(statuses(await exchange(honest, true))).toEqual([404, 404])
  })

  // RFC 9112 §6.3: refused, and the connection with it, so that no server behind reads the rest in another way.
  test.each([...ambiguous])("%s: refused as a whole", async (_, bytes) => {
    expect(statuses(await exchange(bytes))).toEqual([400])
    expect(await isWell()).toBe(200)
  })

  test("that is shorter than its length is not acted on", async () => {
    const body = "grant_type=client_credentials&client_id=a"
    const heard = await exchange(
      lines("POST /oauth/token HTTP/1.1", "host: a", form, `content-length: ${body.length + 100}`, "", body),
      true
    )
    expect(statuses(heard).filter((status) => status === 200 || status >= 500)).toEqual([])
    expect(await isWell()).toBe(200)
  })

  test("that is larger than any client needs is refused before it is there", async () => {
    const heard = await exchange(
      lines("POST /oauth/token HTTP/1.1", "host: a", form, "content-length: 100000000", "", "x".repeat(100_000))
    )
    expect(statuses(heard)[0]).toBe(413)
    const chunk = `4000\r\n${"x".repeat(0x4000)}\r\n`
    const chunked = await exchange(
      `${lines("POST /oauth/token HTTP/1.1", "host: a", form, "transfer-encoding: chunked", "", "")}${chunk.repeat(8)}`
    )
    expect(statuses(chunked)[0]).toBe(413)
    expect(await isWell()).toBe(200)
  }, 20_000)
})

const noise = (length: number) => Uint8Array.from({ length }, (_, index) => (index * 7919 + (index >> 3) * 31) & 0xff)

const odd: ReadonlyArray<readonly [string, string | Uint8Array]> = [
  ["noise", noise(4096)],
  ["nothing but line ends", "\r\n".repeat(2000)],
  ["a TLS hello", Uint8Array.from([0x16, 3, 1, 0, 0xa5, 1, 0, 0, 0xa1, 3, 3, ...noise(160)])],
  ["HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
  ["HTTP/0.9", "GET /\r\n"],
  ["no version", "GET /login\r\n\r\n"],
  ["a version of the future", "GET /login HTTP/9.9\r\nhost: a\r\n\r\n"],
  ["no host", "GET /login HTTP/1.1\r\n\r\n"],
  ["two hosts", "GET /login HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n"],
  ["bare line feeds", "GET /login HTTP/1.1\nhost: a\n\n"],
  ["a zero byte in the address", "GET /log\u0000in HTTP/1.1\r\nhost: a\r\n\r\n"],
  ["a zero byte in a header", "GET /login HTTP/1.1\r\nhost: a\r\nx: \u0000\r\n\r\n"],
  ["an address with spaces", "GET /login now HTTP/1.1\r\nhost: a\r\n\r\n"],
  ["an address of another server", "GET http://evil.example/login HTTP/1.1\r\nhost: a\r\n\r\n"],
  ["an address with a user", "GET http://a:b@evil.example/login HTTP/1.1\r\nhost: a\r\n\r\n"],
  ["a tunnel", "CONNECT evil.example:443 HTTP/1.1\r\nhost: evil.example\r\n\r\n"],
  ["an asterisk", "OPTIONS * HTTP/1.1\r\nhost: a\r\n\r\n"],
  ["a method of no kind", "BREW /login HTTP/1.1\r\nhost: a\r\n\r\n"],
  ["a very long address", `GET /${"a".repeat(200_000)} HTTP/1.1\r\nhost: a\r\n\r\n`],
  ["a very long header", `GET /login HTTP/1.1\r\nhost: a\r\nx: ${"a".repeat(200_000)}\r\n\r\n`],
  ["very many headers", `GET /login HTTP/1.1\r\nhost: a\r\n${"x: y\r\n".repeat(20_000)}\r\n`],
  ["very many cookies", `GET /login HTTP/1.1\r\nhost: a\r\ncookie: ${"a=b; ".repeat(3000)}\r\n\r\n`],
  [
    "bytes that are no UTF-8",
    Uint8Array.from(Buffer.from("GET /\xff\xfe\xc0\xaf HTTP/1.1\r\nhost: a\r\n\r\n", "latin1"))
  ]
]

test.each([...odd])("%s is survived", async (_, bytes) => {
  const heard = await exchange(bytes, true)
  expect(statuses(heard).filter((status) => status >= 500 && status !== 501 && status !== 505)).toEqual([])
  expect(heard).not.toContain("evil")
  expect(await isWell()).toBe(200)
})

test("a hundred connections that never finish their request keep no other waiting", async () => {
  const sockets = Array.from({ length: 100 }, () => open(server().port))
  for (const socket of sockets)
    socket.write("POST /oauth/token HTTP/1.1\r\nhost: a\r\ncontent-length: 50\r\n\r\ngrant_")
  for (let count = 0; count < 20; count++) expect(await isWell()).toBe(200)
  for (const socket of sockets) socket.destroy()
})
