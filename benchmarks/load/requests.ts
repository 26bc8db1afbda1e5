import type { Plan } from "../Plan.ts"

/** A whole request as text, for one value. */
const textOf = (plan: Plan, port: number, value: string): string => {
  const fill = (text: string) => text.replaceAll("{value}", () => value)
  const body = fill(plan.body)
  const headers = Object.entries({
    host: `127.0.0.1:${port}`,
    ...plan.headers,
    ...(plan.method === "POST" ? { "content-length": String(Buffer.byteLength(body)) } : {})
  })
  const lines = headers.map(([name, text]) => `${name}: ${fill(text)}\r\n`).join("")
  return `${plan.method} ${plan.path} HTTP/1.1\r\n${lines}\r\n${body}`
}

export type RequestText = (value: string) => Buffer

/** Requests of one plan; those that come again are kept ready. */
export const requestsOf = (plan: Plan, port: number): RequestText => {
  const make: RequestText = (value) => Buffer.from(textOf(plan, port, value), "latin1")
  if (plan.use === "chain") return make
  if (plan.use === "none") {
    const only = make("")
    return () => only
  }
  const ready = new Map(plan.values.map((value) => [value, make(value)]))
  return (value) => ready.get(value) ?? make(value)
}
