import { describe, expect, test } from "bun:test"
import {
  type Attempted,
  callOf,
  emptied,
  failed,
  jtiOf,
  judged,
  type LogoutQueue,
  leaseFor,
  logoutKind,
  pauseAfter,
  prolonged,
  rested,
  taken,
  takenFrom,
  triedFor,
  woken
} from "../../core/engine/logoutCalls.ts"
import { ClientId, UserId } from "../../core/rules/Id.ts"
import { Instant } from "../../core/rules/Instant.ts"
import { digestOf } from "../../core/rules/Secret.ts"
import { Issuer } from "../../core/workspace/Workspace.ts"
import { theWorkspace } from "../given/World.ts"
import { after, t0 } from "../grant/given.ts"

const client = ClientId.make("c".repeat(22))
const sid = digestOf("a session")
const minute = 60_000
const day = 24 * 60 * minute

const queue = (over: Partial<LogoutQueue> = {}): LogoutQueue => ({
  _tag: "Queue",
  client,
  waiting: true,
  lease: null,
  woken: false,
  failures: 0,
  dueAt: t0,
  wokenAt: t0,
  ...over
})

const call = callOf(client, UserId.make("alice"), sid, t0, "000000ab")
const lease = (by = "me", until = after(leaseFor)) => ({ by, until })

describe("a call", () => {
  test("has an id in the order of its time and place, and its client's for ever", () => {
    expect(call).toEqual({
      _tag: "Call",
      id: `call:${client}:${t0}:000000ab`,
      client,
      user: UserId.make("alice"),
      sid,
      at: t0
    })
    const at = (moment: number, place: string) => callOf(client, call.user, sid, Instant.make(moment), place).id
    const ids = [at(5, "b"), at(5, "c"), at(40, "a"), at(t0, "a"), at(t0 + 1, "a")]
    expect(ids.toSorted()).toEqual(ids)
  })

  test("is named alike however often it is made, and otherwise by another issuer and of another session", () => {
    const name = jtiOf(theWorkspace.issuer, call)
    expect(name).toBe(jtiOf(theWorkspace.issuer, callOf(client, call.user, sid, after(9), "x")))
    expect(name).not.toBe(jtiOf(theWorkspace.issuer, { ...call, sid: digestOf("another") }))
    expect(name).not.toBe(jtiOf(Issuer.make("https://other.example"), call))
  })

  test("is kept for eight days, as its client's queue is since it was last woken", () => {
    expect(logoutKind.expiresAt(call)).toBe(after(8 * day))
    for (const more of [{}, { waiting: false, lease: lease() }]) {
      expect(logoutKind.expiresAt(queue({ wokenAt: after(1), ...more }))).toBe(after(8 * day + 1))
    }
    // One that sleeps says no more than none does, and every round reads all that there are.
    expect(logoutKind.expiresAt(queue({ waiting: false, wokenAt: after(1) }))).toBe(after(60 * minute + 1))
    expect([logoutKind.id(call), logoutKind.owner(call)]).toEqual([call.id, `client:${client}`])
    expect([logoutKind.id(queue()), logoutKind.owner(queue())]).toEqual([`queue:${client}`, "queues"])
  })
})

test("a queue is woken where it does not say so already", () => {
  const fresh = queue({ woken: true, dueAt: after(5), wokenAt: after(5) })
  const asleep = queue({ waiting: false, failures: 3, failing: "x" })
  expect(woken(undefined, client, after(5))).toEqual(fresh)
  expect(woken(asleep, client, after(5))).toEqual(fresh)
  const rows: ReadonlyArray<readonly [string, LogoutQueue, number, boolean]> = [
    ["it waits", queue(), 5, false],
    ["it pauses", queue({ failures: 2, dueAt: after(9) }), 5, false],
    ["it waits since a day", queue(), day, true],
    ["it waits since almost a day", queue(), day - 1, false],
    ["somebody delivers, who does not know", queue({ lease: lease() }), 5, true],
    ["somebody delivers, who will look again", queue({ lease: lease(), woken: true }), 5, false],
    ["somebody delivers the last one", queue({ lease: lease(), waiting: false }), 5, true]
  ]
  for (const [what, before, at, wakes] of rows) {
    const expected = wakes ? { ...before, waiting: true, woken: true, wokenAt: after(at) } : undefined
    expect([what, woken(before, client, after(at))]).toEqual([what, expected])
  }
})

test("a queue is taken by one at a time, once its pause is over and the lease before has passed", () => {
  const rows: ReadonlyArray<readonly [string, LogoutQueue, from: Instant | undefined]> = [
    ["it sleeps", queue({ waiting: false }), undefined],
    ["it waits", queue(), t0],
    ["it pauses", queue({ dueAt: after(7) }), after(7)],
    ["it is leased", queue({ lease: lease("other", after(9)) }), after(9)],
    ["its lease ends before its pause", queue({ lease: lease("other", after(3)), dueAt: after(7) }), after(7)]
  ]
  for (const [what, before, from] of rows) {
    expect([what, takenFrom(before)]).toEqual([what, from])
    const at = from ?? after(day)
    expect([what, taken(before, "me", Instant.make(at - 1))]).toEqual([what, undefined])
    const expected =
      from === undefined ? undefined : { ...before, lease: lease("me", Instant.make(at + leaseFor)), woken: false }
    expect([what, taken({ ...before, woken: true }, "me", at)]).toEqual([what, expected])
  }
})

test("a lease is prolonged before a call where too little of it is left, and never one of another", () => {
  const own = queue({ lease: lease() })
  const enough = leaseFor - 15_000
  expect([prolonged(queue(), "me", t0), prolonged(queue({ lease: lease("other") }), "me", t0)]).toEqual([
    undefined,
    undefined
  ])
  for (const at of [0, enough]) expect(prolonged(own, "me", after(at))).toBe(own)
  for (const at of [enough + 1, leaseFor, day]) {
    expect(prolonged(own, "me", after(at))).toEqual({ ...own, lease: lease("me", after(at + leaseFor)) })
  }
})

test("an empty queue sleeps, unless it was woken since its lease began, or is another's", () => {
  const own = queue({ lease: lease(), failures: 2 })
  expect(emptied(own, "me")).toEqual({ ...own, waiting: false, lease: null, failures: 0 })
  expect(emptied({ ...own, woken: true }, "me")).toEqual({ ...own, failures: 0 })
  expect([emptied(own, "other"), emptied(queue(), "me")]).toEqual([undefined, undefined])
})

test("a queue whose turn is over is free for whoever comes next, at once, and is left alone where it is another's", () => {
  const own = queue({ lease: lease(), woken: true, failures: 2, failing: call.id })
  expect(rested(own, "me")).toEqual({ ...own, lease: null })
  expect(takenFrom(rested(own, "me") ?? own)).toBe(t0)
  expect([rested(own, "other"), rested(queue(), "me")]).toEqual([undefined, undefined])
})

test("a call that fails lets all wait, twice as long each time, up to an hour", () => {
  const seconds = Array.from({ length: 12 }, (_, at) => pauseAfter(at + 1) / 1000)
  expect(seconds).toEqual([10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600, 3600])
  const own = queue({ lease: lease(), woken: true, failures: 2 })
  const next = (before: LogoutQueue) => failed(before, "me", call, after(5))
  const third = { ...own, lease: null, woken: false, failures: 3, failing: call.id, dueAt: after(40_005) }
  expect(next({ ...own, failing: call.id })).toEqual(third)
  // Where an earlier release wrote it, it was the first.
  expect(next(own)).toEqual(third)
  expect(next({ ...own, failing: "another" })).toEqual({ ...third, failures: 1, dueAt: after(10_005) })
  expect([next(queue()), failed(own, "other", call, t0)]).toEqual([undefined, undefined])
})

test("an attempt is taken, refused, or tried again for a day (OpenID Connect Back-Channel Logout §2.8)", () => {
  const rows: ReadonlyArray<readonly [Attempted, string | undefined]> = [
    ...[200, 204, 299].map((status) => [{ status }, "delivered"] as const),
    [{ status: 400 }, "refused"],
    ...[100, 199, 300, 302, 401, 403, 404, 407, 408, 410, 425, 429, 499].map(
      (status) => [{ status }, undefined] as const
    ),
    ...[500, 503, 599].map((status) => [{ status }, undefined] as const),
    [{ fault: "no_address" }, "no_address"],
    ...(["bad_address", "redirected", "unsigned"] as const).map((fault) => [{ fault }, undefined] as const)
  ]
  for (const [attempted, expected] of rows) {
    expect<unknown>([attempted, judged(attempted, call, after(triedFor - 1))]).toEqual([attempted, expected])
    expect<unknown>([attempted, judged(attempted, call, after(triedFor))]).toEqual([
      attempted,
      expected ?? "not_delivered"
    ])
  }
})
