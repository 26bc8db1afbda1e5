import { Effect } from "effect"
import { type Application, companies, redeem, refresh, revoke } from "./Application.ts"
import { field, type Reply } from "./Reply.ts"
import type { ServerProcess } from "./ServerProcess.ts"

/** What a client knows of one grant: only what it was answered. */
interface Line {
  readonly code: string
  /** How often the code was answered with tokens. */
  redeemed: number
  access: string
  refresh: string
  /** Its end was acknowledged; `undefined`: it was asked for, without an answer. */
  revoked: boolean | undefined
}

export interface Load {
  /** Answers with what was asked for, so far. */
  readonly acknowledged: () => number
  readonly stop: () => void
  /** Until it is stopped. */
  readonly run: Effect.Effect<void>
  /** Everything that a client must never see, in words. */
  readonly complaints: () => ReadonlyArray<string>
  /** Asks for everything that was acknowledged, at every server. */
  readonly audit: Effect.Effect<void>
}

const workers = 12
const refreshes = 4
const pause = Effect.sleep("20 millis")
/** Between a client's requests: twelve that never wait take all of the machine and show no more. */
const breath = Effect.sleep("5 millis")

/**
 * Clients that redeem, refresh and revoke, and repeat whatever was answered with a 503 or not at all: at the next
 * server, as behind a proxy. `mayBreak`: a server is killed, so that no answer is one that can come.
 */
export const makeLoad = (
  servers: ReadonlyArray<ServerProcess>,
  application: Application,
  codes: ReadonlyArray<string>,
  mayBreak: boolean
): Load => {
  const complaints: Array<string> = []
  const lines: Array<Line> = []
  const waiting = [...codes]
  let acknowledged = 0
  let isOver = false
  let turn = 0

  const next = (): ServerProcess => {
    const server = servers[turn++ % servers.length]
    if (server === undefined) throw new Error("no server")
    return server
  }

  const isAnswer = ({ headers, status, body }: Reply, what: string): boolean => {
    if (status === 503 && headers.get("retry-after") === null) complaints.push(`${what}: 503 without Retry-After`)
    if (status === 1) complaints.push(`${what}: no answer in time`)
    if (status === 0 && !mayBreak) complaints.push(`${what}: the connection broke`)
    if (status >= 500 && status !== 503) complaints.push(`${what}: ${status} ${body}`)
    return status !== 503 && status !== 0 && status !== 1
  }

  /** Until there is an answer, or no more time for one. */
  const retry = Effect.fnUntraced(function* (what: string, ask: (server: ServerProcess) => Effect.Effect<Reply>) {
    for (;;) {
      const reply = yield* ask(next())
      if (isAnswer(reply, what)) {
        acknowledged += 1
        return reply
      }
      if (isOver) return undefined
      yield* pause
    }
  })

  const take = (line: Line, reply: Reply) => {
    line.access = field(reply, "access_token")
    line.refresh = field(reply, "refresh_token")
  }

  const redeemed = Effect.fnUntraced(function* (code: string) {
    const line: Line = { code, redeemed: 0, access: "", refresh: "", revoked: false }
    lines.push(line)
    const reply = yield* retry("redeem", (server) => redeem(server, application, code))
    // Refused: an answer before it got lost, and the tokens with it. The grant is dead.
    if (reply?.status !== 200) return undefined
    line.redeemed += 1
    take(line, reply)
    return line
  })

  const refreshed = Effect.fnUntraced(function* (line: Line) {
    yield* breath
    const reply = yield* retry("refresh", (server) => refresh(server, application, line.refresh))
    if (reply === undefined) return
    // A retry within the grace gets the same successor, so whatever went wrong before, this is no refusal.
    if (reply.status === 200) take(line, reply)
    else complaints.push(`refresh: ${reply.status} ${reply.body}`)
  })

  const worker = Effect.fnUntraced(function* (number: number) {
    let line: Line | undefined
    while (!isOver) {
      const code = waiting.pop()
      if (code !== undefined) line = (yield* redeemed(code)) ?? line
      for (let n = 0; n < refreshes && !isOver && line?.revoked === false; n++) yield* refreshed(line)
      if (line?.revoked !== false) yield* pause
      else if ((number + lines.length) % 5 === 0 && waiting.length > 0) {
        const { refresh: token } = line
        const reply = yield* retry("revoke", (server) => revoke(server, application, token))
        line.revoked = reply === undefined ? undefined : true
        if (reply !== undefined && reply.status !== 200) complaints.push(`revoke: ${reply.status} ${reply.body}`)
      }
    }
  })

  const auditLine = Effect.fnUntraced(function* (line: Line, server: ServerProcess) {
    const complain = (what: string) => complaints.push(`afterwards: ${what}`)
    if (line.redeemed === 0) {
      const reply = yield* redeem(server, application, line.code)
      if (reply.status !== 200 && reply.status !== 400) complain(`an unanswered code got ${reply.status}`)
    } else if (line.revoked === true) {
      if ((yield* companies(server, line.access)).status !== 401) complain("a revoked access token works")
      if ((yield* refresh(server, application, line.refresh)).status !== 400) complain("a revoked refresh token works")
    } else if (line.revoked === false) {
      if ((yield* companies(server, line.access)).status !== 200) complain("an access token was lost")
      if ((yield* refresh(server, application, line.refresh)).status !== 200) complain("a refresh token was lost")
    }
    if ((yield* redeem(server, application, line.code)).status !== 400) complain("a code works twice")
  })

  return {
    acknowledged: () => acknowledged,
    stop: () => {
      isOver = true
    },
    run: Effect.forEach(
      Array.from({ length: workers }, (_, n) => n),
      worker,
      { concurrency: "unbounded", discard: true }
    ),
    complaints: () => complaints,
    audit: Effect.forEach(lines.entries(), ([n, line]) => auditLine(line, servers[n % servers.length] ?? next()), {
      concurrency: 8,
      discard: true
    })
  }
}
