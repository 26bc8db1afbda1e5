import { describe, expect, test } from "bun:test"
import { Option } from "effect"
import { SignInThrottle } from "../../../core/people/SignInThrottle.ts"
import { networkOf } from "../../../core/ports/Limiter.ts"
import { Instant } from "../../../core/rules/Instant.ts"
import { t0 } from "../../given/World.ts"

const now = Instant.make(t0)

/** How many guesses at one login get through from these addresses, one from each. */
const guesses = (throttle: SignInThrottle, addresses: ReadonlyArray<string>) =>
  addresses.filter((address) =>
    Option.isNone(throttle.begin({ login: "home victim", network: networkOf(address), device: undefined }, now))
  ).length

const customer = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, subnet) => `${prefix}:${subnet.toString(16)}::1`)

describe("one IPv6 customer, who has 65,536 networks of his own", () => {
  test("gets no more tries at a login than a handful beyond its share", () => {
    expect(guesses(new SignInThrottle(), customer("2001:db8:1", 3000))).toBeLessThanOrEqual(60 + 8)
  })

  test("keeps the login's owner out of nothing in another place", () => {
    const throttle = new SignInThrottle()
    guesses(throttle, customer("2001:db8:1", 3000))
    expect(guesses(throttle, ["2001:db8:2::1"])).toBe(1)
    expect(guesses(throttle, ["192.0.2.7"])).toBe(1)
    expect(guesses(throttle, ["::ffff:192.0.2.8"])).toBe(1)
  })
})
