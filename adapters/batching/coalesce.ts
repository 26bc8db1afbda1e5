import { Clock, Effect, Exit } from "effect"

export interface Coalescing<Item, Answer, Failure> {
  /**
   * Answers a batch, in the order of its items, within `left` milliseconds: the time of the most urgent caller. A
   * failure of the whole batch goes to each caller.
   */
  readonly run: (
    items: ReadonlyArray<Item>,
    left: number
  ) => Effect.Effect<ReadonlyArray<Exit.Exit<Answer, Failure>>, Failure>
  /**
   * A second item of the same identity shares the first one's answer, or waits for a later batch. Left out where
   * `run` keeps the order of its items, so that equal ones can share a batch.
   */
  readonly same?: { readonly identity: (item: Item) => string; readonly second: "share" | "wait" }
  /**
   * When a call leaves while no batch is out. `turn` (default): at the end of its turn. `crowd`: the same after a
   * lone call, but after a larger batch once the round's arrivals are gathered. `lull`, for a `run` that blocks the
   * process: once a round of the event loop has brought no more.
   */
  readonly leaves?: "turn" | "crowd" | "lull"
  /** Items of a batch at most. */
  readonly size: number
  /** Batches out at once; calls gather while all are. */
  readonly underWay: number
  /**
   * For this many milliseconds after the last batch left, a partly filled one waits while another is out. Quick answers
   * then make batches larger, and a slow answer delays the next batch by no more than this. Default 0.
   */
  readonly patience?: number
  /** Milliseconds that a call takes at most, its wait included. */
  readonly within: number
  /** Waiting calls at most; further ones fail at once. Default: no limit. */
  readonly mostWaiting?: number
  /** The failure of a call that timed out before it left, or exceeded `mostWaiting`. */
  readonly late: () => Failure
}

interface Call<Item, Answer, Failure> {
  readonly item: Item
  readonly id: string
  readonly since: number
  readonly resume: (exit: Exit.Exit<Answer, Failure>) => void
  /** Interrupted or answered. */
  gone: boolean
  /** The next caller that shares this one's answer. */
  sharer: Call<Item, Answer, Failure> | undefined
}

/**
 * Batches calls that meet: those of one turn or round, and those that arrive while `underWay` batches are out. A lone
 * call leaves in its own turn (except with `lull`), so it is no slower. No call needs a timer: every batch that is
 * out belongs to an older call and ends by that call's deadline, and then the waiting calls are checked.
 */
export const coalesce = <Item, Answer, Failure>(options: Coalescing<Item, Answer, Failure>) =>
  Effect.gen(function* () {
    type Waiting = Call<Item, Answer, Failure>
    const {
      late,
      leaves = "turn",
      mostWaiting = Number.POSITIVE_INFINITY,
      patience = 0,
      run,
      same,
      size,
      underWay,
      within
    } = options
    const identity = same?.identity ?? (() => "")
    const shares = same?.second === "share"
    const waits = same?.second === "wait"
    const fork = Effect.runForkWith(yield* Effect.context<never>())
    const now = monotonicMillis(yield* Clock.Clock)

    let waiting: Array<Waiting> = []
    /** The first waiting call of each identity, where answers are shared. */
    const byIdentity = new Map<string, Waiting>()
    let out = 0
    let scheduled = false
    /** A timer for the end of the patience is running. */
    let timed = false
    let lastLeft = 0
    let lastSize = 0

    const mayLeave = (at: number) =>
      out === 0 || (out < underWay && (waiting.length >= size || at - lastLeft >= patience))

    const settle = (first: Waiting, exit: Exit.Exit<Answer, Failure>) => {
      for (let call: Waiting | undefined = first; call !== undefined; call = call.sharer) {
        if (call.gone) continue
        call.gone = true
        call.resume(exit)
      }
    }

    /** Arrival of the oldest call that still wants this answer, or `undefined`. Fails calls whose time is over. */
    const wantedSince = (first: Waiting, at: number): number | undefined => {
      let since: number | undefined
      for (let call: Waiting | undefined = first; call !== undefined; call = call.sharer) {
        if (call.gone) continue
        if (at - call.since >= within) {
          call.gone = true
          call.resume(Exit.fail(late()))
        } else if (since === undefined || call.since < since) since = call.since
      }
      return since
    }

    const pump = () => {
      scheduled = false
      // A caller that is answered here and calls again has scheduled the next pump. Without this check, batches that
      // are answered at once would follow each other and starve the event loop.
      for (let at = now(); waiting.length > 0 && !scheduled && mayLeave(at); at = now()) {
        const candidates = waiting
        const batch: Array<Waiting> = []
        const taken = new Set<string>()
        let oldest = at
        waiting = []
        for (const call of candidates) {
          if (batch.length >= size || taken.has(call.id)) {
            waiting.push(call)
            continue
          }
          if (shares) byIdentity.delete(call.id)
          const since = wantedSince(call, at)
          if (since === undefined) continue
          if (since < oldest) oldest = since
          if (waits) taken.add(call.id)
          batch.push(call)
        }
        if (batch.length === 0) continue
        lastLeft = at
        lastSize = batch.length
        send(batch, within - (at - oldest))
      }
      if (waiting.length > 0 && !scheduled) bePatient()
    }

    /** One timer for calls that wait for the patience alone, however many batches leave meanwhile. */
    const bePatient = () => {
      if (timed || out >= underWay) return
      timed = true
      fork(Effect.sleep(Math.ceil(lastLeft + patience - now()))).addObserver(() => {
        timed = false
        if (!scheduled) pump()
      })
    }

    /** `before`: the number of waiting calls a round ago. */
    const leaveInLull = (before: number) => {
      if (waiting.length > before && waiting.length < size) setImmediate(leaveInLull, waiting.length)
      else pump()
    }

    const send = (batch: ReadonlyArray<Waiting>, left: number) => {
      out++
      const items = batch.map((call) => call.item)
      fork(Effect.suspend(() => run(items, left))).addObserver((exit) => {
        out--
        if (Exit.isFailure(exit)) for (const call of batch) settle(call, Exit.failCause(exit.cause))
        else for (const [i, call] of batch.entries()) settle(call, exit.value[i] ?? unanswered)
        if (!scheduled) pump()
      })
    }

    const join = (call: Waiting) => {
      const first = shares ? byIdentity.get(call.id) : undefined
      if (first !== undefined) {
        call.sharer = first.sharer
        first.sharer = call
        return
      }
      if (waiting.length >= mostWaiting) {
        call.resume(Exit.fail(late()))
        return
      }
      if (shares) byIdentity.set(call.id, call)
      waiting.push(call)
      if (scheduled) return
      if (!mayLeave(call.since)) bePatient()
      else {
        scheduled = true
        if (leaves === "lull") setImmediate(leaveInLull, 0)
        else if (leaves === "turn" || lastSize <= 1) queueMicrotask(pump)
        else setImmediate(pump)
      }
    }

    return (item: Item): Effect.Effect<Answer, Failure> =>
      Effect.callback((resume) => {
        const call: Waiting = { item, id: identity(item), since: now(), resume, gone: false, sharer: undefined }
        join(call)
        return Effect.sync(() => {
          call.gone = true
        })
      })
  })

const unanswered = Exit.die(new Error("a batch came back with fewer answers than it had items"))

/** Milliseconds on the monotonic clock, which does not jump. */
export const monotonicMillis =
  (clock: Clock.Clock): (() => number) =>
  () =>
    Number(clock.monotonicTimeNanosUnsafe()) / 1e6
