import { Effect, Option, Schema } from "effect"
import type { StorageUnavailable } from "../../core/ports/Storage.ts"
import { warnOfClock } from "../clockApart.ts"
import type { RedisTarget } from "./RedisUrl.ts"
import type { Master, Wire } from "./Wire.ts"

/** The server evicts records when memory is full, so issued grants would be lost. */
export class EvictionRefused extends Schema.TaggedError<EvictionRefused>()("EvictionRefused", {
  node: Schema.String,
  policy: Schema.String
}) {
  override get message(): string {
    return `Redis at ${this.node} has maxmemory-policy ${this.policy} and would throw away records when it is full: set noeviction, or allow eviction`
  }
}

/** What a server's settings would lose, or what it hides. */
export type DurabilityWarning =
  | { readonly _tag: "AppendOnlyOff"; readonly node: string }
  | { readonly _tag: "LastWritesAtRisk"; readonly node: string; readonly appendfsync: string }
  | {
      readonly _tag: "FailoverLosesWrites"
      readonly node: string
      readonly replicas: number
      readonly kind: RedisTarget["kind"]
    }
  | { readonly _tag: "EvictionOn"; readonly node: string; readonly policy: string }
  | { readonly _tag: "CouldNotLook"; readonly node: string; readonly settings: ReadonlyArray<string> }

const waiting = "wait=1 in the URL waits for one"

/** A URL of a cluster takes no `wait`. */
const remedies: Readonly<Record<RedisTarget["kind"], string>> = {
  single: waiting,
  sentinel: waiting,
  cluster: "min-replicas-to-write and min-replicas-max-lag bound how many"
}

export const warningText = (warning: DurabilityWarning): string => {
  switch (warning._tag) {
    case "AppendOnlyOff":
      return `Redis at ${warning.node} has appendonly off: a restart loses everything since the last snapshot`
    case "LastWritesAtRisk":
      return `Redis at ${warning.node} has appendfsync ${warning.appendfsync}: a crash of its machine loses ${warning.appendfsync === "everysec" ? "up to two seconds" : "perhaps half a minute"} of acknowledged writes`
    case "FailoverLosesWrites":
      return `Redis at ${warning.node} acknowledges writes before any of its replicas (${warning.replicas}) has them: a failover loses the last ones, and what was revoked or spent by them works again; ${remedies[warning.kind]}`
    case "EvictionOn":
      return `Redis at ${warning.node} has maxmemory-policy ${warning.policy}: it throws away records when it is full`
    case "CouldNotLook":
      return `Redis at ${warning.node} does not let us see ${warning.settings.join(", ")}: what a crash would lose is not known`
  }
}

interface Tolerance {
  readonly allowEviction: boolean
  /** Each write waits for a replica, so a failover to it loses none. */
  readonly waitForReplica?: boolean
}

/** Reads the settings of every master. */
export const inspectDurability = (
  wire: Wire,
  kind: RedisTarget["kind"],
  tolerance: Tolerance
): Effect.Effect<ReadonlyArray<DurabilityWarning>, EvictionRefused | StorageUnavailable> =>
  Effect.map(
    Effect.forEach(wire.masters(), (master) => inspect(master, kind, tolerance), { concurrency: "unbounded" }),
    (warnings) => warnings.flat()
  )

const inspect = Effect.fnUntraced(function* (
  master: Master,
  kind: RedisTarget["kind"],
  tolerance: Tolerance
): Effect.fn.Return<ReadonlyArray<DurabilityWarning>, EvictionRefused | StorageUnavailable> {
  const node = master.name
  // By name, because CONFIG GET * also returns the server's passwords.
  const [appendonlySet, appendfsync, policySet] = yield* Effect.all([
    setting(master, "appendonly"),
    setting(master, "appendfsync"),
    setting(master, "maxmemory-policy")
  ])
  // Managed servers forbid CONFIG; INFO has most of it.
  const info = yield* warnOfClock(
    `Redis at ${node}`,
    Effect.map(master.ask("info", []), fieldsOf),
    (told) => Number(told.get("server_time_usec") ?? Number.NaN) / 1000
  )
  const appendonly = appendonlySet ?? { "0": "no", "1": "yes" }[info.get("aof_enabled") ?? ""]
  const policy = policySet ?? info.get("maxmemory_policy")
  const replicas = Number(info.get("connected_slaves") ?? 0)

  const warnings: Array<DurabilityWarning> = []
  if (policy !== undefined && policy !== "noeviction") {
    if (!tolerance.allowEviction) return yield* new EvictionRefused({ node, policy })
    warnings.push({ _tag: "EvictionOn", node, policy })
  }
  if (appendonly === "no") {
    warnings.push({ _tag: "AppendOnlyOff", node })
  } else if (appendfsync !== undefined && appendfsync !== "always") {
    warnings.push({ _tag: "LastWritesAtRisk", node, appendfsync })
  }
  // With min-replicas-to-write too: that counts the replicas of a moment ago, and waits for none.
  if (replicas > 0 && tolerance.waitForReplica !== true) {
    warnings.push({ _tag: "FailoverLosesWrites", node, replicas, kind })
  }

  const settings = Object.entries({ appendonly, appendfsync, "maxmemory-policy": policy })
    .filter(([name, value]) => value === undefined && !(name === "appendfsync" && appendonly === "no"))
    .map(([name]) => name)
  return settings.length === 0 ? warnings : [...warnings, { _tag: "CouldNotLook", node, settings }]
})

const setting = (master: Master, name: string): Effect.Effect<string | undefined, StorageUnavailable> =>
  Effect.map(master.ask("config", ["GET", name]), (answer) => {
    const pair = Option.getOrUndefined(answer)
    return Array.isArray(pair) && typeof pair[1] === "string" ? pair[1] : undefined
  })

const fieldsOf = (answer: Option.Option<unknown>): ReadonlyMap<string, string> => {
  const text = Option.getOrUndefined(answer)
  if (typeof text !== "string") return new Map()
  return new Map(
    text.split("\r\n").flatMap((line) => {
      const colon = line.indexOf(":")
      return colon === -1 ? [] : [[line.slice(0, colon), line.slice(colon + 1)] as const]
    })
  )
}
