import { expect, test } from "bun:test"
import { Schema } from "effect"
import {
  DocumentHosts,
  hostsOfBoth,
  isBanned,
  isDocumentHost,
  mostHosts,
  takesHost
} from "../../core/rules/DocumentHosts.ts"

const long = (length: number) => `${"a".repeat(length - 3)}.io`

test("a host is written as addresses have it, with a port, or as all below one", () => {
  const hosts = [
    "claude.ai",
    "*.example.com",
    "localhost",
    "localhost:9000",
    "a-b.example:1",
    "*.a.example:65535",
    "192.0.2.7",
    "[2001:db8::1]",
    "[2001:db8::1]:8443",
    "[::ffff:192.0.2.7]",
    long(260)
  ]
  for (const host of hosts) expect([host, isDocumentHost(host)]).toEqual([host, true])
  const others = [
    "",
    "*",
    "*.",
    "a..b",
    ".a",
    "a.",
    "a.*.b",
    "**.a",
    "x*.a",
    "Claude.ai",
    "a_b.example",
    "a b",
    " a",
    "a\n",
    "https://a.example",
    "a.example/",
    "a.example:",
    "a.example:123456",
    "a.example:x",
    "a.example:1x",
    "xx*.a:1",
    "[::1",
    "::1]",
    "[]",
    "[::g]",
    "x[::1]",
    "[::1]x",
    "[::1]:",
    "[::1]:123456",
    "[::1]:x",
    "*.[::1]",
    long(261)
  ]
  for (const host of others) expect([host, isDocumentHost(host)]).toEqual([host, false])
})

test("documents are taken from any host, or from those that are named and those below", () => {
  const rows: ReadonlyArray<readonly [DocumentHosts | undefined, string, boolean]> = [
    [undefined, "a.example", true],
    ["any", "a.example", true],
    [[], "a.example", false],
    [["b.example", "a.example"], "a.example", true],
    [["a.example"], "a.example:8443", false],
    [["a.example:8443"], "a.example:8443", true],
    [["*.example"], "a.example", true],
    [["*.example"], "b.a.example", true],
    [["*.a.example"], "a.example", false],
    [["*.a.example"], "xa.example", false],
    [["a.example"], "b.a.example", false],
    [[".example"], "a.example", false]
  ]
  for (const [hosts, host, taken] of rows) expect([hosts, host, takesHost(hosts, host)]).toEqual([hosts, host, taken])
})

test("what two lists take is what each of them takes, each entry once", () => {
  const lists: ReadonlyArray<DocumentHosts | undefined> = [
    undefined,
    "any",
    [],
    ["a.example"],
    ["a.example", "b.example:8443"],
    ["*.example"],
    ["*.a.example", "a.example", "c.test"],
    ["*.example:8443", "c.test"]
  ]
  const hosts = ["a.example", "b.a.example", "c.b.a.example", "b.example", "b.example:8443", "example", "c.test"]
  for (const one of lists) {
    for (const other of lists) {
      const both = hostsOfBoth(one, other)
      const taken = hosts.filter((host) => takesHost(both, host))
      expect([one, other, taken]).toEqual([
        one,
        other,
        hosts.filter((host) => takesHost(one, host) && takesHost(other, host))
      ])
      expect(new Set(both).size).toBe(both.length)
    }
  }
})

test("a ban of a host is one of each of its ports, and a ban of a port of no other", () => {
  const rows: ReadonlyArray<readonly [ReadonlyArray<string>, string, boolean]> = [
    [[], "a.example", false],
    [["b.example", "a.example"], "a.example", true],
    [["a.example"], "a.example:8443", true],
    [["a.example"], "a.example:1", true],
    [["*.example"], "a.example:8443", true],
    [["a.example:8443"], "a.example:8443", true],
    [["a.example:8443"], "a.example", false],
    [["a.example:8443"], "a.example:843", false],
    [["[2001:db8::1]"], "[2001:db8::1]:8443", true],
    [["[2001:db8::1]"], "[2001:db8::1]", true],
    [["[2001:db8:]"], "[2001:db8::1]", false],
    [["b.example"], "a.example:8443", false]
  ]
  for (const [banned, host, is] of rows) expect([banned, host, isBanned(banned, host)]).toEqual([banned, host, is])
})

test("a record holds a thousand hosts, all well written, or any", () => {
  const is = Schema.is(DocumentHosts)
  const many = (count: number) => Array.from({ length: count }, (_, at) => `a${at}.example`)
  expect([is("any"), is([]), is(many(mostHosts)), is(many(mostHosts + 1))]).toEqual([true, true, true, false])
  expect([is("all"), is(["A"]), is(["a.example", "b..c"])]).toEqual([false, false, false])
})
