import { Effect, Layer } from "effect"
import { Limiter } from "../../core/ports/Limiter.ts"

/** A limiter that lets everybody in, and what was taken of whose share. */
export const watchedLimiter = () => {
  const taken: Array<string> = []
  const limiter = Layer.succeed(Limiter, {
    take: ({ allowance, of }) => Effect.sync(() => void taken.push(`${allowance.name} ${of}`))
  })
  return { taken, limiter }
}
