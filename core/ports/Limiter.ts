import { Context, Effect, Layer } from "effect"
import { hour, type Millis, second } from "../rules/Instant.ts"
import type { TooManyRequests } from "../rules/Refusal.ts"
import type { WorkspaceId } from "../workspace/Workspace.ts"

/**
 * Whom an address stands for when requests are counted: an IPv4 address itself, an IPv6 address its /64, since one
 * customer has that many addresses to choose from.
 */
export const networkOf = (address: string): string => {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  if (!address.includes(":")) return address
  const bare = address.split("%", 1)[0] ?? address
  const [head = "", tail] = bare.toLowerCase().split("::")
  const before = head === "" ? [] : head.split(":")
  const after = tail === undefined || tail === "" ? [] : tail.split(":")
  const zeros =
    tail === undefined ? [] : Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => "0")
  const groups = [...before, ...zeros, ...after].slice(0, 4)
  return `${groups.map((group) => group.replace(/^0+(?=.)/, "")).join(":")}::/64`
}

/** The /48 around an IPv6 network, which one customer may have too; none around an IPv4 address. */
export const regionOf = (network: string): string | undefined =>
  network.includes(":") ? `${network.split(":").slice(0, 3).join(":")}::/48` : undefined

/** The most that one customer has of the network around an address; `undefined` where the runtime does not know the peer. */
export const askerOf = (request: { readonly peer?: string | undefined } | undefined) => (): string | undefined => {
  const peer = request?.peer
  if (peer === undefined) return undefined
  const network = networkOf(peer)
  return regionOf(network) ?? network
}

/** How much there may be of something for one key: `burst` at once, and one more with every `refill`. */
export interface Allowance {
  /** Names it in the log, and keeps its keys apart from those of others. */
  readonly name: string
  readonly burst: number
  readonly refill: Millis
  /** The caller was told its pace, which a factor of all limits leaves as it is. */
  readonly told?: true
}

export interface LimitKey {
  readonly allowance: Allowance
  readonly workspace: WorkspaceId
  /** Whose share it is: a client, a grant by its mark, a digest of an email, a network. Never a secret. */
  readonly of: string
}

/** What keeps one caller from taking the others' share; between processes, where the implementation shares it. */
export class Limiter extends Context.Service<
  Limiter,
  {
    /**
     * Takes one from the share, or fails with how long to wait. It may take as soon as it is called, so that an answer
     * that waits for nothing needs no fiber.
     */
    readonly take: (key: LimitKey) => Effect.Effect<void, TooManyRequests>
  }
>()("tessera/core/ports/Limiter") {
  /** No limits: for load tests, and for a host that limits in front. */
  static readonly layerNone = Layer.succeed(Limiter, { take: () => Effect.void })
}

const perMinute = (count: number) => (60 * second) / count
const perHour = (count: number) => hour / count

/**
 * What each caller may do before being asked to wait. Generous: they stop floods and loops, not people. Callers that
 * have shown who they are have a share of their own; an address has one only where the caller is not known yet, and a
 * large one, since hosted products send many people through few addresses.
 */
export const allowances = {
  /** Requests of a client that has shown a credential, those about its own registration included. */
  client: { name: "client", burst: 1200, refill: perMinute(1200) },
  /** Requests that name a public client and show nothing of its own, from one address: any caller can name it. */
  publicClient: { name: "public_client", burst: 300, refill: perMinute(300) },
  /** Refreshes of one grant; of a public client, all that shows one of its tokens. */
  grant: { name: "grant", burst: 60, refill: perMinute(60) },
  /** Failed client authentications from one address. */
  failedClient: { name: "failed_client", burst: 300, refill: perMinute(300) },
  /** Requests and answers of one signed-in account, and its sign-ins at browsers that it has been signed in at. */
  account: { name: "account", burst: 120, refill: perMinute(120) },
  /** Authorization requests from one address. */
  authorize: { name: "authorize", burst: 3000, refill: perMinute(3000) },
  /** Requests that one client pushes; of public ones, and of those that no person let in yet, all from one address. */
  push: { name: "push", burst: 300, refill: perMinute(300) },
  /** RFC 8628 §3.5: polls of one device, which is told to wait a second longer than this. */
  devicePoll: { name: "device_poll", burst: 1, refill: 4 * second, told: true },
  /** Codes of devices that one account enters … */
  userCode: { name: "user_code", burst: 20, refill: perHour(60) },
  /** … that come from one address … */
  userCodeFrom: { name: "user_code_from", burst: 100, refill: perHour(300) },
  /** … and in all. RFC 8628 §5.1: a day of guesses finds one of 100 codes that wait in one of a thousand cases. */
  userCodeInAll: { name: "user_code_in_all", burst: 1000, refill: perMinute(120) },
  /** Sign-ins from one address, the right ones too. What slows down guessing is `people/SignInThrottle.ts`. */
  signIn: { name: "sign_in", burst: 600, refill: perMinute(600) },
  /** Registrations from one address. */
  register: { name: "register", burst: 500, refill: perHour(5000) }
} as const satisfies Record<string, Allowance>

/** How many times the share of one IPv6 network all the 65,536 of its /48 have together. */
const networksOfRegion = 4

const regionShares = new WeakMap<Allowance, Allowance>()

/** What all the networks of one IPv6 /48 may do together. */
export const regionAllowance = (allowance: Allowance): Allowance => {
  const known = regionShares.get(allowance)
  if (known !== undefined) return known
  const { burst, name, refill } = allowance
  const made = { name: `${name}_region`, burst: networksOfRegion * burst, refill: refill / networksOfRegion }
  regionShares.set(allowance, made)
  return made
}
