import { createInterface } from "node:readline"
import type { Socket } from "bun"
import { type Failure, type Plan, type Run, type WarmedSample, warmPatience } from "../Plan.ts"
import { cpuOf, cpuOfFamily, memoryOf } from "./CpuTime.ts"

const headEnd = Buffer.from("\r\n\r\n")
const lastChunk = Buffer.from("0\r\n\r\n")

interface Answer {
  readonly status: number
  readonly bytes: Buffer
  readonly bodyAt: number
}

/** Cuts what comes over one connection into answers: no more of HTTP than that takes. One request is out at a time. */
class Answers {
  private pending: Buffer | undefined

  /** The answer, once it is all there. */
  take(chunk: Buffer): Answer | undefined {
    const bytes = this.pending === undefined ? chunk : Buffer.concat([this.pending, chunk])
    const end = bytes.indexOf(headEnd)
    if (end === -1) return this.wait(bytes, chunk)
    const head = bytes.toString("latin1", 0, end)
    const bodyAt = end + headEnd.length
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
    const isWhole =
      length !== undefined
        ? bytes.length >= bodyAt + Number(length)
        : !/\r\ntransfer-encoding: *chunked/i.test(head) || bytes.subarray(-lastChunk.length).equals(lastChunk)
    if (!isWhole) return this.wait(bytes, chunk)
    this.pending = undefined
    return { status: Number(head.slice(9, 12)), bytes, bodyAt }
  }

  /** The socket may use a chunk's memory again. */
  private wait(bytes: Buffer, chunk: Buffer): undefined {
    this.pending = bytes === chunk ? Buffer.from(bytes) : bytes
    return undefined
  }
}

/** Latencies in milliseconds; beyond so many, an even selection of them. */
class Latencies {
  private values: Float64Array
  private size = 0
  private every = 1
  private skipped = 0

  constructor(capacity = 1 << 18) {
    this.values = new Float64Array(capacity)
  }

  add(millis: number): void {
    if (++this.skipped < this.every) return
    this.skipped = 0
    if (this.size === this.values.length) this.thin()
    this.values[this.size++] = millis
  }

  quantile(share: number): number {
    const sorted = this.values.slice(0, this.size).sort()
    return sorted[Math.min(this.size - 1, Math.floor(share * this.size))] ?? 0
  }

  private thin(): void {
    const half = this.size >> 1
    for (let i = 0; i < half; i++) this.values[i] = this.values[2 * i] ?? 0
    this.size = half
    this.every *= 2
  }
}

/** A whole request as text, for one value. */
const textOf = (plan: Plan, host: string, place: number, value: string): string => {
  const proof = plan.proofs?.[place] ?? ""
  const fill = (text: string) => text.replaceAll("{value}", () => value).replaceAll("{proof}", () => proof)
  const body = fill(plan.body)
  const headers = Object.entries({
    host,
    ...plan.headers,
    ...(plan.method === "POST" ? { "content-length": String(Buffer.byteLength(body)) } : {})
  })
  const lines = headers.map(([name, text]) => `${name}: ${fill(text)}\r\n`).join("")
  return `${plan.method} ${fill(plan.path)} HTTP/1.1\r\n${lines}\r\n${body}`
}

/** The request for a value, by its place among the values. */
type RequestAt = (place: number, value: string) => Buffer

/** Requests of one plan; those that come again are kept ready. */
const requestsOf = (plan: Plan, port: number): RequestAt => {
  const hosts = plan.hosts ?? [`127.0.0.1:${port}`]
  const make: RequestAt = (place, value) =>
    Buffer.from(textOf(plan, hosts[place % hosts.length] ?? "", place, value), "latin1")
  if (plan.use === "chain" || plan.use === "count") return make
  const ready = plan.values.map((value, place) => make(place, value))
  return (place, value) => ready[place] ?? make(place, value)
}

/** How many of the values that can be used once go into the warming up, if its time is not over before. */
const warmShare = 0.3
const silence = 20_000
/** Answers for each connection that a turn has at least: the first of each came out of one and the same burst. */
const leastEach = 4

const sum = (numbers: ReadonlyArray<number>) => numbers.reduce((total, one) => total + one, 0)

const refreshTokenIn = (text: string): string | undefined => /"refresh_token":"([^"]+)"/.exec(text)?.[1]

interface Connection {
  readonly number: number
  readonly answers: Answers
  socket: Socket<Connection> | undefined
  sentAt: number
  /** Which of the values is under way. */
  value: number
}

/** What has been used up, as it was at one moment. */
const meter = (run: Run) => ({
  at: performance.now(),
  cpu: sum(run.servers.map(cpuOf)),
  databaseCpu: sum(run.families.map(cpuOfFamily)),
  own: cpuOf(process.pid)
})

/** Where chains stand: what the server has replaced must not be used again. */
const chains = new Map<string, Array<string>>()

const perform = (run: Run): Promise<WarmedSample> =>
  new Promise((resolve, reject) => {
    const { plan, connections } = run
    // A request that never changes is one value, or one for each host.
    const values =
      plan.use === "none"
        ? (plan.hosts ?? [""]).map(() => "")
        : ((run.chain === undefined ? undefined : chains.get(run.chain)) ?? [...plan.values])
    if (plan.use === "chain" && run.chain !== undefined) chains.set(run.chain, values)
    const requests = new Map(run.ports.map((port) => [port, requestsOf({ ...plan, values }, port)]))
    const textAt = (value: number) => (plan.use === "count" ? String((plan.from ?? 0) + value) : (values[value] ?? ""))
    const portOf = (connection: Connection) => run.ports[connection.number % run.ports.length] ?? 0
    const warmValues = Math.floor(values.length * warmShare)
    const latencies = new Latencies()
    const open: Array<Connection> = []
    let phase: "warming" | "measuring" | "draining" | "over" = "warming"
    let measured: WarmedSample | undefined
    let out = 0
    let start = meter(run)
    let count = 0
    let warmRequests = 0
    let next = 0
    let lastAnswer = performance.now()
    let timer: ReturnType<typeof setTimeout> | undefined

    const end = (sample: WarmedSample | Error) => {
      if (phase === "over") return
      phase = "over"
      clearTimeout(timer)
      clearInterval(watch)
      for (const { socket } of open) socket?.end()
      // A chain that broke off is not to be taken up again.
      if (sample instanceof Error && run.chain !== undefined) chains.delete(run.chain)
      if (sample instanceof Error) reject(sample)
      else resolve(sample)
    }
    const watch = setInterval(() => {
      if (performance.now() - lastAnswer > silence) end(new Error("the server has stopped answering"))
    }, 1000)

    /** No connection is left with a request out: what it would replace is a link of a chain. */
    const drain = () => {
      if (measured !== undefined && out === 0) end(measured)
    }

    const finish = () => {
      clearTimeout(timer)
      const stop = meter(run)
      const seconds = (stop.at - start.at) / 1000
      measured = {
        requests: count,
        warmRequests,
        seconds,
        perSecond: count / seconds,
        cpu: ((stop.cpu - start.cpu) * 1000) / count,
        databaseCpu: ((stop.databaseCpu - start.databaseCpu) * 1000) / count,
        p50: latencies.quantile(0.5),
        p99: latencies.quantile(0.99),
        memory: sum(run.servers.map(memoryOf)),
        generatorLoad: (stop.own - start.own) / (stop.at - start.at)
      }
      phase = "draining"
      drain()
    }
    /** A turn is over when each connection could have had a few answers, however slow the server. */
    const finishWhenAnswered = () => {
      if (count >= leastEach * connections) finish()
      else timer = setTimeout(finishWhenAnswered, run.millis / 10)
    }
    const measure = () => {
      clearTimeout(timer)
      phase = "measuring"
      start = meter(run)
      warmRequests = count
      count = 0
      timer = setTimeout(finishWhenAnswered, run.millis)
    }

    /** Which value a connection takes now; `undefined` when all have been used up. */
    const take = (connection: Connection): number | undefined => {
      switch (plan.use) {
        case "none":
        case "cycle":
          next = next + 1 < values.length ? next + 1 : 0
          return next
        case "once":
          return next < values.length ? next++ : undefined
        case "count":
          return next++
        case "chain": {
          // Each connection goes round its own values, so that no two ever use one at once.
          const following = connection.value + connections
          return following < values.length ? following : connection.number
        }
      }
    }

    const send = (connection: Connection) => {
      const value = take(connection)
      if (value === undefined) {
        if (phase === "measuring" && out === 0) finish()
        return
      }
      out++
      connection.value = value
      const request = requests.get(portOf(connection))?.(value, textAt(value))
      if (request === undefined) return
      connection.sentAt = performance.now()
      const written = connection.socket?.write(request)
      if (written !== request.length) end(new Error("a request did not fit into the socket's buffer"))
    }

    const receive = (connection: Connection, chunk: Buffer) => {
      const answer = connection.answers.take(chunk)
      if (answer === undefined || phase === "over") return
      lastAnswer = performance.now()
      out--
      if (answer.status !== plan.expect) {
        const text = answer.bytes.toString("latin1", 0, 600)
        return end(new Error(`${plan.method} ${plan.path} was answered ${answer.status}:\n${text}`))
      }
      if (plan.use === "chain") {
        const successor = refreshTokenIn(answer.bytes.toString("latin1", answer.bodyAt))
        if (successor === undefined) return end(new Error("an answer without a refresh_token"))
        values[connection.value] = successor
      }
      if (phase === "draining") return drain()
      count++
      if (phase === "measuring") latencies.add(lastAnswer - connection.sentAt)
      else if (plan.use === "once" && next >= warmValues) measure()
      send(connection)
    }

    for (let number = 0; number < connections; number++) {
      const connection: Connection = { number, answers: new Answers(), socket: undefined, sentAt: 0, value: number }
      open.push(connection)
      Bun.connect<Connection>({
        hostname: "127.0.0.1",
        port: portOf(connection),
        data: connection,
        socket: {
          open: (socket) => {
            connection.socket = socket
            send(connection)
          },
          data: (_socket, chunk) => receive(connection, chunk),
          close: () => end(new Error("the server closed a connection")),
          error: (_socket, error) => end(error)
        }
      }).catch(end)
    }
    const measureWhenWarm = (since: number) => {
      if (phase !== "warming") return
      const isWarm = count >= run.warmRequests || performance.now() - since > run.warmMillis * warmPatience
      if (isWarm) measure()
      else timer = setTimeout(() => measureWhenWarm(since), run.warmMillis / 10)
    }
    timer = setTimeout(measureWhenWarm, run.warmMillis, performance.now())
  })

const failureOf = (error: unknown): Failure => ({ failure: error instanceof Error ? error.message : String(error) })

// One run after the other, a line each; the harness ends it by closing the input.
for await (const line of createInterface({ input: process.stdin })) {
  // What the harness writes.
  const run = JSON.parse(line) as Run
  const said = await perform(run).catch(failureOf)
  process.stdout.write(`${JSON.stringify(said)}\n`)
}
