import type { HttpResponse } from "../core/http/Http.ts"
import { oauthError } from "../core/http/wire.ts"
import { Overloaded } from "../core/rules/Refusal.ts"
import type { Serve } from "./Serve.ts"
import { turnedAway } from "./turnedAway.ts"

const overloaded: HttpResponse = oauthError(new Overloaded())

/** Turns away what is more than so many requests at once: a queue without an end helps nobody who stands in it. */
export const shed = (serve: Serve, most: number): Serve => {
  let underWay = 0
  return (request) => {
    if (underWay >= most) return turnedAway(overloaded)
    const answer = serve(request)
    if (!(answer instanceof Promise)) return answer
    underWay++
    // `finally` makes three promises more, for every request that waits.
    return answer.then(
      (answered) => {
        underWay--
        return answered
      },
      (defect) => {
        underWay--
        throw defect
      }
    )
  }
}
