import { Effect, Layer } from "effect"
import { Limiter } from "../../core/ports/Limiter.ts"

/** A limiter that allows every request and records what it counted. */
export const watchedLimiter = () => {
  const taken: Array<string> = []
  const limiter = Layer.succeed(Limiter, {
    take: ({ allowance, of }) => Effect.sync(() => void taken.push(`${allowance.name} ${of}`))
  })
  return { taken, limiter }
}
