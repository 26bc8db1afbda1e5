import { createInterface } from "node:readline"
import type { Order, Plan, Ready } from "../Plan.ts"

const say = (value: Ready | Plan | { readonly failure: string }) => process.stdout.write(`${JSON.stringify(value)}\n`)

/** A server under test tells where it listens, answers each order with a plan, and ends with its input. */
export const obey = async (port: number, prepare: (order: Order) => Plan | Promise<Plan>): Promise<void> => {
  say({ port })
  for await (const line of createInterface({ input: process.stdin })) {
    try {
      // What the harness writes.
      say(await prepare(JSON.parse(line) as Order))
    } catch (error) {
      say({ failure: error instanceof Error ? (error.stack ?? error.message) : String(error) })
    }
  }
  process.exit(0)
}
