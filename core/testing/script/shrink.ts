import { Effect } from "effect"

/** How many tries a shrinking may take. */
const mostTries = 1500

/**
 * A smaller list that still fails: chunks are taken out, halves first and single items last, then items are made
 * simpler, until nothing more can go (delta debugging).
 */
export const shrink = <A, E, R>(
  failing: ReadonlyArray<A>,
  fails: (candidate: ReadonlyArray<A>) => Effect.Effect<boolean, E, R>,
  simpler: (item: A) => ReadonlyArray<A>
): Effect.Effect<ReadonlyArray<A>, E, R> =>
  Effect.gen(function* () {
    let best = failing
    let tries = 0
    const accepts = Effect.fnUntraced(function* (candidate: ReadonlyArray<A>) {
      if (tries >= mostTries) return false
      tries += 1
      if (!(yield* fails(candidate))) return false
      best = candidate
      return true
    })

    const takeOut = Effect.fnUntraced(function* (chunk: number) {
      let at = best.length - chunk
      let changed = false
      while (at > -chunk) {
        const from = Math.max(at, 0)
        const candidate = [...best.slice(0, from), ...best.slice(from + chunk)]
        if (candidate.length < best.length && (yield* accepts(candidate))) changed = true
        at -= chunk
      }
      return changed
    })

    const simplify = Effect.fnUntraced(function* () {
      let changed = false
      for (let at = 0; at < best.length; at++) {
        let again = true
        while (again) {
          again = false
          const item = best[at]
          if (item === undefined) break
          for (const simple of simpler(item)) {
            if (yield* accepts([...best.slice(0, at), simple, ...best.slice(at + 1)])) {
              again = true
              changed = true
              break
            }
          }
        }
      }
      return changed
    })

    let changed = true
    while (changed && tries < mostTries) {
      changed = false
      for (let chunk = Math.ceil(best.length / 2); chunk >= 1; chunk = chunk === 1 ? 0 : Math.ceil(chunk / 2)) {
        if (yield* takeOut(chunk)) changed = true
      }
      if (yield* simplify()) changed = true
    }
    return best
  })
