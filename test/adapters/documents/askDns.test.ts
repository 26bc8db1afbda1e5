import { expect, test } from "bun:test"
import { createSocket } from "node:dgram"
import { Effect, Fiber, type Scope } from "effect"
import { askDns } from "../../../adapters/documents/overHttps.ts"

const types = { 1: "A", 28: "AAAA" } as const
type Zone = Readonly<Record<string, { readonly [type in "A" | "AAAA"]?: ReadonlyArray<ReadonlyArray<number>> }>>

/** The name and the type in a query, and where its question ends. */
const questionOf = (query: Buffer) => {
  const labels: Array<string> = []
  let at = 12
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length))
    at += 1 + length
  }
  const type = query.readUInt16BE(at + 1)
  return {
    name: labels.join(".").toLowerCase(),
    type: type === 1 || type === 28 ? types[type] : undefined,
    end: at + 5
  }
}

const answerTo = (query: Buffer, zone: Zone): Buffer | undefined => {
  const { end, name, type } = questionOf(query)
  const host = zone[name]
  if (host === undefined || type === undefined) return undefined
  const records = (host[type] ?? []).map((bytes) =>
    Buffer.from([0xc0, 12, 0, type === "A" ? 1 : 28, 0, 1, 0, 0, 0, 0, 0, bytes.length, ...bytes])
  )
  const head = Buffer.from([...query.subarray(0, 2), 0x81, 0x80, 0, 1, 0, records.length, 0, 0, 0, 0])
  return Buffer.concat([head, query.subarray(12, end), ...records])
}

/** Says nothing at all about names that it does not have. */
const nameServer = (zone: Zone, asked: () => void = () => undefined): Effect.Effect<string, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.callback<ReturnType<typeof createSocket>>((resume) => {
        const socket = createSocket("udp4")
        socket.on("message", (query, { address, port }) => {
          asked()
          const answer = answerTo(query, zone)
          if (answer !== undefined) socket.send(answer, port, address)
        })
        socket.bind(0, "127.0.0.1", () => resume(Effect.succeed(socket)))
      }),
      (socket) => Effect.sync(() => socket.close())
    ),
    (socket) => `127.0.0.1:${socket.address().port}`
  )

const loopback6 = [...Array.from({ length: 15 }, () => 0), 1]

test("every address of a name is told, of both families", () =>
  Effect.runPromise(
    Effect.gen(function* () {
      const lookUp = askDns([
        yield* nameServer({
          "both.example": {
            A: [
              [93, 184, 216, 34],
              [127, 0, 0, 1]
            ],
            AAAA: [loopback6]
          },
          "four.example": { A: [[10, 0, 0, 1]] },
          "none.example": {}
        })
      ])
      expect([...(yield* lookUp("both.example"))].toSorted()).toEqual(["127.0.0.1", "93.184.216.34", "::1"])
      expect(yield* lookUp("four.example")).toEqual(["10.0.0.1"])
      expect(yield* lookUp("none.example")).toEqual([])
    }).pipe(Effect.scoped)
  ))

test("a name server that says nothing is left alone by who no longer waits", () =>
  Effect.runPromise(
    Effect.gen(function* () {
      let heard: () => void = () => undefined
      const asked = new Promise<void>((resolve) => {
        heard = resolve
      })
      const lookUp = askDns([yield* nameServer({}, () => heard())])
      const waiter = yield* Effect.forkChild(lookUp("silent.example"), { startImmediately: true })
      yield* Effect.promise(() => asked)
      yield* Fiber.interrupt(waiter)
    }).pipe(Effect.scoped)
  ))
