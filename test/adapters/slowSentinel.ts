import { createServer, type Socket } from "node:net"
import { Effect, type Scope } from "effect"

/** A promise as an effect, and what completes it. */
const signal = () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { wait: Effect.promise(() => promise), complete: resolve }
}

const bulk = (text: string) => `$${text.length}\r\n${text}\r\n`
const list = (...texts: ReadonlyArray<string>) => `*${texts.length}\r\n${texts.map(bulk).join("")}`

interface SlowSentinel {
  readonly port: number
  /** A client waits for news of a failover. */
  readonly listened: Effect.Effect<void>
  /** From now on, a client that asks for the master is answered after the listeners heard of a failover and hung up. */
  readonly tellBeforeNextAnswer: () => Effect.Effect<void>
}

/** A sentinel that names one master for ever, and whose answers and news can be put in an order. */
export const slowSentinel = (masterPort: number): Effect.Effect<SlowSentinel, never, Scope.Scope> => {
  const open = new Set<Socket>()
  const listeners = new Set<Socket>()
  const listened = signal()
  let told: ReturnType<typeof signal> | undefined

  const tell = async () => {
    const hungUp = [...listeners].map((socket) => new Promise((resolve) => socket.once("close", resolve)))
    for (const socket of listeners) socket.write(list("message", "+switch-master", "main"))
    await Promise.all(hungUp)
  }

  const answer = async (socket: Socket, command: string) => {
    if (command.includes("get-master-addr-by-name")) {
      if (told !== undefined) {
        const { complete } = told
        told = undefined
        await tell()
        complete()
      }
      socket.write(list("127.0.0.1", `${masterPort}`))
    } else if (command.includes("subscribe")) {
      listeners.add(socket)
      socket.write(`*3\r\n${bulk("subscribe")}${bulk("+switch-master")}:1\r\n`)
      listened.complete()
    } else {
      socket.write(command.includes("sentinels") ? "*0\r\n" : "+OK\r\n")
    }
  }

  const server = createServer((socket) => {
    open.add(socket)
    socket.on("error", () => undefined)
    socket.on("close", () => listeners.delete(socket))
    socket.on("data", (bytes) => {
      const commands = bytes
        .toString()
        .toLowerCase()
        .split(/(?=\*\d+\r\n)/)
      for (const command of commands) void answer(socket, command)
    })
  })

  return Effect.acquireRelease(
    Effect.callback<SlowSentinel>((resume) => {
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        const tellBeforeNextAnswer = () => {
          told = signal()
          return told.wait
        }
        resume(Effect.succeed({ port, listened: listened.wait, tellBeforeNextAnswer }))
      })
    }),
    () =>
      Effect.sync(() => {
        server.close()
        for (const socket of open) socket.destroy()
      })
  )
}
