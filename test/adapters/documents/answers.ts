import type { Socket } from "node:net"
import { gzipSync } from "node:zlib"

/** What a server says to a request, by the request's path. */
export type Answer = (socket: Socket) => void

const json = "content-type: application/json"
export const longest = 5 * 1024

const head = (status: string, headers: ReadonlyArray<string>) =>
  `HTTP/1.1 ${status}\r\n${headers.map((header) => `${header}\r\n`).join("")}\r\n`

const lengthOf = (body: string | Uint8Array) => `content-length: ${Buffer.byteLength(body)}`

const says =
  (status: string, headers: ReadonlyArray<string>, body: string | Uint8Array = "{}"): Answer =>
  (socket) => {
    socket.write(head(status, [...headers, lengthOf(body)]))
    socket.end(body)
  }

const ok = (headers: ReadonlyArray<string>, body?: string | Uint8Array) => says("200 OK", headers, body)

const raw =
  (text: string | Uint8Array): Answer =>
  (socket) =>
    socket.end(text)

/** Says it, and keeps the connection. */
const stalls =
  (text: string): Answer =>
  (socket) =>
    socket.write(text)

/** Writes for as long as the client reads. */
const endless =
  (first: string, part: string): Answer =>
  (socket) => {
    const more = () => {
      while (!socket.destroyed && socket.write(part)) {
        // Until the other side has to catch up.
      }
    }
    socket.on("drain", more)
    socket.write(first)
    more()
  }

/** A byte, and the next one when that one is gone: never done, and never silent. */
const drips =
  (first: string, part: string): Answer =>
  (socket) => {
    socket.write(first)
    const dripping = setInterval(() => (socket.destroyed ? clearInterval(dripping) : socket.write(part)), 5)
  }

const redirect = (status: string): Answer => says(status, [json, "location: https://127.0.0.1/latest/meta-data"])

const chunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`

const text = (length: number) => `"${"a".repeat(length - 2)}"`

const bomb = gzipSync(Buffer.alloc(8 * 1024 * 1024, 0x20))

export const answers: Readonly<Record<string, Answer>> = {
  "/keys": ok([json]),
  "/keys?tenant=1": ok([json]),
  "/jwk-set": ok(["Content-Type: application/jwk-set+json"]),
  "/charset": ok(["content-type: application/json; charset=utf-8"]),
  "/longest": ok([json], text(longest)),
  "/chunked": raw(head("200 OK", [json, "transfer-encoding: chunked"]) + chunk("{") + chunk("}") + chunk("")),
  "/until-closed": raw(`${head("200 OK", [json, "connection: close"])}{}`),
  "/identity": ok([json, "content-encoding: identity"]),
  "/byte-order-mark": ok([json], Uint8Array.of(0xef, 0xbb, 0xbf, 0x7b, 0x7d)),
  "/early-hints": raw(`${head("103 Early Hints", ["link: </x>"])}${head("200 OK", [json, "content-length: 2"])}{}`),
  "/longer-than-it-says": raw(`${head("200 OK", [json, "content-length: 2"])}{}{"keys":[]}`),

  "/300": redirect("300 Multiple Choices"),
  "/301": redirect("301 Moved Permanently"),
  "/302": redirect("302 Found"),
  "/303": redirect("303 See Other"),
  "/304": raw(head("304 Not Modified", ["etag: x"])),
  "/307": redirect("307 Temporary Redirect"),
  "/308": redirect("308 Permanent Redirect"),

  "/201": says("201 Created", [json]),
  "/204": raw(head("204 No Content", [])),
  "/206": says("206 Partial Content", [json, "content-range: bytes 0-1/9"]),
  "/401": says("401 Unauthorized", [json, "www-authenticate: Negotiate"]),
  "/404": says("404 Not Found", [json]),
  "/500": says("500 Internal Server Error", [json]),
  "/101": stalls(head("101 Switching Protocols", ["upgrade: h2c", "connection: upgrade"])),

  "/one-too-long": ok([json], text(longest + 1)),
  "/endless": endless(head("200 OK", [json]), " ".repeat(1024)),
  "/endless-chunks": endless(head("200 OK", [json, "transfer-encoding: chunked"]), chunk(" ".repeat(1024))),
  "/says-it-is-long": stalls(head("200 OK", [json, "content-length: 999999999999"])),
  "/shorter-than-it-says": raw(`${head("200 OK", [json, "content-length: 20"])}{}`),
  "/unfinished-chunks": raw(`${head("200 OK", [json, "transfer-encoding: chunked"])}${chunk("{}")}`),
  "/two-lengths": raw(`${head("200 OK", [json, "content-length: 2", "content-length: 9"])}{}`),
  "/length-and-chunks": raw(
    head("200 OK", [json, "content-length: 2", "transfer-encoding: chunked"]) + chunk("{}") + chunk("")
  ),
  "/negative-length": raw(`${head("200 OK", [json, "content-length: -2"])}{}`),

  "/silent": () => undefined,
  "/half-a-head": stalls("HTTP/1.1 200 OK\r\ncontent-type: appl"),
  "/dripping-head": drips("HTTP/1.1 200 OK\r\nx: ", "a"),
  "/endless-hints": drips("", head("103 Early Hints", ["link: </x>"])),
  "/half-a-body": stalls(`${head("200 OK", [json, "content-length: 20"])}{`),
  "/dripping-body": drips(head("200 OK", [json, "content-length: 4000"]), " "),

  "/gzip": ok([json, "content-encoding: gzip"], bomb.subarray(0, 1024)),
  "/gzip-bomb": raw(Buffer.concat([Buffer.from(head("200 OK", [json, "content-encoding: gzip"])), bomb])),
  "/brotli": ok([json, "content-encoding: br"]),
  "/gzip-in-gzip": ok([json, "content-encoding: identity, gzip"]),
  "/gzip-unsaid": ok([json], gzipSync("{}")),
  "/gzip-as-transfer": raw(
    Buffer.concat([Buffer.from(head("200 OK", [json, "transfer-encoding: gzip, chunked"])), Buffer.from(chunk("{}"))])
  ),

  "/html": ok(["content-type: text/html"]),
  "/text-json": ok(["content-type: text/json"]),
  "/javascript": ok(["content-type: application/javascript"]),
  "/jsonp": ok(["content-type: application/jsonp"]),
  "/image-json": ok(["content-type: image/svg+json"]),
  "/no-type": ok([]),
  "/two-types": ok([json, "content-type: text/html"]),
  "/two-types-and-a-parameter": ok([`${json}; a=b`, "content-type: text/html"]),
  "/type-list": ok(["content-type: application/json, text/html"]),

  "/latin1": ok([json], Buffer.from([0x22, 0xe9, 0x22])),
  "/utf16": ok([json], Buffer.from("\ufeff{}", "utf16le")),
  "/overlong": ok([json], Buffer.from([0x22, 0xc0, 0x80, 0x22])),
  "/surrogate": ok([json], Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])),
  "/empty": ok([json], ""),
  "/words": ok([json], "certainly! here are your keys"),
  "/two-documents": ok([json], "{}{}"),
  "/deep": ok([json], "[".repeat(longest)),

  "/http-0.9": raw("{}\n"),
  "/ssh": raw("SSH-2.0-OpenSSH_9.9\r\n"),
  "/http2": raw("HTTP/2.0 200 OK\r\ncontent-type application/json\r\n\r\n{}"),
  "/no-status": raw(`HTTP/1.1 OK\r\n${json}\r\n\r\n{}`),
  "/folded": raw(`HTTP/1.1 200 OK\r\n${json}\r\nx y z\r\n\r\n{}`),
  "/nul": raw(head("200 OK", [json, "x: a\0b", "content-length: 2"])),
  "/huge-header": raw(head("200 OK", [json, `x: ${"a".repeat(100_000)}`, "content-length: 2"])),
  "/many-headers": raw(
    head("200 OK", [json, ...Array.from({ length: 5000 }, (_, at) => `x-${at}: a`), "content-length: 2"])
  ),
  "/closes": (socket) => socket.destroy()
}
