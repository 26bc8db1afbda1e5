import type { ConnectionOptions } from "node:tls"
import { Cluster, type RedisOptions as ConnectionSettings, Redis, ReplyError } from "ioredis"
import type { Login, RedisTarget } from "./RedisUrl.ts"

export interface Connecting {
  readonly deadlineMillis: number
  readonly tls: ConnectionOptions | undefined
}

/**
 * An ioredis client that resends a command only if the server did not run it (MOVED, ASK, TRYAGAIN, CLUSTERDOWN).
 * It turns these defaults of ioredis off:
 *
 * - `autoResendUnfulfilledCommands` resends unanswered commands after a reconnect;
 * - `maxRetriesPerRequest` lets commands wait through twenty reconnects, and at 0 through one;
 * - `retryDelayOnFailover` resends a cluster's interrupted commands, writes included.
 */
export const connect = (target: RedisTarget, connecting: Connecting): Redis | Cluster => {
  const common = {
    ...credentials(target.login),
    ...(target.tls ? { tls: connecting.tls ?? {} } : {}),
    // RESP3 brings nothing needed here, and old servers and proxies refuse its greeting.
    protocol: 2,
    connectTimeout: 2000,
    maxLoadingRetryTime: 1000,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    // A frozen server keeps connections open; past this they are replaced.
    socketTimeout: connecting.deadlineMillis * 2
  } satisfies ConnectionSettings
  const lasting = {
    ...common,
    lazyConnect: true,
    retryStrategy: delay,
    // The master became a replica. 1 means "reconnect, do not resend"; the name or the sentinels give the new master.
    reconnectOnError: (error: Error) => (error.message.startsWith("READONLY") ? 1 : false)
  } satisfies ConnectionSettings

  switch (target.kind) {
    case "single":
      return onlyInItsDatabase(new Redis({ ...lasting, ...target.address, db: target.database }))
    case "sentinel": {
      const { username, password } = credentials(target.sentinelLogin)
      const client = new Redis({
        ...lasting,
        sentinels: target.sentinels.map((address) => ({ ...address })),
        name: target.name,
        db: target.database,
        sentinelRetryStrategy: delay,
        sentinelCommandTimeout: connecting.deadlineMillis,
        failoverDetector: true,
        ...(username === undefined ? {} : { sentinelUsername: username }),
        ...(password === undefined ? {} : { sentinelPassword: password }),
        ...(target.tls ? { enableTLSForSentinelMode: true, sentinelTLS: connecting.tls ?? {} } : {})
      })
      return onlyInItsDatabase(client)
    }
    case "cluster":
      return new Cluster(
        target.nodes.map((address) => ({ ...address })),
        {
          lazyConnect: true,
          redisOptions: common,
          retryDelayOnFailover: 0,
          clusterRetryStrategy: (times) => Math.min(50 * times, 1000),
          // A certificate names the host, so with TLS names are not resolved to addresses.
          ...(target.tls ? { dnsLookup: (name, found) => found(null, name) } : {})
        }
      )
  }
}

/** Where SELECT is refused, ioredis says so and goes on in database 0, among the records of others. */
const onlyInItsDatabase = (client: Redis): Redis =>
  client.on("error", (error: Error & { readonly command?: { readonly name: string } }) => {
    if (error instanceof ReplyError && error.command?.name === "select") client.disconnect(true)
  })

const delay = (times: number): number => Math.min(25 * 2 ** (times - 1), 1000)

const credentials = ({ username, password }: Login): { readonly username?: string; readonly password?: string } => ({
  ...(username === undefined ? {} : { username }),
  ...(password === undefined ? {} : { password })
})
