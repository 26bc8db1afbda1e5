import { Result, Schema } from "effect"
import { readParameters, textOf, wordOf } from "../StoreKind.ts"

/** The Redis URL is invalid. The message never repeats it, because it may hold a password. */
export class BadRedisUrl extends Schema.TaggedError<BadRedisUrl>()("BadRedisUrl", { message: Schema.String }) {}

/** WAIT is about the writes of one connection, and a cluster has one to each master. */
export const noWaitInCluster = "wait=1 is for one master and its replicas, not for a cluster"

export interface Address {
  readonly host: string
  readonly port: number
}

export interface Login {
  readonly username: string | undefined
  readonly password: string | undefined
}

/** Options that can also be given beside the URL. */
interface UrlOptions {
  readonly prefix?: string
  readonly allowEviction?: boolean
  /** Each write waits until a replica has it. */
  readonly waitForReplica?: boolean
}

interface Common {
  readonly settings: UrlOptions
  readonly tls: boolean
  readonly login: Login
}

interface SingleTarget extends Common {
  readonly kind: "single"
  readonly address: Address
  readonly database: number
}

interface ClusterTarget extends Common {
  readonly kind: "cluster"
  readonly nodes: ReadonlyArray<Address>
}

interface SentinelTarget extends Common {
  readonly kind: "sentinel"
  readonly sentinels: ReadonlyArray<Address>
  readonly sentinelLogin: Login
  /** The master's name in Sentinel. */
  readonly name: string
  readonly database: number
}

export type RedisTarget = SingleTarget | ClusterTarget | SentinelTarget

const shape = /^(rediss?)(\+cluster|\+sentinel)?:\/\/(?:([^@/?#]*)@)?([^@/?#]+)(?:\/([^?#]*))?(?:\?([^#]*))?$/

/**
 * - `redis://[user:password@]host[:port][/database]`
 * - `redis+cluster://[user:password@]host[:port],host[:port]`
 * - `redis+sentinel://[user:password@]host[:port],host[:port]/name[/database][?sentinel_username=…&sentinel_password=…]`
 *
 * Each takes `prefix` and `eviction=allow` in the query, and `wait=1`, but for a cluster. `rediss`, `rediss+cluster` and `rediss+sentinel` use TLS.
 * Names and passwords are percent-encoded.
 */
export const parseRedisUrl = (url: string): Result.Result<RedisTarget, BadRedisUrl> =>
  Result.gen(function* () {
    const [matched, scheme, flavour, userinfo, hosts = "", path = "", query = ""] = shape.exec(url) ?? []
    if (matched === undefined) return yield* bad("a Redis URL looks like redis://host:port, maybe with +cluster")
    const given = yield* readParameters(
      query,
      flavour === "+sentinel" ? { ...parameters, ...sentinelParameters } : parameters
    ).pipe(Result.mapError((message) => new BadRedisUrl({ message })))
    const { eviction, prefix, sentinel_password, sentinel_username, wait }: Given = given
    const sentinelLogin = { username: sentinel_username, password: sentinel_password }
    const settings = {
      ...(prefix === undefined ? {} : { prefix }),
      ...(eviction === undefined ? {} : { allowEviction: eviction === "allow" }),
      ...(wait === undefined ? {} : { waitForReplica: wait === "1" })
    }
    const common = { settings, tls: scheme === "rediss", login: yield* loginOf(userinfo) }
    const addresses = yield* Result.all(hosts.split(",").map(addressOf(flavour === "+sentinel" ? 26379 : 6379)))

    if (flavour === "+cluster") {
      if (wait === "1") return yield* bad(noWaitInCluster)
      if (path !== "" && path !== "0") return yield* bad("a Redis Cluster has no numbered databases")
      return { kind: "cluster" as const, ...common, nodes: addresses }
    }
    if (flavour === "+sentinel") {
      const [name = "", database = "", ...rest] = path.split("/")
      if (name === "" || rest.length > 0) return yield* bad("a Sentinel URL ends in /name or /name/database")
      return {
        kind: "sentinel" as const,
        ...common,
        sentinels: addresses,
        sentinelLogin,
        name: yield* decoded(name),
        database: yield* databaseOf(database)
      }
    }
    const [address, ...others] = addresses
    if (address === undefined || others.length > 0) {
      return yield* bad("several hosts need redis+cluster:// or redis+sentinel://")
    }
    return { kind: "single" as const, ...common, address, database: yield* databaseOf(path) }
  })

const anyText = textOf("text", /^/)

const parameters = {
  prefix: textOf("up to 64 letters, digits, _ and -", /^[A-Za-z0-9_-]{1,64}$/),
  eviction: wordOf("refuse", "allow"),
  wait: wordOf("0", "1")
}

const sentinelParameters = { sentinel_username: anyText, sentinel_password: anyText }

interface Given {
  readonly prefix?: string
  readonly eviction?: "refuse" | "allow"
  readonly wait?: "0" | "1"
  readonly sentinel_username?: string
  readonly sentinel_password?: string
}

const bad = (message: string) => Result.fail(new BadRedisUrl({ message }))

const addressOf =
  (defaultPort: number) =>
  (text: string): Result.Result<Address, BadRedisUrl> => {
    const [, bracketed, plain, digits] = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(text) ?? []
    const host = bracketed ?? plain
    const port = digits === undefined ? defaultPort : Number(digits)
    if (host === undefined || port < 1 || port > 65535) return bad("the Redis URL has a host that is not host:port")
    return Result.succeed({ host, port })
  }

const databaseOf = (text: string): Result.Result<number, BadRedisUrl> =>
  /^\d{0,5}$/.test(text) ? Result.succeed(Number(text)) : bad("the database in the Redis URL is not a number")

const loginOf = (userinfo: string | undefined): Result.Result<Login, BadRedisUrl> =>
  Result.gen(function* () {
    if (userinfo === undefined) return { username: undefined, password: undefined }
    const colon = userinfo.indexOf(":")
    const username = yield* decoded(colon === -1 ? userinfo : userinfo.slice(0, colon))
    const password = colon === -1 ? undefined : yield* decoded(userinfo.slice(colon + 1))
    return { username: username === "" ? undefined : username, password }
  })

const decoded = (text: string): Result.Result<string, BadRedisUrl> =>
  Result.try({
    try: () => decodeURIComponent(text),
    catch: () => new BadRedisUrl({ message: "the Redis URL has a percent sign that encodes nothing" })
  })
