import { createServer, type Socket } from "node:net"
import { Effect } from "effect"

const message = (type: string, ...parts: ReadonlyArray<Buffer>): Buffer => {
  const body = Buffer.concat(parts)
  const head = Buffer.alloc(5)
  head.write(type)
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

const ready = message("Z", Buffer.from("I"))
const admitted = Buffer.concat([message("R", Buffer.alloc(4)), ready])
const done = Buffer.concat([message("C", Buffer.from("SELECT 0\0")), ready])

/**
 * As much of a PostgreSQL as a pool needs: it lets everybody in and answers each statement without rows, or not, as a
 * test wants it.
 */
export const fakeServer = Effect.gen(function* () {
  const open = new Set<Socket>()
  const held: Array<() => void> = []
  const state = { open, statements: [] as Array<string>, admits: true, answers: true, logins: 0 }
  const reply = (may: boolean, socket: Socket, text: Buffer) => {
    const send = () => void socket.write(text)
    if (may) send()
    else held.push(send)
  }
  const server = createServer((socket) => {
    open.add(socket)
    let isIn = false
    socket.on("error", () => undefined)
    socket.on("close", () => open.delete(socket))
    socket.on("data", (data) => {
      if (!isIn) {
        isIn = true
        state.logins++
        return reply(state.admits, socket, admitted)
      }
      if (data[0] !== "Q".charCodeAt(0)) return
      const text = data.subarray(5, data.readInt32BE(1)).toString()
      if (text !== "SELECT 1") state.statements.push(text)
      reply(text === "SELECT 1" || state.answers, socket, done)
    })
  })
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      server.close()
      for (const socket of open) socket.destroy()
    })
  )
  yield* Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void)))
  const address = server.address()
  return {
    state,
    url: `postgres://tessera@127.0.0.1:${typeof address === "object" ? address?.port : ""}/tessera?sslmode=disable`,
    /** Sends what was held back. */
    release: Effect.sync(() => {
      for (const send of held.splice(0)) send()
    })
  }
})
