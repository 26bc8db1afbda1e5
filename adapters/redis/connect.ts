import type { ConnectionOptions } from "node:tls"
import { Cluster, type RedisOptions as ConnectionSettings, Redis } from "ioredis"
import type { Login, RedisTarget } from "./RedisUrl.ts"

export interface Connecting {
  readonly deadlineMillis: number
  readonly tls: ConnectionOptions | undefined
}

/**
 * An ioredis client that never sends a command a second time by itself, except where the server has said that it did
 * not run the first (MOVED, ASK, TRYAGAIN, CLUSTERDOWN). What ioredis would do otherwise, by default:
 *
 * - `autoResendUnfulfilledCommands`: sends again, after a reconnect, what had no answer yet;
 * - `maxRetriesPerRequest`: lets commands wait through twenty reconnects. At 0 they wait for one at most;
 * - `retryDelayOnFailover`: in a cluster, sends again what was cut off, writes too.
 */
export const connect = (target: RedisTarget, connecting: Connecting): Redis | Cluster => {
  const common = {
    ...credentials(target.login),
    ...(target.tls ? { tls: connecting.tls ?? {} } : {}),
    // RESP3 gives nothing that is used here and costs old servers and proxies a refused greeting.
    protocol: 2,
    connectTimeout: 2000,
    maxLoadingRetryTime: 1000,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    // A server that has stopped in mid-flight keeps its connections open; past this they are given up and made anew.
    socketTimeout: connecting.deadlineMillis * 2
  } satisfies ConnectionSettings
  const lasting = {
    ...common,
    lazyConnect: true,
    retryStrategy: delay,
    // A master that became a replica: the name, or the sentinels, know the new one. 1 is "reconnect, do not repeat".
    reconnectOnError: (error: Error) => (error.message.startsWith("READONLY") ? 1 : false)
  } satisfies ConnectionSettings

  switch (target.kind) {
    case "single":
      return new Redis({ ...lasting, ...target.address, db: target.database })
    case "sentinel": {
      const { username, password } = credentials(target.sentinelLogin)
      return new Redis({
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
    }
    case "cluster":
      return new Cluster(
        target.nodes.map((address) => ({ ...address })),
        {
          lazyConnect: true,
          redisOptions: common,
          retryDelayOnFailover: 0,
          clusterRetryStrategy: (times) => Math.min(50 * times, 1000),
          // A certificate is made out to the name, so with TLS names stay names.
          ...(target.tls ? { dnsLookup: (name, found) => found(null, name) } : {})
        }
      )
  }
}

const delay = (times: number): number => Math.min(25 * 2 ** (times - 1), 1000)

const credentials = ({ username, password }: Login): { readonly username?: string; readonly password?: string } => ({
  ...(username === undefined ? {} : { username }),
  ...(password === undefined ? {} : { password })
})
