import type { Collected } from "./collected.ts"

/**
 * A test that takes this long has been sent waiting by the mutant: none takes half of it. Counted in the ticks of a
 * clock that stands still while the machine has no time for this process.
 */
const tick = 100
const patience = 100

export const noEnd = "no end"

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error)).slice(0, 2000)

/** Runs a test, and tells why it failed, if it did. */
export const failureOf = async (one: Collected): Promise<string | undefined> => {
  let timer: Timer | undefined
  const late = new Promise<string>((resolve) => {
    let ticks = 0
    timer = setInterval(() => {
      ticks++
      if (ticks === patience) resolve(noEnd)
    }, tick)
  })
  try {
    const result = one.run()
    return result instanceof Promise ? await Promise.race([result.then(() => undefined), late]) : undefined
  } catch (error) {
    return reasonOf(error)
  } finally {
    clearInterval(timer)
  }
}
