import { Clock, Effect, Exit } from "effect"

export interface Coalescing<Item, Answer, Failure> {
  /**
   * Answers a batch, in the order of its items; where it fails as a whole, each caller gets that failure.
   * It has to end within `left` milliseconds: that is what the most urgent caller still has.
   */
  readonly run: (
    items: ReadonlyArray<Item>,
    left: number
  ) => Effect.Effect<ReadonlyArray<Exit.Exit<Answer, Failure>>, Failure>
  /**
   * Of two items of one identity the second shares the first one's answer, or waits, so that they are never in one
   * batch. Left out where `run` keeps to the order of its items: any may then travel together.
   */
  readonly same?: { readonly identity: (item: Item) => string; readonly second: "share" | "wait" }
  /**
   * When a call leaves while nothing is out: `turn`, as by default, at the end of its own; `crowd`, as that after a lone
   * call, and after a batch of several once all that has arrived has had its turn, so that the first of a crowd does
   * not go ahead of it and someone who is alone waits for nobody; `lull`, which is for a `run` that blocks the process,
   * so that nothing could gather while it is out, once a round of the event loop has brought no more.
   */
  readonly leaves?: "turn" | "crowd" | "lull"
  /** How many items travel together at most. */
  readonly size: number
  /** How many batches are under way at once; what comes while all are gathers. */
  readonly underWay: number
  /**
   * For so many milliseconds after the last one left, a batch that is not full waits for those that are out: batches
   * are large where answers are quick, and a slow one holds nobody up. Left out, none waits.
   */
  readonly patience?: number
  /** Milliseconds that a call takes at most, waiting included. */
  readonly within: number
  /** How many calls wait to leave at most; what comes on top fails at once. Left out, any number. */
  readonly mostWaiting?: number
  /** What a call gets whose time was over before it could leave, or that came on top of too many. */
  readonly late: () => Failure
}

interface Call<Item, Answer, Failure> {
  readonly item: Item
  readonly id: string
  readonly since: number
  readonly resume: (exit: Exit.Exit<Answer, Failure>) => void
  /** It was interrupted or answered. */
  gone: boolean
  /** The next caller that shares this one's answer. */
  sharer: Call<Item, Answer, Failure> | undefined
}

/**
 * Lets calls that meet travel as one: those of one turn or round, and those that come while `underWay` batches are out.
 * A lone call leaves in its own turn, but where it waits for a lull, so it is no slower. No timer per call is needed to keep its deadline: every
 * batch out there belongs to an older call and ends by that one's deadline, so each waiting call is looked at in time.
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
    /** Who waits under an identity, where answers are shared. */
    const byIdentity = new Map<string, Waiting>()
    let out = 0
    let scheduled = false
    /** Somebody looks again when the patience is over. */
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

    /** When the most urgent caller came who still wants this; `undefined` when none does. Those whose time is over get told. */
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
      // Whoever is answered in here and asks for more has scheduled the next look: a batch that is answered at once would
      // otherwise be followed by the next, and that one by the next, and nobody else would get a turn.
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

    /** Where only the patience keeps those who wait: one timer for as long as it lasts, however many batches leave. */
    const bePatient = () => {
      if (timed || out >= underWay) return
      timed = true
      fork(Effect.sleep(Math.ceil(lastLeft + patience - now()))).addObserver(() => {
        timed = false
        if (!scheduled) pump()
      })
    }

    /** `before`: how many waited a round ago. */
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

/** Milliseconds for deadlines and pauses, by the clock that nobody sets. */
export const monotonicMillis =
  (clock: Clock.Clock): (() => number) =>
  () =>
    Number(clock.monotonicTimeNanosUnsafe()) / 1e6
