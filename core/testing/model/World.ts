import type { ClientMethod } from "../script/ClientMethod.ts"

/** The settings that a system is started with, as far as its answers depend on them. Times are in milliseconds. */
export interface World {
  /** What the system's own randomness and scheduling start from. */
  readonly seed: number
  readonly startsAt: number
  /** One workspace each; nothing of one may be reachable from the other. */
  readonly issuers: readonly [string, string]
  /** How long a consent page may stand open. */
  readonly consentTtl: number
  readonly codeTtl: number
  readonly accessTtl: number
  readonly refreshIdleTtl: number
  readonly refreshMaxTtl: number
  readonly refreshGrace: number
  readonly requirePkce: boolean
  /** Which clients may act for the workspace itself. */
  readonly workspaceAccess: "registered" | "approved" | "owner"
  /**
   * A registration writes nothing before the first consent, or the first token of a client that acts alone. A system other
   * than the core has no part in it: `false` leaves it out.
   */
  readonly rowsAtConsent?: boolean
  /** The methods of client authentication that the system has beside those with a secret, and `none`. */
  readonly methods: ReadonlyArray<ClientMethod>
  /** An owner answers clients. A system other than the core has no part in it: `false` leaves it out. */
  readonly owners?: boolean
  /** There is a scope that implies another one, and requests name several resources at once. */
  readonly apis?: boolean
  /** Clients prove keys and push requests. A system other than the core has no part in it: `false` leaves it out. */
  readonly keys?: boolean
  /** There are clients without a browser. A system other than the core has no part in it either. */
  readonly devices?: boolean
  /** An owner lets clients exchange tokens. A system other than the core has no part in it either. */
  readonly exchanges?: boolean
  /** People sign in by OpenID Connect. A system other than the core has no part in it either. */
  readonly openId?: boolean
  /** They sign out by an application, and clients say which pages they want, or none. */
  readonly signOuts?: boolean
  /** People have places, of which they choose one for a grant. A system other than the core has no part in it either. */
  readonly places?: boolean
  /** Clients bring assertions of issuers that an owner trusts. A system other than the core has no part in it either. */
  readonly assertions?: boolean
  /** They are asked claim by claim. */
  readonly claims?: boolean
  /** There are clients that sign. A system other than the core has no part in it either. */
  readonly signers?: boolean
  /** Every API asks for JWTs (RFC 9068). A system other than the core has no part in it either. */
  readonly jwts?: boolean
  /** There are clients that bring a metadata document. A system other than the core has no part in it either. */
  readonly documents?: boolean
  /** Models of the host's own grant types: each a `GrantTypeModel`. */
  readonly grantTypes?: ReadonlyArray<{ readonly name: string }>
}

export type WorkspaceNumber = 0 | 1

/** Where people may let a client act for them. */
export type PlaceName = "bakery" | "mill" | "garden"

const second = 1000
const minute = 60 * second
const day = 24 * 60 * minute

/** What people may hand on at each place; `null`: whatever they are asked for. */
export const placeScopes: Readonly<Record<PlaceName, ReadonlyArray<"api" | "profile"> | null>> = {
  bakery: null,
  mill: ["api"],
  garden: ["profile"]
}

/** How long a browser has to come with a pushed request. */
export const pushedTtl = minute

/** How long the codes of a device are good, and how long it has to wait between two polls (RFC 8628 §3.2). */
export const deviceTtl = 10 * minute
export const pollInterval = 5 * second

/** Where clients that are told of sign-outs have browsers sent after one. */
export const byeAddress = "https://app.example/bye?kept=1"

/** Who is here from the start, in every workspace. */
export const residents: ReadonlyArray<string> = ["ann", "bob"]

/** How far the clock of a client that signs may be off, and how far away the end of what it signs may be. */
export const signerLeeway = 10 * second
export const longestSigned = 5 * minute

/** How far the clock of an issuer of assertions may be off, and how far away the end of one may be. */
export const assertionLeeway = 10 * second
export const longestAssertion = 60 * minute

/** How long the metadata documents of scripts may be kept, as they say (Client ID Metadata Document §5.2). */
export const documentKept = 10 * minute

/** How long after that a client goes on with what people let it have, while its document cannot be had. */
export const documentStale = 7 * day

/** How long a host that gave no document may be left alone. */
export const documentRest = 30 * second

/** How far the clocks of two processes may be apart: so long an owner waits who takes a ban back. */
export const clocksApart = 5 * second

/** The settings of a server without any configuration. */
export const defaultWorld: World = {
  seed: 1,
  startsAt: 1_795_219_200_000,
  issuers: ["https://one.example", "https://two.example"],
  consentTtl: 15 * minute,
  codeTtl: minute,
  accessTtl: 60 * minute,
  refreshIdleTtl: 30 * day,
  refreshMaxTtl: 180 * day,
  refreshGrace: minute,
  requirePkce: false,
  workspaceAccess: "registered",
  methods: []
}

/** Settings under which different boundaries lie near each other. */
export const worlds = (seed: number, startsAt: number): readonly [World, ...ReadonlyArray<World>] => {
  const usual: World = { ...defaultWorld, seed, startsAt }
  return [
    usual,
    { ...usual, refreshGrace: 0 },
    { ...usual, refreshGrace: 10 * second, refreshIdleTtl: 90 * minute, refreshMaxTtl: 100 * minute },
    { ...usual, requirePkce: true, codeTtl: 10 * minute, accessTtl: 5 * minute, refreshIdleTtl: 6 * minute },
    { ...usual, workspaceAccess: "approved" },
    { ...usual, workspaceAccess: "owner" },
    { ...usual, rowsAtConsent: true }
  ]
}
