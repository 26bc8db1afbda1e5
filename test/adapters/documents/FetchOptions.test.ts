import { expect, test } from "bun:test"
import { Result } from "effect"
import { certificatesIn, readAllowList } from "../../../adapters/documents/FetchOptions.ts"

const places = (...entries: ReadonlyArray<string>) =>
  Result.match(readAllowList(entries), { onFailure: (entry) => `not ${entry}`, onSuccess: (list) => [...list] })

test("a host is let in at the usual ports, or at the one that is said", () => {
  expect(places()).toEqual([])
  expect(places("keys.internal")).toEqual(["keys.internal:443", "keys.internal:8443"])
  expect(places("keys.internal:443")).toEqual(["keys.internal:443"])
  expect(places("KEYS.internal:9443", "10.0.0.5", "[fd00::0:1]:443")).toEqual([
    "keys.internal:9443",
    "10.0.0.5:443",
    "10.0.0.5:8443",
    "[fd00::1]:443"
  ])
})

test("what names no host is refused, and named", () => {
  const wrong = [
    "",
    " ",
    "*",
    "*.internal",
    "keys.internal.",
    "https://keys.internal",
    "keys.internal/path",
    "user@keys.internal",
    "keys.internal:99999",
    "keys.internal:",
    "10.0.0.0/8",
    "fd00::1",
    "a b",
    "a,b?c"
  ]
  for (const entry of wrong) expect([entry, places("keys.internal", entry)]).toEqual([entry, `not ${entry}`])
})

test("certificates are found among what else a file holds", () => {
  const one = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----"
  expect(certificatesIn("")).toEqual([])
  expect(certificatesIn("-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----")).toEqual([])
  expect(certificatesIn(`# ours\n${one}\n\n${one.replaceAll("\n", "\r\n")}\n`)).toHaveLength(2)
})
