import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { Effect, Exit, Scope } from "effect"
import type { Answer, Send } from "./given/wire.ts"
import { type Script, scripts } from "./transcript.ts"

export interface Candidate {
  readonly name: string
  /** The path of its issuer: empty, or `/` and more. */
  readonly prefix: string
  /** What it has of what scripts need. */
  readonly has: Script["needs"]
  /** Plays no script but those that need this. */
  readonly only?: Script["needs"][number]
  /** Headers that the app around it puts on every answer. */
  readonly adds?: ReadonlyArray<string>
  readonly start: (issuer: string) => Effect.Effect<Send, unknown, Scope.Scope>
}

/** As `send`, without what the app is known to add. */
const withoutAdded =
  (send: Send, added: ReadonlyArray<string>): Send =>
  async (sent) => {
    const answer = await send(sent)
    const written = answer.headers.map(([name]) => name)
    expect(added.filter((name) => !written.includes(name))).toEqual([])
    return { ...answer, headers: answer.headers.filter(([name]) => !added.includes(name)) }
  }

/** Ids of requests are drawn by runtimes too, which take no seed, and by the core many at a time. */
const withoutDrawn = (answer: Answer): Answer => {
  const id = answer.headers.find(([name]) => name === "x-request-id")?.[1] ?? ""
  if (!/^[0-9a-f]{16}$/.test(id)) return answer
  const headers = answer.headers.map(([name, value]) => [name, value === id ? "drawn" : value] as const)
  return { ...answer, headers, body: answer.body.replaceAll(id, "drawn") }
}

const playable = ({ has, only }: Candidate): ReadonlyArray<Script> =>
  scripts.filter(
    ({ needs }) => needs.every((need) => has.includes(need)) && (only === undefined || needs.includes(only))
  )

/** Plays every script on every candidate that has what it needs, and finds that no answer differs between them. */
export const playEverywhere = (candidates: ReadonlyArray<Candidate>): void => {
  const recordings = new Map<string, Array<{ readonly by: string; readonly answers: ReadonlyArray<Answer> }>>()
  const keyOf = ({ title }: Script, { prefix }: Candidate) => `${title} (${prefix || "at the root"})`

  for (const candidate of candidates) {
    const { adds = [], name, prefix, start } = candidate
    describe(`a transcript over ${name}`, () => {
      const scope = Scope.makeUnsafe()
      let send: Send
      beforeAll(async () => {
        const started = start(`http://localhost:3000${prefix}`).pipe(Scope.provide(scope))
        send = withoutAdded(await Effect.runPromise(started), adds)
      }, 180_000)
      afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

      for (const script of playable(candidate)) {
        test(script.title, async () => {
          const answers = await script.run({ send, prefix })
          const key = keyOf(script, candidate)
          recordings.set(key, [...(recordings.get(key) ?? []), { by: name, answers: answers.map(withoutDrawn) }])
        })
      }
    })
  }

  describe("no answer differs between them", () => {
    test("in its status, its headers or its body", () => {
      const played = candidates.flatMap((candidate) => playable(candidate).map((script) => keyOf(script, candidate)))
      expect(new Set(recordings.keys())).toEqual(new Set(played))
      for (const [script, [first, ...others]] of recordings) {
        expect(others.length).toBeGreaterThan(0)
        for (const other of others) {
          expect({ script, by: other.by, answers: other.answers }).toEqual({
            script,
            by: other.by,
            answers: first?.answers ?? []
          })
        }
      }
    })
  })
}
