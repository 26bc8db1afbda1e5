import { expect, test } from "bun:test"
import { Effect, Layer, Option, Tracer } from "effect"
import type { NewRecord, Storage } from "../../core/ports/Storage.ts"
import { tracedStorage } from "../../runtimes/observe/otlp/tracing.ts"

const key = { workspace: "home", kind: "grant", id: "it" } as const
const record: NewRecord = { ...key, owner: "somebody", expiresAt: null, body: {} }

/** A store that has done what it is asked by the time that it answers, as SQLite has a lone write. */
const prompt = (say: (what: string) => void): Storage["Service"] => {
  const done = <A>(verb: string, answer: A) => {
    say(`done: ${verb}`)
    return Effect.succeed(answer)
  }
  return {
    get: () => done("get", Option.none()),
    insert: () => done("insert", undefined),
    replace: () => done("replace", undefined),
    remove: () => done("remove", undefined),
    list: () => done("list", { records: [], next: undefined }),
    sweep: () => done("sweep", 0)
  }
}

test("a span of the storage has begun before the store does anything, and is made for traced requests only", async () => {
  const said: Array<string> = []
  const tracer = Tracer.make({
    span: (options) => {
      said.push(`span: ${options.name}`)
      return new Tracer.NativeSpan(options)
    }
  })
  const storage = tracedStorage(prompt((what) => said.push(what)))
  const all = Effect.all(
    [
      storage.get(key),
      storage.insert(record),
      storage.replace(1, record),
      storage.remove(key),
      storage.list({ workspace: "home", kind: "grant", owner: "somebody", after: undefined, limit: 1 })
    ],
    { discard: true }
  )
  await Effect.runPromise(Effect.provide(Effect.withSpan(all, "request"), Layer.succeed(Tracer.Tracer, tracer)))
  expect(said.splice(0)).toEqual([
    "span: request",
    ...["get", "insert", "replace", "remove", "list"].flatMap((verb) => [
      `span: storage ${verb} grant`,
      `done: ${verb}`
    ])
  ])
  await Effect.runPromise(Effect.provide(all, Layer.succeed(Tracer.Tracer, tracer)))
  expect(said).toEqual(["get", "insert", "replace", "remove", "list"].map((verb) => `done: ${verb}`))
})
