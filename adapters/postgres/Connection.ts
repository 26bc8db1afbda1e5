import { connect as dial, type Socket } from "node:net"
import type { ConnectionOptions } from "node:tls"
import { Effect, Redacted } from "effect"
import postgres from "postgres"
import { type Failure, failureOf } from "./outcome.ts"

export interface Address {
  readonly host: string
  readonly port: number
  /** A Unix socket, instead of host and port. */
  readonly path: string | undefined
  readonly database: string
  readonly user: string
  readonly password: Redacted.Redacted<string>
  readonly tls: false | "prefer" | ConnectionOptions
  readonly applicationName: string
}

export type Cell = string | number | null
export type Row = ReadonlyArray<Cell>

/** A connection to a server. It opens once, and never again after it is closed. */
export interface Connection {
  readonly isOpen: () => boolean
  /** Sends at once. A caller that gives up must `destroy` the connection, because the statement still runs. */
  readonly query: (
    text: string,
    parameters: ReadonlyArray<Cell>,
    done: (rows: ReadonlyArray<Row> | undefined, failure: Failure | undefined) => void
  ) => void
  /** Ends the session in order. Only while no statement runs. */
  readonly close: () => void
  readonly destroy: () => void
}

export interface ConnectionSettings {
  readonly address: Address
  readonly prepare: boolean
  /** Session settings in the startup message; a pooler refuses them. */
  readonly session: Readonly<Record<string, string>>
}

// Bodies stay text, because their escapes have to be undone before they are parsed.
const asText = { to: 114, from: [114, 3802], serialize: (text: string) => text, parse: (text: string) => text }
const ignore = () => undefined

/** The answer to an SSLRequest: N. */
const refusesTls = 78

/**
 * The driver's own pool sends a first statement while it connects, and reconnects by itself, so it could not say
 * whether a write was sent. Here each driver instance gets one socket, and statements go only to a server that has
 * answered.
 */
export const connect = (settings: ConnectionSettings): Effect.Effect<Connection, Failure> =>
  Effect.callback((resume) => {
    const { address } = settings
    let socket: Socket | undefined
    let open = true
    /** It said so: the driver begins TLS all the same, and the server hangs up. */
    let hasNoTls = false

    const socketOnce = () => {
      if (socket !== undefined) return Promise.reject(new Error("this connection is over"))
      const dialled = address.path === undefined ? dial(address.port, address.host) : dial(address.path)
      socket = dialled
      // The driver reads the server's name for TLS from this property.
      Object.assign(dialled, { host: address.host })
      dialled.setNoDelay(true)
      if (typeof address.tls === "object") dialled.once("data", ([first]: Buffer) => (hasNoTls = first === refusesTls))
      return new Promise<Socket>((resolve, reject) => {
        dialled.once("error", reject)
        dialled.once("connect", () => {
          dialled.removeListener("error", reject)
          resolve(dialled)
        })
        dialled.once("close", () => reject(Object.assign(new Error("closed"), { code: "ECONNRESET" })))
      })
    }

    // A variable, because the driver's types leave `socket` out.
    const options = {
      host: address.host,
      port: address.port,
      database: address.database,
      user: address.user,
      password: Redacted.value(address.password),
      ssl: address.tls,
      max: 1,
      max_lifetime: null,
      idle_timeout: 0,
      connect_timeout: 0,
      // Seconds. A migration has no other deadline.
      keep_alive: 60,
      fetch_types: false,
      prepare: settings.prepare,
      types: { json: asText },
      onnotice: ignore,
      onclose: () => {
        open = false
      },
      connection: { application_name: address.applicationName, ...settings.session },
      socket: socketOnce
    }
    const sql = postgres(options)

    const destroy = () => {
      open = false
      socket?.destroy()
      sql.end({ timeout: 0 }).catch(ignore)
    }

    const connection: Connection = {
      isOpen: () => open,
      query: (text, parameters, done) => {
        sql
          .unsafe<Array<Record<string, Cell>>>(text, [...parameters], { prepare: settings.prepare })
          .values()
          .then(
            // `values` gives each row as an array of cells, and `asText` leaves text, numbers and NULL.
            (rows) => done(rows as unknown as ReadonlyArray<Row>, undefined),
            (error: unknown) => done(undefined, failureOf(error))
          )
      },
      close: () => {
        open = false
        sql.end({ timeout: 1 }).catch(ignore)
      },
      destroy
    }

    connection.query("SELECT 1", [], (_rows, failure) => {
      if (failure === undefined) return resume(Effect.succeed(connection))
      destroy()
      const message = "PostgreSQL has no TLS there, which sslmode asks for"
      resume(Effect.fail(hasNoTls ? { ...failure, message } : failure))
    })
    return Effect.sync(destroy)
  })
