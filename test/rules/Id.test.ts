import { describe, expect, test } from "bun:test"
import { Option, Schema } from "effect"
import { ClientId, clientIdOf, GrantId, grantIdOf, idBytes, readClientId, UserId } from "../../core/rules/Id.ts"
import { Digest } from "../../core/rules/Secret.ts"
import { WorkspaceId } from "../../core/workspace/Workspace.ts"

const sixteen = Uint8Array.from({ length: 16 }, (_, at) => at * 16)

describe("ids of grants and clients", () => {
  test("are sixteen bytes as 22 characters, there and back", () => {
    expect(String(grantIdOf(sixteen))).toBe("ABAgMEBQYHCAkKCwwNDg8A")
    expect(String(clientIdOf(sixteen))).toBe("ABAgMEBQYHCAkKCwwNDg8A")
    expect(idBytes(grantIdOf(sixteen))).toEqual(sixteen)
  })

  test("are read from exactly such texts", () => {
    const readGrantId = Schema.decodeUnknownOption(GrantId)
    const good = "ABAgMEBQYHCAkKCwwNDg8-_"
    expect(readGrantId(good.slice(1))).toEqual(Option.some(GrantId.make(good.slice(1))))
    expect(readClientId(good.slice(1))).toEqual(Option.some(ClientId.make(good.slice(1))))
    for (const bad of ["", good, good.slice(2), `${good.slice(2)}+`, `${good.slice(2)}=`, `${good.slice(1)}\n`]) {
      expect([Option.isNone(readGrantId(bad)), Option.isNone(readClientId(bad))]).toEqual([true, true])
    }
  })
})

describe("other names", () => {
  const cases = [
    [UserId, ["a", "~!/:@", "x".repeat(128)], ["", "x".repeat(129), "a b", "a\n", " a", "ä", "\u007f"]],
    [WorkspaceId, ["a", "A-z_9", "x".repeat(64)], ["", "x".repeat(65), "a b", " a", "a ", "a/b", "ä"]],
    [Digest, ["x".repeat(43), `${"x".repeat(41)}-_`], ["x", "x".repeat(42), "x".repeat(44), `${"x".repeat(42)}=`]]
  ] as const
  for (const [brand, good, bad] of cases) {
    test(`are ${good.map((text) => text.slice(0, 20)).join(", ")}, not ${JSON.stringify(bad.map((text) => text.slice(0, 20)))}`, () => {
      for (const text of good) expect([text, Schema.is(brand)(text)]).toEqual([text, true])
      for (const text of bad) expect([text, Schema.is(brand)(text)]).toEqual([text, false])
    })
  }
})
