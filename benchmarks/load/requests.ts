import type { Plan } from "../Plan.ts"

/** A whole request as text, for one value. */
const textOf = (plan: Plan, host: string, value: string): string => {
  const fill = (text: string) => text.replaceAll("{value}", () => value)
  const body = fill(plan.body)
  const headers = Object.entries({
    host,
    ...plan.headers,
    ...(plan.method === "POST" ? { "content-length": String(Buffer.byteLength(body)) } : {})
  })
  const lines = headers.map(([name, text]) => `${name}: ${fill(text)}\r\n`).join("")
  return `${plan.method} ${plan.path} HTTP/1.1\r\n${lines}\r\n${body}`
}

/** The request for a value, by its place among the values. */
export type RequestAt = (place: number, value: string) => Buffer

/** Requests of one plan; those that come again are kept ready. */
export const requestsOf = (plan: Plan, port: number): RequestAt => {
  const hosts = plan.hosts ?? [`127.0.0.1:${port}`]
  const make: RequestAt = (place, value) =>
    Buffer.from(textOf(plan, hosts[place % hosts.length] ?? "", value), "latin1")
  if (plan.use === "chain") return make
  const ready = plan.values.map((value, place) => make(place, value))
  return (place, value) => ready[place] ?? make(place, value)
}
