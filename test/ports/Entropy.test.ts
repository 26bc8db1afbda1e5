import { expect, spyOn, test } from "bun:test"
import { Effect } from "effect"
import { hexOf } from "../../core/codec/Base64Url.ts"
import { Entropy } from "../../core/ports/Entropy.ts"

/** What the platform is asked to fill from now on. */
const watched = Effect.acquireRelease(
  Effect.sync(() => {
    const filled = new Set<Uint8Array>()
    const platform = globalThis.crypto.getRandomValues.bind(globalThis.crypto)
    const spy = spyOn(globalThis.crypto, "getRandomValues").mockImplementation(
      <T extends ArrayBufferView>(bytes: T): T => {
        if (bytes instanceof Uint8Array) filled.add(bytes)
        return platform(bytes)
      }
    )
    return { filled, spy }
  }),
  ({ spy }) => Effect.sync(() => spy.mockRestore())
)

// Odd ones, so that a draw now and then does not fit into what is left.
const lengths = [1, 8, 9, 16, 30, 32, 48, 512, 2047, 2048, 2049, 5000]

test("what is drawn is random to its last byte, never twice the same, and not kept", () =>
  Effect.gen(function* () {
    const { filled } = yield* watched
    const entropy = yield* Entropy
    const seen = new Set<string>()
    for (let round = 0; round < 20; round++) {
      for (const length of lengths) {
        const drawn = entropy.bytes(length)
        expect(drawn.length).toBe(length)
        // Eight bytes of nothing, or the same eight bytes again, are not met by chance.
        for (let at = 0; at + 8 <= length; at += 8) seen.add(hexOf(drawn, at, at + 8))
        if (length >= 8) seen.add(hexOf(drawn, length - 8, length))
        // A long draw is filled by itself, and is the caller's own.
        filled.delete(drawn)
        const kept = length >= 8 && [...filled].some((pool) => hexOf(pool).includes(hexOf(drawn)))
        expect([round, length, kept]).toEqual([round, length, false])
      }
    }
    const wanted = lengths.reduce(
      (sum, length) => sum + Math.floor(length / 8) + (length % 8 > 0 && length >= 8 ? 1 : 0),
      0
    )
    // Where a length is whole eights, its end was counted with the rest.
    expect([seen.size, seen.has("0".repeat(16))]).toEqual([20 * wanted, false])
  }).pipe(Effect.scoped, Effect.provide(Entropy.layer), Effect.runPromise))
