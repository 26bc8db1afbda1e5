import { describe, expect, test } from "bun:test"
import { makeDice, seedOfRun } from "../../core/testing/Dice.ts"
import { type Guard, remoteGuard } from "../../runtimes/guard.ts"
import { bearer, issuer, machine, testClock, withHost } from "../embed/host.ts"
import { runs, seed } from "../laws/runs.ts"

/** Fewer than laws have, since each is long and has a server of its own. */
const scripts = Math.max(1, Math.ceil(runs / 25))
const steps = 60

interface Held {
  readonly text: string
  readonly endsAt: number
  revokedAt: number | undefined
  /** When the guard was told to forget it. */
  forgottenAt: number | undefined
}

/** Random scripts of checks, revocations, outages and waiting, against what the guard's README promises. */
const play = async (own: number) => {
  const dice = makeDice(own)
  const ttl = dice.pick([0, 1, 1000, 5000])
  const { clock, wait } = await testClock()
  await withHost({ clock, lifetimes: { access: "20 seconds" }, rateLimits: false }, async (auth) => {
    let away = false
    const { key } = await auth.apiKeys.create({ name: "Orders API" })
    const guard = remoteGuard({
      issuer,
      apiKey: key,
      resource: issuer,
      cache: { ttl, negativeTtl: dice.pick([0, 500, 10_000]), maxEntries: dice.pick([1, 3, 100]) },
      clock,
      fetch: (url, init) => (away ? Promise.reject(new TypeError("fetch failed")) : auth.handle(new Request(url, init)))
    })
    const { revoke, token } = await machine(auth)
    const held: Array<Held> = []
    const now = () => clock.currentTimeMillisUnsafe()
    const statusOf = async (guard: Guard, text: string) => {
      const checked = await guard.guard(bearer(`${issuer}/orders`, text), { scopes: ["api"] })
      return checked._tag === "Admitted" ? 200 : checked.response.status
    }
    const check = async (one: Held) => {
      const status = await statusOf(guard, one.text)
      const live = one.revokedAt === undefined && now() < one.endsAt
      if (live) {
        // A live token is refused only in an outage, so the guard remembers no wrong refusal.
        expect(away ? [200, 503] : [200]).toContain(status)
        return
      }
      expect([200, 401, 503]).toContain(status)
      if (status !== 200) return
      // It is good no longer, and was admitted: then it has to be young enough, and not past its end.
      expect(now()).toBeLessThan(one.endsAt)
      expect(one.revokedAt === undefined ? 0 : now() - one.revokedAt).toBeLessThan(ttl)
      expect(one.forgottenAt ?? 0).toBeLessThan(one.revokedAt ?? 1)
    }

    for (let step = 0; step < steps; step++) {
      const one = held.length === 0 ? undefined : held[dice.under(held.length)]
      const act = dice.weighted([
        [held.length < 6 ? 2 : 0, "issue"],
        [8, "check"],
        [2, "herd"],
        [2, "revoke"],
        [1, "forget"],
        [3, "wait"],
        [1, "away"],
        [1, "forge"]
      ] as const)
      if (act === "issue" || one === undefined) {
        held.push({ text: await token(), endsAt: now() + 20_000, revokedAt: undefined, forgottenAt: undefined })
      } else if (act === "check") await check(one)
      else if (act === "herd") await Promise.all(Array.from({ length: 5 }, () => check(one)))
      else if (act === "revoke") {
        await revoke(one.text)
        one.revokedAt ??= now()
      } else if (act === "forget") {
        guard.forget(one.text)
        if (one.revokedAt !== undefined) one.forgottenAt = now() + 1
      } else if (act === "wait") await wait(dice.pick([1, 400, 999, 1000, 4999, 5000]))
      else if (act === "away") away = !away
      else expect([401, 503]).toContain(await statusOf(guard, `${one.text.slice(0, -2)}${dice.pick(["AA", "zz"])}`))
    }
  })
}

describe("however tokens are checked, revoked and forgotten", () => {
  test("a live one is admitted, and a revoked or expired one is believed no longer than `ttl`, never past its end", async () => {
    for (let run = 0; run < scripts; run++) {
      const own = seedOfRun(seed, run)
      try {
        await play(own)
      } catch (error) {
        throw new Error(`See it again with TESSERA_SEED=${own} TESSERA_RUNS=1`, { cause: error })
      }
    }
  }, 120_000)
})
