import { describe, expect, test } from "bun:test"
import { Result } from "effect"
import { base64Url, readBase64Url } from "../../../core/codec/Base64Url.ts"
import { asksNonce, makeNonces } from "../../../core/oauth/presented/nonce.ts"
import { Instant } from "../../../core/rules/Instant.ts"
import { makeSealer, type Place, type Sealer, sealKey } from "../../../core/token/KeyRing.ts"
import { home, policy } from "../../grant/given.ts"

const minute = 60_000
/** The first moment of a period. */
const t0 = Math.ceil(1_900_000_000_000 / minute) * minute
const at = (millis: number): Instant => Instant.make(t0 + millis)
const key = (byte: number) => sealKey(new Uint8Array(32).fill(byte))
const ring = makeSealer([key(1)])

const noncesOf = (sealer: Sealer, dpopNonce: "off" | "auth" | "all" = "all") =>
  makeNonces({ current: () => sealer }, { ...policy, dpopNonce })

interface Shown {
  readonly by?: Sealer
  readonly place?: Place
  readonly now?: Instant
}

/** What a text comes to: `good`, or why it is not, and the nonce that is told beside. */
const judged = (shown: unknown, { by = ring, now = at(0), place = home }: Shown = {}) => {
  const found = noncesOf(by).judge("auth", place, shown, now)
  return Result.isSuccess(found)
    ? (["good", ...found.success.flat()] as const)
    : ([found.failure.reason, found.failure.nonce] as const)
}

const madeAt = (now: Instant, by = ring, place = home): string => {
  const [, nonce] = judged(undefined, { by, now, place })
  return nonce ?? expect.unreachable()
}

describe("a nonce", () => {
  test("is good in its minute and the next, of which the second tells the one after it", () => {
    const nonce = madeAt(at(5000))
    const next = madeAt(at(minute))
    expect(next).not.toBe(nonce)
    const rows = [
      [-minute - 1, ["nonce_stale", madeAt(at(-minute - 1))]],
      // Made by a process whose clock is a little ahead.
      [-minute, ["good"]],
      [-1, ["good"]],
      [0, ["good"]],
      [minute - 1, ["good"]],
      [minute, ["good", "dpop-nonce", next]],
      [2 * minute - 1, ["good", "dpop-nonce", next]],
      [2 * minute, ["nonce_stale", madeAt(at(2 * minute))]]
    ] as const
    for (const [millis, expected] of rows)
      expect([millis, judged(nonce, { now: at(millis) })]).toEqual([millis, expected])
  })

  test.each([[undefined], [null], [7], [["x"]], [{ nonce: "x" }]])("has to be a text: %p", (shown) => {
    expect(judged(shown)).toEqual(["nonce_missing", madeAt(at(0))])
  })

  test("is one of the server's own, byte by byte, in its own place", () => {
    const nonce = madeAt(at(0))
    const bytes = readBase64Url(nonce) ?? expect.unreachable()
    for (const text of ["", "x", `${nonce}A`, nonce.slice(1), `*${nonce.slice(1)}`]) {
      expect(judged(text)).toEqual(["nonce_stale", nonce])
    }
    for (let one = 0; one < bytes.length; one++) {
      const other = Uint8Array.from(bytes)
      other[one] = (other[one] ?? 0) ^ 1
      expect([one, judged(base64Url(other))[0]]).toEqual([one, "nonce_stale"])
    }
    for (const place of [
      { ...home, id: "abroad" },
      { ...home, issuer: "https://other.example" }
    ]) {
      expect(judged(nonce, { place })).toEqual(["nonce_stale", madeAt(at(0), ring, place)])
    }
  })

  test("is good for as long as its key is in the ring, and told under the first of it", () => {
    const nonce = madeAt(at(0))
    const turned = makeSealer([key(2), key(1)])
    expect(judged(nonce, { by: turned })).toEqual(["good"])
    expect(judged(nonce, { by: turned, now: at(minute) })).toEqual(["good", "dpop-nonce", madeAt(at(minute), turned)])
    expect(madeAt(at(0), turned)).toBe(madeAt(at(0), makeSealer([key(2)])))
    expect(judged(nonce, { by: makeSealer([key(2)]) })[0]).toBe("nonce_stale")
  })

  test("is asked for where the policy says so, and no text is looked at elsewhere", () => {
    const asked = (["off", "auth", "all"] as const).map((dpopNonce) =>
      (["auth", "resource"] as const).map((where) => {
        const found = noncesOf(ring, dpopNonce).judge(where, home, undefined, at(0))
        expect(asksNonce({ ...policy, dpopNonce }, where)).toBe(Result.isFailure(found))
        return Result.isFailure(found)
      })
    )
    expect(asked).toEqual([
      [false, false],
      [true, false],
      [true, true]
    ])
    expect(noncesOf(ring, "off").judge("auth", home, "x", at(0))).toEqual(Result.succeed([]))
  })
})
