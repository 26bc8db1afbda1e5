import { describe, expect, test } from "bun:test"
import { Deferred, Effect, Fiber, Layer, Logger, type Scope } from "effect"
import { TestClock } from "effect/testing"
import type { Answer } from "../../../adapters/documents/Answer.ts"
import {
  burstAtHost,
  makeDocuments,
  mostAtHost,
  mostForAsker,
  mostOf
} from "../../../adapters/documents/makeDocuments.ts"
import { DocumentFault, type DocumentLimits, type Documents } from "../../../core/ports/Documents.ts"
import type { Instant } from "../../../core/rules/Instant.ts"

const limits: DocumentLimits = { longest: 1000, within: 5000, freshFor: { least: 60_000, most: 86_400_000 } }
const address = "https://keys.example/keys"
const utf8 = new TextEncoder()

const answer = (text: string, cacheControl?: string): Answer => ({
  status: 200,
  header: (name) => (name === "cache-control" ? cacheControl : undefined),
  body: utf8.encode(text)
})

/** A network whose every request waits to be answered, in the order in which they came. */
class Web {
  readonly asked: Array<string> = []
  ended = 0
  private readonly waiting: Array<Deferred.Deferred<Answer, DocumentFault>> = []

  readonly documents = makeDocuments(
    {
      get: ({ url }) => this.takes(url.href),
      post: ({ url }, form) => Effect.map(this.takes(`${url.href} ${form}`), ({ status }) => status)
    },
    new Set()
  )

  private readonly takes = (what: string) =>
    Effect.suspend(() => {
      const answered = Deferred.makeUnsafe<Answer, DocumentFault>()
      this.asked.push(what)
      this.waiting.push(answered)
      return Effect.ensuring(
        Deferred.await(answered),
        Effect.sync(() => {
          this.ended++
        })
      )
    })

  answers = (text: string, cacheControl?: string) =>
    Effect.suspend(() => {
      const next = this.waiting.shift()
      return next === undefined ? Effect.die("nothing was asked") : Deferred.succeed(next, answer(text, cacheControl))
    })

  fails = (reason: DocumentFault["reason"]) =>
    Effect.suspend(() => {
      const next = this.waiting.shift()
      return next === undefined ? Effect.die("nothing was asked") : Deferred.fail(next, new DocumentFault({ reason }))
    })
}

type Body<A, E> = (web: Web, documents: Documents["Service"]) => Effect.Effect<A, E, Scope.Scope>

const onWeb = <A, E>(body: Body<A, E>, logged: Array<unknown> = []) => {
  const web = new Web()
  const logger = Logger.make(({ message }) => void logged.push(message))
  return Effect.runPromise(
    Effect.flatMap(web.documents, (documents) => body(web, documents)).pipe(
      Effect.scoped,
      Effect.provide(Layer.merge(TestClock.layer(), Logger.layer([logger])))
    )
  )
}

const outcome = (fetching: ReturnType<Documents["Service"]["fetch"]>) =>
  Effect.match(fetching, { onFailure: ({ reason }): string => reason, onSuccess: ({ body }) => body })

/** Begun, and as far as it comes without an answer. */
const begun = (fetching: ReturnType<Documents["Service"]["fetch"]>) =>
  Effect.tap(Effect.forkChild(outcome(fetching), { startImmediately: true }), () => TestClock.adjust(0))

describe("documents", () => {
  test("are fetched once for all who wait, and kept for as long as they are fresh", () =>
    onWeb((web, { fetch }) =>
      Effect.gen(function* () {
        const waiters = yield* Effect.all(Array.from({ length: 20 }, () => begun(fetch(address, limits))))
        expect(web.asked).toEqual([address])
        yield* web.answers("[1]", "max-age=600")
        expect(new Set(yield* Effect.forEach(waiters, Fiber.join))).toEqual(new Set(["[1]"]))
        yield* TestClock.adjust("9 minutes")
        expect((yield* fetch(address, limits)).body).toBe("[1]")
        expect(web.asked).toHaveLength(1)
        yield* TestClock.adjust("1 minute")
        const again = yield* begun(fetch(address, limits))
        yield* web.answers("[2]")
        expect(yield* Fiber.join(again)).toBe("[2]")
        expect(web.asked).toHaveLength(2)
      })
    ))

  test("are the same object for as long as they are kept, and know when they were asked for", () =>
    onWeb((web, { fetch }) =>
      Effect.gen(function* () {
        yield* TestClock.setTime(1000)
        const waiter = yield* Effect.forkChild(fetch(address, limits), { startImmediately: true })
        yield* TestClock.adjust(2000)
        yield* web.answers("[1]")
        const document = yield* Fiber.join(waiter)
        expect(document).toEqual({ body: "[1]", fetchedAt: 1000 as Instant, freshUntil: 61_000 as Instant })
        expect(yield* fetch(address, limits)).toBe(document)
      })
    ))

  test("are fetched anew where the clock was set back: a client's key that is gone would be good for as long", () =>
    onWeb((web, { fetch }) =>
      Effect.gen(function* () {
        yield* TestClock.setTime(10_000_000)
        const first = yield* begun(fetch(address, limits))
        yield* web.answers("[1]", "max-age=600")
        expect(yield* Fiber.join(first)).toBe("[1]")
        yield* TestClock.setTime(1_000_000)
        // How much of its share the host has used is not known any more, so all of it may be.
        expect(yield* outcome(fetch(address, limits))).toBe("busy")
        yield* TestClock.adjust(100)
        const second = yield* begun(fetch(address, limits))
        expect(web.asked).toHaveLength(2)
        yield* web.answers("[2]")
        expect(yield* Fiber.join(second)).toBe("[2]")
      })
    ))

  test("are one for a waiter that goes on when another goes away", () =>
    onWeb((web, { fetch }) =>
      Effect.gen(function* () {
        const first = yield* begun(fetch(address, limits))
        const second = yield* begun(fetch(address, limits))
        yield* Fiber.interrupt(first)
        expect(web.ended).toBe(0)
        yield* web.answers("[1]")
        expect(yield* Fiber.join(second)).toBe("[1]")
        const third = yield* begun(fetch("https://keys.example/other", limits))
        yield* Fiber.interrupt(third)
        yield* web.answers("[2]")
        yield* TestClock.adjust(0)
        // No request waited for the answer, and the cache has it all the same.
        expect((yield* fetch("https://keys.example/other", limits)).body).toBe("[2]")
        expect(web.asked).toHaveLength(2)
      })
    ))

  test("are fetched anew for who needs them as of later, and the kept one stays where that fails", () =>
    onWeb((web, { fetch }) =>
      Effect.gen(function* () {
        const first = yield* begun(fetch(address, limits))
        yield* web.answers("[1]")
        yield* Fiber.join(first)
        yield* TestClock.adjust(1000)
        const now = 1000 as Instant
        const again = yield* begun(fetch(address, limits, now))
        expect((yield* fetch(address, limits)).body).toBe("[1]")
        yield* web.fails("unreachable")
        expect(yield* Fiber.join(again)).toBe("unreachable")
        expect((yield* fetch(address, limits)).body).toBe("[1]")
        const third = yield* begun(fetch(address, limits, now))
        yield* web.answers("[3]")
        expect(yield* Fiber.join(third)).toBe("[3]")
        expect((yield* fetch(address, limits, now)).body).toBe("[3]")
        expect(web.asked).toHaveLength(3)
      })
    ))

  test("that could not be had are never kept, and the log names the host alone", () => {
    const logged: Array<unknown> = []
    return onWeb(
      (web, { fetch }) =>
        Effect.gen(function* () {
          const secret = "https://keys.example/keys?token=hunter2"
          for (const reason of ["unreachable", "status", "not_json"] as const) {
            const waiter = yield* begun(fetch(secret, limits))
            yield* reason === "not_json" ? web.answers("{") : web.fails(reason)
            expect(yield* Fiber.join(waiter)).toBe(reason)
          }
          expect(web.asked).toHaveLength(3)
          expect(JSON.stringify(logged)).toContain("keys.example")
          expect(JSON.stringify(logged)).not.toContain("hunter2")
          expect(logged).toHaveLength(3)
        }),
      logged
    )
  })

  test("are told as unreachable where the platform throws", () => {
    const body = Effect.gen(function* () {
      const throws = Effect.die(new TypeError("hunter2"))
      const { fetch, post } = yield* makeDocuments({ get: () => throws, post: () => throws }, new Set())
      for (let time = 0; time < 2 * mostAtHost; time++) {
        expect(yield* outcome(fetch(address, limits))).toBe("unreachable")
        expect((yield* Effect.flip(post(address, "a=1", limits))).reason).toBe("unreachable")
      }
    })
    return Effect.runPromise(body.pipe(Effect.scoped, Effect.provide(Logger.layer([]))))
  })

  test("have one deadline for everything, at which nothing stays open", () =>
    onWeb((web, { fetch }) =>
      Effect.gen(function* () {
        const waiter = yield* begun(fetch(address, limits))
        yield* TestClock.adjust(limits.within - 1)
        expect(web.ended).toBe(0)
        yield* TestClock.adjust(1)
        expect(yield* Fiber.join(waiter)).toBe("timed_out")
        expect(web.ended).toBe(1)
      })
    ))

  test("end with the server that asked for them", () => {
    const web = new Web()
    const body = Effect.gen(function* () {
      const waiter = yield* Effect.scoped(
        Effect.flatMap(web.documents, ({ fetch }) =>
          Effect.forkDetach(fetch(address, limits), { startImmediately: true })
        )
      )
      yield* Effect.exit(Fiber.join(waiter))
      expect([web.asked.length, web.ended]).toEqual([1, 1])
    })
    return Effect.runPromise(body.pipe(Effect.provide(TestClock.layer())))
  })

  test("of one host, and of all, are so many at once and no more", () =>
    onWeb((web, { fetch }) =>
      Effect.gen(function* () {
        const at = (host: number, path: number) => fetch(`https://h${host}.example/${path}`, limits)
        const ofOne = yield* Effect.forEach(
          Array.from({ length: mostAtHost }, (_, path) => path),
          (path) => begun(at(0, path))
        )
        expect(yield* outcome(at(0, mostAtHost))).toBe("busy")
        // Who waits for what is under way takes no place.
        const joined = yield* begun(at(0, 0))
        const others = yield* Effect.forEach(
          Array.from({ length: mostOf.stranger - mostAtHost }, (_, host) => host),
          (host) => begun(at(host + 1, 0))
        )
        expect(web.asked).toHaveLength(mostOf.stranger)
        expect(yield* outcome(at(1000, 0))).toBe("busy")
        yield* web.answers("[]")
        expect([yield* Fiber.join(joined), ofOne.length, others.length]).toEqual([
          "[]",
          mostAtHost,
          mostOf.stranger - mostAtHost
        ])
        const late = yield* begun(at(0, mostAtHost))
        expect(web.asked).toHaveLength(mostOf.stranger + 1)
        yield* Fiber.interrupt(late)
      })
    ))

  test("are at most 4 of one host, at whichever of its ports", () =>
    onWeb((web, { fetch }) =>
      Effect.gen(function* () {
        expect([mostAtHost, mostOf]).toEqual([4, { stranger: 32, person: 8, owner: 8, form: 16 }])
        for (const place of [":443/a", ":8443/a", ":8443/b", "/b"])
          yield* begun(fetch(`https://h.example${place}`, limits))
        expect(web.asked).toHaveLength(4)
        expect(yield* outcome(fetch("https://H.example:8443/c", limits))).toBe("busy")
      })
    ))

  const sent = (web: Documents["Service"], host: number) =>
    Effect.match(web.post(`https://h${host}.example/`, "a=1", limits), {
      onFailure: ({ reason }): string => reason,
      onSuccess: String
    })

  test("and forms are so many at once, too, and a place is free again however one ends", () =>
    onWeb((web, documents) =>
      Effect.gen(function* () {
        const forms = yield* Effect.forEach(
          Array.from({ length: mostOf.form }, (_, at) => Math.floor(at / mostAtHost)),
          (host) =>
            Effect.tap(Effect.forkChild(sent(documents, host), { startImmediately: true }), () => TestClock.adjust(0))
        )
        expect(web.asked).toHaveLength(mostOf.form)
        expect(yield* Effect.all([sent(documents, 0), sent(documents, 1000)])).toEqual(["busy", "busy"])
        const [answered, failed, left, ...late] = forms
        if (answered === undefined || failed === undefined || left === undefined) throw new Error("none was sent")
        yield* web.answers("")
        yield* web.fails("unreachable")
        yield* Fiber.interrupt(left)
        expect([yield* Fiber.join(answered), yield* Fiber.join(failed)]).toEqual(["200", "unreachable"])
        yield* TestClock.adjust(limits.within)
        expect(new Set(yield* Effect.forEach(late, Fiber.join))).toEqual(new Set(["timed_out"]))
        expect(web.ended).toBe(mostOf.form)
        const again = Array.from({ length: mostAtHost }, () =>
          Effect.forkChild(sent(documents, 0), { startImmediately: true })
        )
        yield* Effect.all(again)
        expect(web.asked).toHaveLength(mostOf.form + mostAtHost)
        expect(yield* sent(documents, 0)).toBe("busy")
        expect(web.asked).toHaveLength(mostOf.form + mostAtHost)
      })
    ))

  const kinds: ReadonlyArray<keyof typeof mostOf> = ["stranger", "person", "owner", "form"]

  test.each(kinds)("that hang, of the kind %s, keep none of another kind waiting, at their own host neither", (kind) =>
    onWeb((web, documents) =>
      Effect.gen(function* () {
        const ask = (of: keyof typeof mostOf, host: number, path: number) =>
          of === "form"
            ? sent(documents, host)
            : outcome(
                documents.fetch(`https://h${host}.example/${of}/${path}`, {
                  ...limits,
                  ...(of === "stranger" ? {} : { vouchedBy: of })
                })
              )
        for (let at = 0; at < mostOf[kind]; at++) {
          yield* Effect.forkChild(ask(kind, Math.floor(at / mostAtHost), at), { startImmediately: true })
        }
        expect(web.asked).toHaveLength(mostOf[kind])
        expect(yield* ask(kind, 1000, 0)).toBe("busy")
        for (const other of kinds.filter((one) => one !== kind)) {
          yield* Effect.forkChild(ask(other, 0, 0), { startImmediately: true })
        }
        expect(web.asked).toHaveLength(mostOf[kind] + kinds.length - 1)
      })
    )
  )

  test("that strangers of one network ask for, and that hang, leave places for those of others", () =>
    onWeb((web, { fetch }) =>
      Effect.gen(function* () {
        const at = (host: number, asker: object) => fetch(`https://h${host}.example/`, { ...limits, ...asker })
        const [here, there] = [{ askedBy: () => "192.0.2.1" }, { askedBy: () => "192.0.2.2" }]
        const waiters = yield* Effect.forEach(
          Array.from({ length: mostForAsker }, (_, host) => host),
          (host) => begun(at(host, here))
        )
        expect(yield* outcome(at(1000, here))).toBe("busy")
        // Whom somebody answers for, and who waits for what is under way, takes none of them.
        yield* begun(at(0, here))
        yield* begun(at(1000, { ...here, vouchedBy: "person" }))
        for (const asker of [there, {}]) yield* begun(at(asker === there ? 1001 : 1002, asker))
        expect(web.asked).toHaveLength(mostForAsker + 3)
        yield* web.answers("[]")
        yield* Effect.forEach(waiters.slice(0, 1), Fiber.join)
        yield* begun(at(1003, here))
        expect(web.asked).toHaveLength(mostForAsker + 4)
        expect(yield* outcome(at(1004, here))).toBe("busy")
      })
    ))

  test("that strangers name use up no share that their host has for others", () =>
    onWeb((web, { fetch, post }) =>
      Effect.gen(function* () {
        for (let at = 0; at < burstAtHost; at++) {
          const waiter = yield* begun(fetch(`https://keys.example/${at}`, limits))
          yield* web.answers("[]")
          yield* Fiber.join(waiter)
        }
        expect(yield* outcome(fetch("https://keys.example/more", limits))).toBe("busy")
        for (const vouchedBy of ["person", "owner"] as const) {
          const waiter = yield* begun(fetch(`https://keys.example/${vouchedBy}`, { ...limits, vouchedBy }))
          yield* web.answers("[]")
          expect(yield* Fiber.join(waiter)).toBe("[]")
        }
        const called = yield* Effect.forkChild(post(address, "a=1", limits), { startImmediately: true })
        yield* web.answers("")
        expect(yield* Fiber.join(called)).toBe(200)
      })
    ))

  test("of one host are no flood, however fast it answers, and a clock that is set back shuts no host out", () =>
    onWeb((web, { fetch }) =>
      Effect.gen(function* () {
        yield* TestClock.setTime(1_000_000)
        let path = 0
        const next = Effect.gen(function* () {
          const before = web.asked.length
          const waiter = yield* begun(fetch(`https://victim.example/${path++}`, limits))
          if (web.asked.length > before) yield* web.answers("[]")
          return yield* Fiber.join(waiter)
        })
        const many = yield* Effect.all(Array.from({ length: burstAtHost + 20 }, () => next))
        expect(many.filter((came) => came === "[]")).toHaveLength(burstAtHost)
        expect(new Set(many.slice(burstAtHost))).toEqual(new Set(["busy"]))
        yield* TestClock.adjust(1000)
        const later = yield* Effect.all(Array.from({ length: 20 }, () => next))
        expect(later.filter((came) => came === "[]")).toHaveLength(10)
        yield* TestClock.setTime(1000)
        expect(yield* next).toBe("busy")
        yield* TestClock.adjust(100)
        expect(yield* next).toBe("[]")
      })
    ))

  test("count by their limits: what one caller may read is not too long for another", () =>
    onWeb((web, { fetch }) =>
      Effect.gen(function* () {
        const large = yield* begun(fetch(address, limits))
        const small = yield* begun(fetch(address, { ...limits, longest: 10 }))
        expect(web.asked).toHaveLength(2)
        yield* web.answers("[1]")
        yield* web.fails("too_long")
        expect([yield* Fiber.join(large), yield* Fiber.join(small)]).toEqual(["[1]", "too_long"])
      })
    ))

  test("that somebody answers for stay kept, however many of strangers are", () =>
    onWeb((web, { fetch }) =>
      Effect.gen(function* () {
        const one = (at: string, asker: object = {}) =>
          Effect.gen(function* () {
            const before = web.asked.length
            const waiter = yield* begun(fetch(at, { ...limits, ...asker }))
            if (web.asked.length > before) yield* web.answers(JSON.stringify("a".repeat(512 * 1024)), "max-age=80000")
            yield* Fiber.join(waiter)
            return web.asked.length > before
          })
        // A stranger was here first.
        expect(yield* one(address)).toBe(true)
        expect(yield* one(address, { vouchedBy: "owner" })).toBe(false)
        expect(yield* one("https://app.example/", { vouchedBy: "person" })).toBe(true)
        for (let at = 0; at < 60; at++) yield* one(`https://h${at}.example/`)
        expect(yield* one(address, { vouchedBy: "owner" })).toBe(false)
        expect(yield* one("https://app.example/", { vouchedBy: "person" })).toBe(false)
        expect(yield* one(address)).toBe(false)
        expect(yield* one("https://h0.example/")).toBe(true)
      })
    ))

  test("are not all kept, however many there are and however large", () =>
    onWeb((web, { fetch }) =>
      Effect.gen(function* () {
        const text = JSON.stringify("a".repeat(512 * 1024))
        for (let at = 0; at < 60; at++) {
          const waiter = yield* begun(fetch(`https://h${at}.example/`, limits))
          yield* web.answers(text, "max-age=80000")
          yield* Fiber.join(waiter)
        }
        let kept = 0
        for (let at = 59; at >= 0; at--) {
          const before = web.asked.length
          const waiter = yield* begun(fetch(`https://h${at}.example/`, limits))
          if (web.asked.length === before) kept++
          else break
          yield* Fiber.join(waiter)
        }
        expect(kept).toBeGreaterThan(6)
        expect(kept).toBeLessThan(17)
      })
    ))
})
