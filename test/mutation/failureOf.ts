import type { Collected } from "./collected.ts"

/** A test that takes this long has been sent waiting by the mutant: none takes a tenth of it. */
const patience = 5000

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error)).slice(0, 2000)

/** Runs a test, and tells why it failed, if it did. */
export const failureOf = async (one: Collected): Promise<string | undefined> => {
  let timer: Timer | undefined
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve("no end"), patience)
  })
  try {
    const result = one.run()
    return result instanceof Promise ? await Promise.race([result.then(() => undefined), late]) : undefined
  } catch (error) {
    return reasonOf(error)
  } finally {
    clearTimeout(timer)
  }
}
