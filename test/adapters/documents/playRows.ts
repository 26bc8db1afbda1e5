import { readFileSync } from "node:fs"
import { type AddressInfo, createServer, type Server, type Socket } from "node:net"
import { join } from "node:path"
import * as tls from "node:tls"
import { Effect, type Scope } from "effect"
import { certificatesIn, readAllowList } from "../../../adapters/documents/FetchOptions.ts"
import { makeDocuments } from "../../../adapters/documents/makeDocuments.ts"
import { exchangesOverHttps, type Network, network } from "../../../adapters/documents/overHttps.ts"
import { answers } from "./answers.ts"
import { longest, nameOf, type Row, rows, somewhere } from "./rows.ts"

/** Plays every row under whichever runtime this is, and prints a line of JSON for what is fetched and for a form each. */
const [folder = ""] = process.argv.slice(2)
const read = (name: string) => readFileSync(join(folder, name), "utf8")
const context = (name: string) => ({ key: read(`${name}.key`), cert: read(`${name}.pem`) })

const listening = <A extends Server>(server: A): Effect.Effect<number, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.callback<A>((resume) => {
        server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
      }),
      (server) => Effect.sync(() => server.close())
    ),
    // It listens on a port.
    (server) => (server.address() as AddressInfo).port
  )

/** The connections that servers had, each until it is closed. */
const connections: Array<Promise<void>> = []

const note = (socket: Socket) => {
  connections.push(new Promise((resolve) => socket.once("close", () => resolve())))
  return socket.on("error", () => undefined)
}

/** What each request was: the name in TLS, and its head. */
const seen: Array<string> = []

const answering = (fallback: string, names: ReadonlyArray<string>) => {
  const server = tls.createServer(context(fallback), (socket) => {
    let head = ""
    note(socket)
    socket.on("data", (part) => {
      head += part
      if (!head.includes("\r\n\r\n")) return
      seen.push(`${socket.servername || "no name"} ${head}`)
      const path = head.split(" ")[1] ?? ""
      head = ""
      const answer = answers[path]
      if (answer === undefined) socket.destroy()
      else answer(socket)
    })
  })
  for (const name of names) server.addContext(name, context(name))
  server.on("tlsClientError", () => undefined)
  return server
}

const play = (method: "GET" | "POST", row: Row, ports: Readonly<Record<string, number>>) =>
  Effect.gen(function* () {
    const dialed: Array<string> = []
    let lookups = 0
    const injected: Network = {
      ...network,
      publicAddresses: () =>
        Effect.sync(() => {
          const said = row.dns ?? [[somewhere]]
          return said[Math.min(lookups++, said.length - 1)] ?? []
        }),
      dial: (address, port) => {
        dialed.push(`${address}:${port}`)
        if (row.allow !== undefined) return network.dial(address, port)
        const server = address.endsWith(".35") ? "none" : (row.server ?? "public")
        return { host: "127.0.0.1", port: ports[server] ?? 0 }
      }
    }
    const withPort = (text: string) =>
      text.replaceAll("PORT", String(ports.private)).replaceAll("ELSEWHERE", String(ports.public))
    const allow = readAllowList(row.allow === undefined ? [] : withPort(row.allow).split(", "))
    if (allow._tag === "Failure") return yield* Effect.die(allow.failure)
    const exchanges = exchangesOverHttps(row.ca === undefined ? undefined : read(`${row.ca}.pem`), injected)
    const documents = yield* makeDocuments(exchanges, allow.success)
    const hasTime = method === "POST" && row.posts !== undefined
    const limits = {
      longest,
      within: hasTime ? 60_000 : (row.within ?? 60_000),
      freshFor: { least: 60_000, most: 60_000 }
    }
    const before = seen.length
    const path = URL.canParse(row.address) ? new URL(row.address).pathname : ""
    const isIts = (request: string) => request.includes(` ${method} ${path}`)
    const address = withPort(row.address)
    const once = (within: number) =>
      Effect.match(
        method === "GET"
          ? Effect.as(documents.fetch(address, { ...limits, within }), "ok")
          : Effect.map(documents.post(address, "logout_token=a.b.c", { within }), String),
        { onFailure: ({ reason }): string => reason, onSuccess: (came) => came }
      )
    const came = [yield* once(limits.within)]
    // Kept documents are asked for again.
    if (row.comes.includes("then")) came.push(yield* once(limits.within - 1))
    return {
      name: nameOf(row),
      method,
      came: came.join(", then "),
      dialed,
      lookups,
      requests: seen.slice(before).filter(isIts)
    }
  }).pipe(Effect.scoped)

const mute = createServer((socket) => note(socket).resume())
const plain = createServer((socket) => {
  note(socket).on("data", () => answers["/keys"]?.(socket))
})

const program = Effect.gen(function* () {
  const names = ["keys.example", "expired.example", "itself.example"]
  const trusted = answering("addresses", names)
  trusted.addContext("xn--bcher-kva.example", context("keys.example"))
  trusted.addContext("wrong.example", context("keys.example"))
  trusted.addContext("internal.example", context("localhost"))
  const gone = createServer()
  const none = yield* Effect.scoped(listening(gone))
  const ports = {
    public: yield* listening(trusted),
    private: yield* listening(answering("localhost", [])),
    plain: yield* listening(plain),
    mute: yield* listening(mute),
    none
  }
  const asked = rows.flatMap((row) => [["GET", row] as const, ["POST", row] as const])
  // Those that wait for their time to run out do it together.
  const played = yield* Effect.forEach(
    asked.filter(([, { within }]) => within === undefined),
    ([method, row]) => play(method, row, ports)
  )
  const waited = yield* Effect.forEach(
    asked.filter(([, { within }]) => within !== undefined),
    ([method, row]) => play(method, row, ports),
    { concurrency: "unbounded" }
  )
  for (const one of [...played, ...waited]) console.log(JSON.stringify(one))
  yield* Effect.promise(() => Promise.all(connections))
  console.log(JSON.stringify({ closed: connections.length }))
})

if (certificatesIn(read("private.pem")).length !== 1) throw new Error("there are no certificates")
await Effect.runPromise(Effect.scoped(program))
