import type { AsserterName, Attest, KeyName, Published, Ref, TrustTerms } from "../script/Command.ts"
import type { PlaceName, WorkspaceNumber } from "./World.ts"

/** `admin` is there only where the world has APIs; it implies `api`. */
export type Scope = "api" | "profile" | "admin" | "openid"

/** A metadata document as it was read. */
export interface Copy {
  /** The redirect URIs that it names. */
  readonly names: ReadonlyArray<string>
  /** Until then it is not fetched again. */
  readonly until: number
}

/** What came of reading one. */
export type Reading = Copy | Extract<Published, "no client" | "nothing">

/** The metadata document of a client, and what is known of it. */
export interface ClientDocument {
  readonly says: Published
  /** As it was read last. */
  readonly copy: Copy | null
  /** As it was when a person let the client in, or when the client proved itself last; `null`: it has no record. */
  readonly record: Copy | null
  /** Until then its host may be left alone, since it gave nothing. */
  readonly restsUntil: number
  readonly isBlocked: boolean
}

export interface Client {
  readonly ref: Ref
  readonly workspace: WorkspaceNumber
  readonly isPublic: boolean
  /** Of sign-outs, so that what a session issued to it ends with the session. */
  readonly isTold: boolean
  readonly mayUseCodes: boolean
  readonly mayActAlone: boolean
  readonly mayAskByDevice: boolean
  /** An owner registered it for assertions of issuers (RFC 7523 §2.1). */
  readonly bringsAssertions: boolean
  /** The key of one that signs. */
  readonly signsWith: KeyName | null
  /** Of the host's own grant types, those that it registered for. */
  readonly ownGrants: ReadonlyArray<string>
  readonly redirects: ReadonlyArray<string>
  /** The API that it is, as an owner said; `null`: it exchanges no tokens. */
  readonly serves: string | null
  /** What an owner said of its question whether it may act for the workspace; `null`: nothing yet. */
  readonly answer: "approved" | "refused" | null
  /** Until then at least it is known, where no person has let it in: each use without a person moves it. */
  readonly keptUntil: number
  /** One that a person gave it. */
  readonly hasCompletedAFlow: boolean
  /** Its identifier holds what it registered, under this key; `null` where it has a record. */
  readonly heldUnder: number | null
  readonly isDeleted: boolean
  readonly deletedAt: number | null
  /** Of one that brings it. Its `redirects` are all that it may name. */
  readonly document?: ClientDocument | undefined
}

/** What a request with the scope `openid` asks to be told, and whether its client outlives the session. */
export interface SignIn {
  readonly nonce: string | null
  readonly tellsTime: boolean
  readonly tellsName: boolean
  readonly isOffline: boolean
}

/** What a client asked for: for a consent page, or pushed before it. */
interface Asked {
  readonly ref: Ref
  readonly client: Ref
  readonly user: string
  /** `null`: a device fetches what comes of it. */
  readonly redirect: string | null
  readonly state: string | null
  readonly scope: ReadonlyArray<Scope>
  readonly resource: string | null
  readonly hasChallenge: boolean
  /** The key that the code is bound to, if any. */
  readonly boundTo: KeyName | null
  readonly signIn?: SignIn | undefined
  /** Under which the page's form, or the `request_uri`, is sealed. */
  readonly key: number
}

/** A pushed request, which a browser may come with until then. */
export interface Request extends Asked {
  readonly until: number
}

/** What a consent page stands for. */
export interface Page extends Asked {
  /** The pushed request, or the device, that it is about; all pages of one are answered together. */
  readonly request: Ref | null
  /** The one place that it is about, or whether the person chooses one on it. */
  readonly place?: PlaceName | undefined
  readonly chooses?: boolean | undefined
  /** The client's document, as the page was drawn for it, and whether that client ended since: by a ban, or forgotten. */
  readonly document?: Copy | undefined
  readonly isOutlived?: boolean | undefined
  readonly until: number
  readonly decided: "approve" | "deny" | null
  readonly decidedBy: string | null
}

/** A device whose code a person may enter, and which polls, until then (RFC 8628 §3.2). */
export interface Device {
  readonly ref: Ref
  readonly client: Ref
  readonly scope: ReadonlyArray<Scope>
  readonly resource: string | null
  /** Under which both of its codes are sealed. */
  readonly key: number
  readonly until: number
  /** When each client polled with its code, and was not told to slow down. */
  readonly polls: Readonly<Record<Ref, number>>
}

export type Death =
  | "code used twice"
  | "device code used twice"
  | "refresh token reused"
  | "revoked"
  | "taken back"
  | "session ended"
  | "left the place"
  | "connection ended"
  | "host blocked"

/** Named after the `Decide` or the `Bring` that began it, or after the client that acts alone. */
export type GrantName = `grant#${Ref}` | `service#${Ref}` | `asserted#${Ref}`

export interface Grant {
  readonly name: GrantName
  readonly client: Ref
  /** `null`: the client acts for the workspace. */
  readonly user: string | null
  /** Where it was approved: the page, or the pushed request or the device that it was about. */
  readonly page: Ref | null
  readonly scope: ReadonlyArray<Scope>
  readonly resource: string | null
  readonly redirect: string | null
  readonly hasChallenge: boolean
  /** While its code is out, the key that this is bound to; then that of a public client's refresh tokens. */
  readonly boundTo: KeyName | null
  /** The first generation of refresh tokens that is bound so, where the line was bound after its beginning. */
  readonly boundFrom?: number | undefined
  readonly bornAt: number
  readonly codeKey: number
  /** 0 while its code is out, then 1 and one more with every refresh. */
  readonly generation: number
  /** When the current generation was handed out. */
  readonly turnedAt: number
  readonly death: Death | null
  /** Where it was approved, of the places that its person has: for life. */
  readonly place?: PlaceName | undefined
  readonly signIn?: SignIn | undefined
  /** Whose answer had the first ID token. */
  readonly identifiedBy?: Ref | undefined
  /** The issuer that it is from, as it was trusted then. */
  readonly asserted?: { readonly issuer: AsserterName; readonly since: number } | undefined
  /** When its person ended it, where it is from an issuer. */
  readonly endedAt?: number | undefined
}

/** What a grant begins with that no page was shown for. */
export const unasked = ({ now }: State) =>
  ({
    page: null,
    resource: null,
    hasChallenge: false,
    boundTo: null,
    bornAt: now,
    codeKey: 0,
    generation: 1,
    turnedAt: now,
    death: null
  }) satisfies Partial<Grant>

/** Who exchanged a token for another, and which. */
interface Actor {
  readonly client: Ref
  readonly showed: Ref
}

export interface Access {
  readonly grant: GrantName
  readonly scope: ReadonlyArray<Scope>
  readonly resource: string | null
  readonly expiresAt: number
  readonly key: number
  readonly boundTo: KeyName | null
  readonly isRevoked: boolean
  /** Of an exchanged one, the last who exchanged first. */
  readonly actors: ReadonlyArray<Actor>
}

export interface RefreshToken {
  readonly grant: GrantName
  readonly generation: number
  readonly expiresAt: number
  readonly key: number
}

/** Whom an ID token names, to whom, and until when. */
export interface IdToken {
  readonly client: Ref
  readonly workspace: WorkspaceNumber
  readonly user: string
  readonly expiresAt: number
}

/** How far an issuer is trusted, and since when with these keys. */
export interface Trust {
  readonly terms: TrustTerms
  readonly since: number
}

/** What an issuer said about a person. */
export interface Assertion extends Attest {
  readonly issuedAt: number
  readonly expiresAt: number
}

/** What a client signed and showed: the server does not take it again before it would refuse it for its age. */
export interface Spent {
  readonly client: Ref
  readonly of: Ref
  readonly until: number
}

/** Everything that the protocol's answers depend on. Random values have names here, never texts. */
export interface State {
  readonly now: number
  /** The key ring, the sealing key first. */
  readonly keys: ReadonlyArray<number>
  readonly clients: ReadonlyMap<Ref, Client>
  readonly requests: ReadonlyMap<Ref, Request>
  readonly devices: ReadonlyMap<Ref, Device>
  readonly pages: ReadonlyMap<Ref, Page>
  readonly grants: ReadonlyMap<GrantName, Grant>
  readonly access: ReadonlyMap<Ref, Access>
  readonly refresh: ReadonlyMap<Ref, RefreshToken>
  /** The places of people, by workspace and name; the host says them. */
  readonly places: ReadonlyMap<string, ReadonlyArray<PlaceName>>
  /** By workspace and name. */
  readonly trusted: ReadonlyMap<string, Trust>
  readonly assertions: ReadonlyMap<Ref, Assertion>
  /** Whom issuers let in, by workspace and name, and when. */
  readonly met: ReadonlyMap<string, number>
  /** By the command whose answer had it. */
  readonly idTokens: ReadonlyMap<Ref, IdToken>
  /** By client and the command whose assertion it was. */
  readonly spent: ReadonlyMap<string, Spent>
}

export const beginning = (now: number): State => ({
  now,
  keys: [1],
  clients: new Map(),
  requests: new Map(),
  devices: new Map(),
  pages: new Map(),
  grants: new Map(),
  access: new Map(),
  refresh: new Map(),
  places: new Map(),
  trusted: new Map(),
  assertions: new Map(),
  met: new Map(),
  idTokens: new Map(),
  spent: new Map()
})

export const sealingKey = (state: State): number => state.keys[0] ?? 0

const put = <K, V>(map: ReadonlyMap<K, V>, key: K, value: V): ReadonlyMap<K, V> => new Map(map).set(key, value)

export const withClient = (state: State, client: Client): State => ({
  ...state,
  clients: put(state.clients, client.ref, client)
})

export const withRequest = (state: State, request: Request): State => ({
  ...state,
  requests: put(state.requests, request.ref, request)
})

export const withDevice = (state: State, device: Device): State => ({
  ...state,
  devices: put(state.devices, device.ref, device)
})

export const withPage = (state: State, page: Page): State => ({ ...state, pages: put(state.pages, page.ref, page) })

export const withGrant = (state: State, grant: Grant): State => ({
  ...state,
  grants: put(state.grants, grant.name, grant)
})

export const withAccess = (state: State, ref: Ref, access: Access): State => ({
  ...state,
  access: put(state.access, ref, access)
})

export const withIdToken = (state: State, ref: Ref, idToken: IdToken): State => ({
  ...state,
  idTokens: put(state.idTokens, ref, idToken)
})

export const withRefresh = (state: State, ref: Ref, refresh: RefreshToken): State => ({
  ...state,
  refresh: put(state.refresh, ref, refresh)
})

export const withSpent = (state: State, spent: Spent): State => ({
  ...state,
  spent: put(state.spent, `${spent.client} ${spent.of}`, spent)
})

export const trustedIn = (workspace: WorkspaceNumber, issuer: AsserterName): string => `${workspace} ${issuer}`

/** `null`: it is trusted no more. */
export const withTrust = (
  state: State,
  workspace: WorkspaceNumber,
  issuer: AsserterName,
  trust: Trust | null
): State => {
  const trusted = new Map(state.trusted)
  if (trust === null) trusted.delete(trustedIn(workspace, issuer))
  else trusted.set(trustedIn(workspace, issuer), trust)
  return { ...state, trusted }
}

export const withAssertion = (state: State, assertion: Assertion): State => ({
  ...state,
  assertions: put(state.assertions, assertion.id, assertion)
})

export const dead = (state: State, grant: Grant, death: Death): State => withGrant(state, { ...grant, death })

export const allDead = (state: State, grants: ReadonlyArray<Grant>, death: Death): State =>
  grants.reduce((before, grant) => dead(before, grant, death), state)

const day = 24 * 60 * 60 * 1000

export const keptWhenRegistered = 30 * day

/** A use without a person is noted once a day, so this much is sure. */
export const keptWhenUsed = 29 * day

/**
 * A client that no person has let in may be swept where it was not used; from then on nothing is promised about it. One
 * that brings a document is met all the same.
 */
export const isInDoubt = (state: State, client: Client): boolean =>
  client.document === undefined && !client.hasCompletedAFlow && state.now >= client.keptUntil

/** A client that brings a document goes with the last of what people let it have: then it may be new here, or not yet. */
export const mayBeForgotten = (state: State, { document, ref }: Client): boolean =>
  document !== undefined &&
  ![...state.grants.values()].some(
    ({ client, turnedAt }) => client === ref && state.now < turnedAt + keptWhenRegistered
  )

/** What an issuer brought is worth something as long as that is trusted, and as it was then. */
const isVouchedFor = ({ clients, trusted }: State, { asserted, client }: Grant): boolean =>
  asserted === undefined ||
  trusted.get(trustedIn(clients.get(client)?.workspace ?? 0, asserted.issuer))?.since === asserted.since

/** Deleting a client is enough to end all that it was ever granted. */
export const isAlive = (state: State, grant: Grant): boolean =>
  grant.death === null && state.clients.get(grant.client)?.isDeleted === false && isVouchedFor(state, grant)
