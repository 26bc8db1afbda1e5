import type { Draw } from "../../core/testing/Draw.ts"

export interface Shot {
  readonly method: string
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

type Choices = readonly [string, ...ReadonlyArray<string>]

const methods: Choices = ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "get", "BREW", ""]

const contentTypes: Choices = [
  "application/x-www-form-urlencoded",
  "application/x-www-form-urlencoded; charset=utf-8",
  "application/x-www-form-urlencoded;charset=utf-7",
  "APPLICATION/JSON",
  "application/json",
  "application/json; charset=latin1",
  "multipart/form-data; boundary=x",
  "text/plain",
  "application/xml",
  ";",
  ""
]

/** Texts that some reader, somewhere, has tripped over. */
const nasty: Choices = [
  "",
  " ",
  "\u0000",
  "%00",
  "%",
  "%zz",
  "%C0%AF",
  "%F0%9F%94%91",
  "\ud800",
  "\ufeff",
  "\u202eevil",
  "💥",
  "null",
  "undefined",
  "true",
  "[]",
  "{}",
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "-1",
  "0",
  "1e309",
  "9007199254740993",
  "99999999999999999999",
  "0x10",
  "NaN",
  "2031-01-01",
  "*",
  ".",
  "..",
  "../../etc/passwd",
  "//",
  "\\",
  "/",
  "'",
  '"',
  "' OR 1=1 --",
  "$(id)",
  "{{7*7}}",
  "<script>alert(1)</script>",
  "\r\nset-cookie: a=b",
  "\n",
  "a b",
  "a+b",
  "a=b&c=d",
  ";",
  ",",
  "a".repeat(64),
  "A".repeat(5000),
  "é".repeat(600),
  "openid profile api api",
  "https://evil.example",
  "http://127.0.0.1:3000",
  "javascript:alert(1)",
  "urn:ietf:params:oauth:grant-type:device_code"
]

/** Values as JSON may hold them where a text is expected. */
const nastyJson: Choices = [
  "null",
  "true",
  "0",
  "-0",
  "1e400",
  "[]",
  "{}",
  '""',
  '[null,1,"a",{}]',
  "[[[[[[[[[[]]]]]]]]]]",
  '{"__proto__":{"a":1}}',
  '"\\ud800"',
  '"\\u0000"',
  '"javascript:alert(1)"',
  '["https://a.example/cb","https://a.example/cb"]',
  `[${Array.from({ length: 60 }, (_, index) => `"https://a${index}.example"`).join(",")}]`
]

const headerNames: Choices = [
  "authorization",
  "cookie",
  "accept",
  "origin",
  "host",
  "x-forwarded-for",
  "content-length",
  "access-control-request-headers",
  "access-control-request-method",
  "mcp-protocol-version",
  "if-none-match",
  "range"
]

const schemes: Choices = ["Bearer ", "bearer ", "Basic ", "basic ", "DPoP ", "Negotiate ", "Bearer", "Basic", " "]

/** A header's value is what any client can send: one line of single bytes. */
const asHeader = (text: string): string => text.replace(/[^\x20-\x7e\x80-\xff]/g, "?").trim()

const oneByte = (draw: Draw, text: string): string => {
  if (text === "") return draw.text(1)
  const at = draw.below(text.length)
  const [left, right] = [text.slice(0, at), text.slice(at + 1)]
  switch (draw.below(4)) {
    case 0:
      return left + right
    case 1:
      return left + String.fromCharCode(draw.below(256)) + right
    case 2:
      return text.slice(0, at)
    default:
      return left + text.charAt(at) + text.slice(at)
  }
}

const pairsOf = (text: string): Array<string> => (text === "" ? [] : text.split("&"))

const encode = (text: string): string =>
  // A lone surrogate has no encoding; what a client would send in its place is the replacement character.
  encodeURIComponent(text.replace(/\p{Surrogate}/gu, "\ufffd"))

const mutatePairs = (draw: Draw, text: string): string => {
  const pairs = pairsOf(text)
  const at = draw.below(Math.max(1, pairs.length))
  const [name = ""] = (pairs[at] ?? "").split("=", 1)
  switch (draw.below(8)) {
    case 0:
      pairs.splice(at, 1)
      break
    case 1:
      pairs.push(pairs[at] ?? "a=b")
      break
    case 2:
    case 3:
      pairs[at] = `${name}=${encode(draw.oneOf(nasty))}`
      break
    case 4:
      pairs[at] = `${name}=${draw.oneOf(nasty)}`
      break
    case 5:
      pairs.splice(at, 0, `${encode(draw.oneOf(nasty))}=${encode(draw.oneOf(nasty))}`)
      break
    case 6:
      pairs[at] = oneByte(draw, pairs[at] ?? "")
      break
    default:
      pairs[at] = `${name}=${draw.text(draw.below(200))}`
  }
  return pairs.join("&")
}

const mutateJson = (draw: Draw, text: string): string => {
  if (draw.below(3) === 0) return oneByte(draw, text)
  const members = text.slice(1, -1).split(/,(?=")/)
  const at = draw.below(Math.max(1, members.length))
  const [name = '"a"'] = (members[at] ?? "").split(":", 1)
  switch (draw.below(5)) {
    case 0:
      members.splice(at, 1)
      break
    case 1:
      members.push(members[at] ?? '"a":1')
      break
    case 2:
      members[at] = `${name}:${draw.oneOf(nastyJson)}`
      break
    case 3:
      members[at] = `${name}:${JSON.stringify(draw.oneOf(nasty))}`
      break
    default:
      members[at] = `${JSON.stringify(draw.oneOf(nasty))}:${draw.oneOf(nastyJson)}`
  }
  return `{${members.filter((member) => member !== "").join(",")}}`
}

const mutateTarget = (draw: Draw, target: string): string => {
  const [path = "/", ...query] = target.split("?")
  switch (draw.below(16)) {
    case 0:
      return `${path}/${encode(draw.oneOf(nasty))}`
    case 1:
      return `/${oneByte(draw, path.slice(1)).replaceAll("?", "")}?${query.join("?")}`
    case 2:
      return path
    default:
      return `${path}?${mutatePairs(draw, query.join("?"))}`
  }
}

const mutateHeaders = (draw: Draw, headers: Shot["headers"]): Shot["headers"] => {
  const name = draw.oneOf(headerNames)
  const { [name]: present, ...others } = headers
  switch (draw.below(5)) {
    case 0:
      return others
    case 1:
      return { ...headers, [name]: asHeader(oneByte(draw, present ?? draw.text(20))) }
    case 2:
      return { ...headers, authorization: asHeader(draw.oneOf(schemes) + draw.oneOf(nasty)) }
    case 3:
      return { ...headers, authorization: `Basic ${btoa(asHeader(`${draw.oneOf(nasty)}:${draw.oneOf(nasty)}`))}` }
    default:
      return { ...headers, [name]: asHeader(draw.oneOf(nasty)) }
  }
}

const mutateBody = (draw: Draw, { body }: Shot): string => {
  if (draw.below(20) === 0) return draw.oneOf(nasty)
  if (draw.below(40) === 0) return Array.from({ length: 200 }, () => String.fromCharCode(draw.below(65_536))).join("")
  if (draw.below(60) === 0) return `${"[".repeat(20_000)}${"]".repeat(20_000)}`
  return body.startsWith("{") ? mutateJson(draw, body) : mutatePairs(draw, body)
}

/** One to four changes to a request that is right, or nearly. */
export const mutate = (draw: Draw, shot: Shot): Shot => {
  let next = shot
  for (let changes = 1 + draw.below(4); changes > 0; changes--) {
    switch (draw.below(12)) {
      case 0:
        next = { ...next, method: draw.oneOf(methods) }
        break
      case 1:
        next = { ...next, headers: { ...next.headers, "content-type": draw.oneOf(contentTypes) } }
        break
      case 2:
      case 3:
        next = { ...next, headers: mutateHeaders(draw, next.headers) }
        break
      case 4:
      case 5:
      case 6:
        next = { ...next, target: mutateTarget(draw, next.target) }
        break
      default:
        next =
          next.method === "GET"
            ? { ...next, target: mutateTarget(draw, next.target) }
            : { ...next, body: mutateBody(draw, next) }
    }
  }
  return next
}
