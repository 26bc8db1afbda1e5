import { Clock, Duration, Effect, type Fiber, type Scope } from "effect"
import { StorageUnavailable } from "../../core/ports/Storage.ts"
import { monotonicMillis } from "../batching/coalesce.ts"
import { type Cell, type Connection, type ConnectionSettings, connect, type Row } from "./Connection.ts"
import { type Failure, isConnectionsFault } from "./outcome.ts"

/** Calls `missed` after `left` milliseconds, unless the returned function is called before. */
type Deadlines = (left: number, missed: () => void) => () => void

interface Watched {
  readonly at: number
  readonly missed: () => void
}

/**
 * One timer for all deadlines. Nearly every statement is answered in time, so a timer for each would be started and
 * stopped for nothing. This one sleeps until the earliest deadline and then checks which were missed.
 */
export const makeDeadlines: Effect.Effect<Deadlines, never, Scope.Scope> = Effect.gen(function* () {
  const now = monotonicMillis(yield* Clock.Clock)
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  const watched = new Set<Watched>()
  let wakesAt = Number.POSITIVE_INFINITY
  let sleeper: Fiber.Fiber<void> | undefined
  let closed = false

  const look = () => {
    const at = now()
    sleeper = undefined
    wakesAt = Number.POSITIVE_INFINITY
    let next = wakesAt
    for (const one of watched) {
      if (one.at > at) next = Math.min(next, one.at)
      else {
        watched.delete(one)
        one.missed()
      }
    }
    if (next < wakesAt) sleepUntil(next)
  }

  const sleepUntil = (at: number) => {
    sleeper?.interruptUnsafe()
    wakesAt = at
    sleeper = fork(Effect.andThen(Effect.sleep(at - now()), Effect.sync(look)))
  }

  const rest = () => {
    if (closed && watched.size === 0) sleeper?.interruptUnsafe()
  }

  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      closed = true
      rest()
    })
  )

  return (left, missed) => {
    const one = { at: now() + left, missed }
    watched.add(one)
    if (one.at < wakesAt) sleepUntil(one.at)
    return () => {
      watched.delete(one)
      rest()
    }
  }
})

interface PoolSettings extends ConnectionSettings {
  readonly size: number
  readonly connectTimeout: Duration.Duration
  readonly idleTimeout: Duration.Duration
  readonly lifetime: Duration.Duration
}

export interface Statement {
  readonly text: string
  readonly parameters: ReadonlyArray<Cell>
  readonly writes: boolean
}

/**
 * The statement was sent: the server answered with an error, or not at all. `StorageUnavailable` means that it was
 * never sent.
 */
export interface Unanswered {
  readonly _tag: "Unanswered"
  readonly failure: Failure
}

export interface Pool {
  /** Answers or fails within `left` milliseconds. */
  readonly run: (
    statement: Statement,
    left: number
  ) => Effect.Effect<ReadonlyArray<Row>, Unanswered | StorageUnavailable>
}

interface Member {
  readonly connection: Connection
  readonly since: number
  idleSince: number
}

interface Waiter {
  readonly take: (member: Member) => void
  readonly fail: (message: string) => void
}

const unanswered = (failure: Failure): Unanswered => ({ _tag: "Unanswered", failure })
const away = (message: string) => new StorageUnavailable({ outcome: "not_done", message })
const noneFree = away("no connection to PostgreSQL was free in time")
const unansweredInTime = unanswered({
  code: "DEADLINE",
  rolledBack: false,
  message: "PostgreSQL did not answer in time"
})

/** After a failed connect, callers fail at once with its reason for this long, doubled each time. */
const firstPause = 50
const longestPause = 1000

export const makePool = Effect.fnUntraced(function* (
  settings: PoolSettings
): Effect.fn.Return<Pool, never, Scope.Scope> {
  const now = monotonicMillis(yield* Clock.Clock)
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  const idleLimit = Duration.toMillis(settings.idleTimeout)
  const lifetime = Duration.toMillis(settings.lifetime)
  const opening = connect(settings).pipe(
    Effect.timeoutOrElse({
      duration: settings.connectTimeout,
      orElse: () =>
        Effect.fail<Failure>({
          code: "CONNECT_TIMEOUT",
          rolledBack: false,
          message: "PostgreSQL accepts no connection in time"
        })
    })
  )

  const deadlines = yield* makeDeadlines
  const members = new Set<Member>()
  const idle: Array<Member> = []
  const waiters: Array<Waiter> = []
  let connecting = 0
  let closed = false
  let trouble: { readonly reason: string; readonly until: number; readonly pause: number } | undefined

  const leave = (member: Member, how: "close" | "destroy") => {
    members.delete(member)
    member.connection[how]()
  }

  const offer = (member: Member) => {
    const waiter = waiters.shift()
    if (waiter !== undefined) return waiter.take(member)
    member.idleSince = now()
    idle.push(member)
  }

  const grow = () => {
    connecting++
    fork(opening).addObserver((exit) => {
      connecting--
      if (exit._tag === "Success") {
        trouble = undefined
        if (closed) return exit.value.close()
        const member = { connection: exit.value, since: now(), idleSince: now() }
        members.add(member)
        offer(member)
        return
      }
      const failed = exit.cause.reasons.find((reason) => reason._tag === "Fail")
      const reason = failed?._tag === "Fail" ? failed.error.message : "the connection was given up"
      const pause = trouble === undefined ? firstPause : Math.min(trouble.pause * 2, longestPause)
      trouble = { reason, until: now() + pause, pause }
      // While other connections live, they serve the waiting calls.
      if (members.size === 0 && connecting === 0) for (const waiter of waiters.splice(0)) waiter.fail(reason)
    })
  }

  const acquire = (waiter: Waiter) => {
    for (let member = idle.pop(); member !== undefined; member = idle.pop()) {
      if (member.connection.isOpen()) return waiter.take(member)
      members.delete(member)
    }
    if (closed) return waiter.fail("the store is closed")
    const paused = trouble !== undefined && now() < trouble.until
    if (paused && members.size === 0 && connecting === 0) return waiter.fail(trouble?.reason ?? "")
    waiters.push(waiter)
    if (!paused && members.size + connecting < settings.size) grow()
  }

  const release = (member: Member) => {
    if (!member.connection.isOpen()) discard(member)
    else if (closed || now() - member.since > lifetime) {
      leave(member, "close")
      replenish()
    } else offer(member)
  }

  const discard = (member: Member) => {
    leave(member, "destroy")
    replenish()
  }

  const replenish = () => {
    if (!closed && waiters.length > connecting && members.size + connecting < settings.size) grow()
  }

  const send: Pool["run"] = (statement, left) =>
    Effect.callback((resume) => {
      let used: Member | undefined
      let over = false
      const answer = (exit: Effect.Effect<ReadonlyArray<Row>, Unanswered | StorageUnavailable>) => {
        over = true
        meet()
        resume(exit)
      }
      const abandon = () => {
        over = true
        meet()
        if (used !== undefined) return discard(used)
        const at = waiters.indexOf(waiter)
        if (at >= 0) waiters.splice(at, 1)
      }
      const waiter: Waiter = {
        take: (member) => {
          used = member
          member.connection.query(statement.text, statement.parameters, (rows, failure) => {
            if (over) return
            if (failure === undefined) {
              release(member)
              answer(Effect.succeed(rows ?? []))
            } else {
              if (isConnectionsFault(failure)) discard(member)
              else release(member)
              answer(Effect.fail(unanswered(failure)))
            }
          })
        },
        fail: (message) => answer(Effect.fail(away(message)))
      }
      const meet = deadlines(left, () => {
        abandon()
        resume(Effect.fail(used === undefined ? noneFree : unansweredInTime))
      })
      acquire(waiter)
      return Effect.sync(() => {
        if (!over) abandon()
      })
    })

  /** A statement that is repeated may come too late: it would be done after its caller was answered. */
  const run: Pool["run"] = (statement, left) => (left > 0 ? send(statement, left) : Effect.fail(noneFree))

  const reap = Effect.sync(() => {
    const limit = now() - idleLimit
    for (const member of idle.filter(({ idleSince }) => idleSince < limit)) {
      idle.splice(idle.indexOf(member), 1)
      leave(member, "close")
    }
  }).pipe(Effect.delay(Duration.times(settings.idleTimeout, 0.5)), Effect.forever)

  yield* Effect.forkScoped(reap)
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      closed = true
      for (const waiter of waiters.splice(0)) waiter.fail("the store is closed")
      for (const member of idle.splice(0)) leave(member, "close")
    })
  )

  return { run }
})
