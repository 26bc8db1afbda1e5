import { Effect, Option, type Scope } from "effect"
import { type Cluster, Command, Redis, ReplyError } from "ioredis"
import { StorageUnavailable } from "../../core/ports/Storage.ts"
import { type Connecting, connect } from "./connect.ts"
import type { RedisTarget } from "./RedisUrl.ts"
import type { Script } from "./scripts.ts"

/**
 * A command that tracks whether the server may have received it. ioredis says "Connection is closed." for sent and
 * unsent commands alike, but a write that was sent is "unknown" and an unsent one "not done".
 */
class TrackedCommand extends Command {
  /** Sent, and not refused since. */
  mayHaveArrived = false
  private abandoned = false
  private readonly travelsWithOthers: boolean

  constructor(name: string, args: ReadonlyArray<string | number>, travelsWithOthers: boolean) {
    super(name, [...args], { replyEncoding: "utf8" })
    this.travelsWithOthers = travelsWithOthers
    // Marks it as published already, so that diagnostics channels do not get records.
    this.isTraced = true
  }

  /** Called when the caller gives up: a command that was not sent yet is never sent. */
  abandon(): void {
    this.abandoned = true
  }

  override toWritable(socket: object): string | Buffer {
    if (this.abandoned) {
      // ioredis expects one answer for each command, so send a harmless one.
      this.name = "ping"
      this.args = []
      return super.toWritable(socket)
    }
    if (this.travelsWithOthers) holdUntilTurnEnds(socket)
    this.mayHaveArrived = true
    return super.toWritable(socket)
  }
}

interface Corkable {
  readonly cork: () => void
  readonly uncork: () => void
}

const isCorkable = (socket: object): socket is Corkable => "cork" in socket && "uncork" in socket

const held = new WeakSet<object>()

/** Corks the socket for this turn of the event loop, so that its writes leave in one piece. */
const holdUntilTurnEnds = (socket: object): void => {
  if (held.has(socket) || !isCorkable(socket)) return
  held.add(socket)
  socket.cork()
  process.nextTick(() => {
    held.delete(socket)
    socket.uncork()
  })
}

/** A time on the clock of `performance.now()`. */
export type Deadline = number

type Arguments = ReadonlyArray<string | number>

/** Sends commands. A failure is `unknown` only if the server may have received the command. */
export interface Wire {
  readonly deadline: () => Deadline
  /** For idempotent commands: sent once more over the next connection if the first is lost. */
  readonly ask: (name: string, args: Arguments, deadline: Deadline) => Effect.Effect<unknown, StorageUnavailable>
  /** Sent again only if it was not sent, or if the server does not know the script. */
  readonly run: (
    script: Script,
    keys: ReadonlyArray<string>,
    args: ReadonlyArray<string>,
    deadline: Deadline
  ) => Effect.Effect<unknown, StorageUnavailable>
  /** The failure of a call that could not be sent in time. */
  readonly tooBusy: () => StorageUnavailable
  /** What has to be waited for after a record was read, if anything: a replica that has what was written to it. */
  readonly settled?: (record: string) => Effect.Effect<void, StorageUnavailable> | undefined
  /** How many connections were lost so far. */
  readonly losses: () => number
  readonly masters: () => ReadonlyArray<Master>
}

export interface Master {
  readonly name: string
  /** None if the server refuses the command. */
  readonly ask: (name: string, args: Arguments) => Effect.Effect<Option.Option<unknown>, StorageUnavailable>
}

interface WireOptions extends Connecting {
  readonly pipelining: boolean
  /** Maximum commands without an answer; further ones fail at once. */
  readonly maximumWaiting: number
}

export const openWire = (target: RedisTarget, options: WireOptions): Effect.Effect<Wire, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => keepConnecting(connect(target, options))),
      ({ close }) => Effect.sync(close)
    ),
    ({ client }) => makeWire(client, options)
  )

/** ioredis ends for good when a sentinel tells of a failover while another is asked for the master. */
const keepConnecting = (client: Redis | Cluster) => {
  let again: NodeJS.Timeout | undefined
  // A failure is an event as well, and ends the client once more.
  const connectAgain = () => {
    again = setTimeout(() => client.connect().catch(() => undefined), 25)
  }
  client.on("end", connectAgain)
  const close = () => {
    clearTimeout(again)
    client.off("end", connectAgain)
    client.disconnect()
  }
  return { client, close }
}

class Failure {
  readonly _tag = "Failure"
  readonly outcome: StorageUnavailable["outcome"]
  readonly reason: string
  /** The server answered with an error. */
  readonly refused: boolean

  constructor(outcome: StorageUnavailable["outcome"], reason: string, refused: boolean) {
    this.outcome = outcome
    this.reason = reason
    this.refused = refused
  }

  readonly toUnavailable = () => new StorageUnavailable({ outcome: this.outcome, message: `Redis: ${this.reason}` })
}

const makeWire = (client: Redis | Cluster, options: WireOptions): Wire => {
  let waiting = 0
  let trouble = "none"
  let losses = 0
  client.on("close", () => {
    losses += 1
  })
  const remember = (error: Error) => {
    trouble = error.message
  }
  client.on("error", remember)
  client.on("node error", remember)
  client.on("ready", () => {
    trouble = "none"
  })

  const deadline = () => performance.now() + options.deadlineMillis

  const send = (
    via: Redis | Cluster,
    name: string,
    args: Arguments,
    deadline: Deadline,
    script: Script | undefined
  ): Effect.Effect<unknown, Failure> =>
    Effect.callback((resume) => {
      if (waiting >= options.maximumWaiting) {
        const reason = `${waiting} commands wait for an answer already (last trouble: ${trouble})`
        return resume(Effect.fail(new Failure("not_done", reason, false)))
      }
      let command: TrackedCommand
      let givenUp = false
      // Retry only when a live connection was lost; without one, a retry would fail too.
      let secondTry = via.status === "ready"

      const dispatch = (name: string, args: Arguments) => {
        waiting += 1
        command = new TrackedCommand(name, args, options.pipelining && waiting > 1)
        const sent = command
        via.sendCommand(sent)
        // The outermost wrapper, to see a refusal before the cluster client follows it.
        const reject = sent.reject
        sent.reject = (error) => {
          if (error instanceof ReplyError) sent.mayHaveArrived = false
          reject(error)
        }
        sent.promise.then(answered, failed)
      }

      const answered = (answer: unknown) => {
        waiting -= 1
        clearTimeout(timer)
        resume(Effect.succeed(answer))
      }

      const failed = (error: Error) => {
        waiting -= 1
        const refused = error instanceof ReplyError
        if (refused && error.message.startsWith("NOSCRIPT") && script !== undefined && !givenUp) {
          return dispatch("eval", [script.lua, ...args.slice(1)])
        }
        if (!refused && !givenUp && secondTry && (script === undefined || !command.mayHaveArrived)) {
          secondTry = false
          return dispatch(name, args)
        }
        clearTimeout(timer)
        // A refusal's text may repeat the command's values, so only its code is kept.
        const reason = refused
          ? `refused with ${/^[A-Z]+/.exec(error.message)?.[0] ?? "ERR"}`
          : `${lossOf(error, command)} (last trouble: ${trouble})`
        resume(Effect.fail(new Failure(command.mayHaveArrived ? "unknown" : "not_done", reason, refused)))
      }

      const giveUp = () => {
        givenUp = true
        clearTimeout(timer)
        command.abandon()
      }

      const timer = setTimeout(
        () => {
          giveUp()
          const reason = `no answer in time (last trouble: ${trouble})`
          resume(Effect.fail(new Failure(command.mayHaveArrived ? "unknown" : "not_done", reason, false)))
        },
        Math.max(0, deadline - performance.now())
      )
      dispatch(name, args)
      return Effect.sync(giveUp)
    })

  return {
    deadline,
    ask: (name, args, deadline) =>
      Effect.mapError(send(client, name, args, deadline, undefined), (failure) => failure.toUnavailable()),
    run: (script, keys, args, deadline) =>
      Effect.mapError(
        send(client, "evalsha", [script.sha, keys.length, ...keys, ...args], deadline, script),
        (failure) => failure.toUnavailable()
      ),
    tooBusy: () =>
      new Failure("not_done", `too busy to be asked in time (last trouble: ${trouble})`, false).toUnavailable(),
    losses: () => losses,
    masters: () =>
      (client instanceof Redis ? [client] : client.nodes("master")).map((node) => ({
        name: nameOf(node),
        ask: (name, args) =>
          send(node, name, args, deadline(), undefined).pipe(
            Effect.map(Option.some),
            Effect.catch((failure) =>
              failure.refused ? Effect.succeed(Option.none()) : Effect.fail(failure.toUnavailable())
            )
          )
      }))
  }
}

/** ioredis reports a lost connection in terms of its own settings. */
const lossOf = (error: Error, { mayHaveArrived }: TrackedCommand): string => {
  if (!/^(?:Connection is closed|Reached the max retries)/.test(error.message)) return error.message
  return mayHaveArrived ? "the connection ended before the answer" : "no connection"
}

const nameOf = ({ options }: Redis): string =>
  options.sentinels ? `${options.name}` : `${options.host}:${options.port}`
