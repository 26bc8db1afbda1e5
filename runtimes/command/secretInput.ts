import { Effect, Redacted } from "effect"
import { type CommandFailed, misused } from "./Outcome.ts"

/** What came behind the line that was asked for: the next question's answer. */
interface Ahead {
  text: string
}

/** What was typed, without showing it. `undefined`: Ctrl-D. */
const readHidden = (prompt: string, ahead: Ahead): Effect.Effect<string | undefined> =>
  Effect.callback((resume) => {
    const { stdin } = process
    let typed = ""
    const done = (answer: Effect.Effect<string | undefined>, rest: string) => {
      stop()
      ahead.text = rest
      process.stderr.write("\n")
      resume(answer)
    }
    const onData = (chunk: string) => {
      let read = 0
      for (const character of chunk) {
        read += character.length
        const rest = chunk.slice(read)
        if (character === "\r" || character === "\n") return done(Effect.succeed(typed), rest)
        if (character === "\u0003") return done(Effect.interrupt, rest)
        if (character === "\u0004") return done(Effect.succeed(undefined), rest)
        if (character === "\u007f" || character === "\b") typed = [...typed].slice(0, -1).join("")
        else typed += character
      }
    }
    const stop = () => {
      stdin.off("data", onData)
      stdin.setRawMode(false)
      stdin.pause()
    }
    // First: whoever answers the prompt at once is not to see it on the screen.
    stdin.setRawMode(true)
    process.stderr.write(prompt)
    stdin.setEncoding("utf8")
    stdin.on("data", onData)
    stdin.resume()
    if (ahead.text !== "") onData(ahead.text)
    return Effect.sync(stop)
  })

const readAll: Effect.Effect<string> = Effect.promise(async () => {
  process.stdin.setEncoding("utf8")
  let text = ""
  for await (const chunk of process.stdin) text += chunk
  return text
})

/** Arguments are seen by everybody on the machine, so a secret is typed twice at the prompt, or comes from standard input. */
export const newSecret = Effect.fnUntraced(function* (
  what: string
): Effect.fn.Return<Redacted.Redacted<string>, CommandFailed> {
  if (!process.stdin.isTTY) {
    const given = (yield* readAll).replace(/\r?\n$/, "")
    if (given === "") return yield* misused(`The ${what} is read from standard input, and nothing came.`)
    return Redacted.make(given, { label: what })
  }
  const ahead: Ahead = { text: "" }
  const first = yield* readHidden(`New ${what}: `, ahead)
  const second = first === undefined ? undefined : yield* readHidden(`The same ${what} again: `, ahead)
  if (first === undefined || second === undefined) return yield* misused("Nothing was changed.")
  if (first !== second) return yield* misused(`The two differ. Nothing was changed.`)
  return Redacted.make(first, { label: what })
})
