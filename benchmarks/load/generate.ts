import { createInterface } from "node:readline"
import type { Socket } from "bun"
import { Answers } from "./Answers.ts"
import { cpuOf, cpuOfFamily, memoryOf } from "./CpuTime.ts"
import { Latencies } from "./Latencies.ts"
import { type Failure, type Run, type WarmedSample, warmPatience } from "./Run.ts"
import { requestsOf } from "./requests.ts"

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
      const request = requests.get(portOf(connection))?.(value, values[value] ?? "")
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
