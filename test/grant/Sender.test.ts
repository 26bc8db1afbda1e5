import { describe, expect, test } from "bun:test"
import { compareSenders } from "../../core/grant/Sender.ts"
import { makeSealer, sealKey } from "../../core/token/KeyRing.ts"
import { ring, sentBy } from "./given.ts"

const key = ring.first.id
const office = { network: "192.0.2.7", userAgent: "Fetcher/1.0" }
const marks = (sender: Parameters<typeof sentBy>[0], sealer = ring) => sentBy(sender, sealer)(key)

describe("the marks of a sender", () => {
  test("are these: what a release kept has to be known again by the next one", () => {
    expect(marks(office)).toEqual({ network: "b1Fm47eN-AU", userAgent: "vn7EPGMUqoE" })
  })

  test("say of one text as a network nothing of it as a user agent", () => {
    const same = marks({ network: "one text", userAgent: "one text" })
    expect(same?.network).not.toBe(same?.userAgent)
  })

  test("are compared each for itself, and tell nothing where one is not known", () => {
    const first = marks(office)
    const gone = makeSealer([sealKey(new Uint8Array(32).fill(9))])
    for (const [sender, network, userAgent] of [
      [office, "same", "same"],
      [{ ...office, network: "192.0.2.8" }, "other", "same"],
      [{ ...office, network: undefined }, "unknown", "same"],
      [{ ...office, userAgent: "" }, "same", "other"],
      [{ network: undefined, userAgent: "Other/2.0" }, "unknown", "other"]
    ] as const) {
      expect(compareSenders(first, marks(sender))).toEqual({ network, userAgent })
      expect(compareSenders(marks(sender), first)).toEqual({ network, userAgent })
    }
    expect(marks(office, gone)).toBeNull()
    const unknown = { network: "unknown", userAgent: "unknown" } as const
    expect(compareSenders(first, null)).toEqual(unknown)
    expect(compareSenders(null, first)).toEqual(unknown)
    // Two that are both not known are not the same one.
    expect(compareSenders(marks({ network: undefined }), marks({ network: undefined })).network).toBe("unknown")
  })
})
