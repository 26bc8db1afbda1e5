import type { Dice } from "../Dice.ts"
import { ownGrantTypes } from "../model/ownGrant.ts"
import { placesOf } from "../model/place.ts"
import {
  type Assertion,
  type Client,
  type Device,
  type Grant,
  isAlive,
  type Page,
  type Request,
  type State,
  trustedIn
} from "../model/State.ts"
import { endOf } from "../model/tokens.ts"
import {
  assertionLeeway,
  documentStale,
  longestAssertion,
  type PlaceName,
  pollInterval,
  type WorkspaceNumber,
  type World
} from "../model/World.ts"
import {
  type AskDevice,
  type AsserterName,
  type Attest,
  type Authorize,
  type Bring,
  type ClaimsAsked,
  type ClientKind,
  type Decide,
  type Enter,
  type Housekeeping,
  type KeyName,
  oddRegistrations,
  type Poll,
  type Presented,
  type Published,
  type Push,
  type Redeem,
  type RedirectTwist,
  type Ref,
  type Register,
  type ResourceAsk,
  type Revoke,
  type ShownKey,
  type SignedAs,
  type SignOut,
  type Step,
  type TrustIssuer,
  type Visit
} from "./Command.ts"
import { offersOfAnswers } from "./drawAnswers.ts"
import {
  anyClient,
  isSome,
  type Moment,
  mostly,
  type Offer,
  offersFor,
  proofOf,
  type Some,
  turnKeys,
  young
} from "./Moment.ts"

const redirectPool: Some<string> = [
  "https://app.example/cb",
  "https://app.example/cb?kept=1&also=a%20b",
  "http://127.0.0.1:7001/cb",
  "http://localhost/cb",
  "http://[::1]:7003/cb?x=y",
  "com.example.app:/cb",
  "https://other.example:8443/deep/cb"
]

const deviceKinds: Some<ClientKind> = ["device", "device", "device", "device with a secret", "device with a secret"]

const enterpriseKinds: Some<ClientKind> = ["enterprise", "enterprise"]

const signerKinds: Some<ClientKind> = ["signer", "signer", "signer", "signer"]

const ownKinds = ({ methods }: World): ReadonlyArray<ClientKind> => methods.map(({ name }) => `by ${name}` as const)

const kindsThatAsk: Some<ClientKind> = ["service", "service", "both"]

const register = ({ dice, id, world }: Moment): Register => {
  const kinds: Some<ClientKind> = [
    "public",
    "public",
    "post",
    "basic",
    "unsaid",
    "service",
    "both",
    ...ownKinds(world),
    ...(world.owners === true ? kindsThatAsk : []),
    ...(world.devices === true ? deviceKinds : []),
    ...(world.assertions === true ? enterpriseKinds : []),
    ...(world.signers === true ? signerKinds : [])
  ]
  const kind = world.documents === true && dice.chance(70) ? "document" : dice.pick(kinds)
  const odd = dice.chance(12) ? dice.pick(oddRegistrations) : null
  const redirects = new Set([dice.pick(redirectPool), ...(dice.chance(30) ? [dice.pick(redirectPool)] : [])])
  if (kind === "document") {
    const [first] = redirects
    const others = redirectPool.filter((uri) => uri !== first)
    redirects.add(isSome(others) ? dice.pick(others) : redirectPool[0])
  }
  const signsIn = kind !== "service" && kind !== "device" && kind !== "enterprise"
  return {
    _tag: "Register",
    id,
    workspace: dice.chance(80) ? 0 : 1,
    kind,
    redirects:
      kind === "device" || kind === "enterprise" || (kind === "service" && dice.chance(60)) ? [] : [...redirects],
    odd,
    ...(world.openId === true && [...redirects][0]?.startsWith("https://") && signsIn && dice.chance(80)
      ? { isTold: true }
      : {})
  }
}

const twists: Some<RedirectTwist> = ["port", "port", "longer", "shorter", "elsewhere", "upper case", "missing"]
const states: Some<string> = ["xyz", "a&b=c", "ü/€ ☃", "%20+%2B", "' \"<i>", `${"long".repeat(60)}`]
const impliedScopes: Some<string> = ["admin", "admin profile", "admin api", "api admin nonsense"]
const signInScopes: Some<string> = [
  "openid",
  "openid profile",
  "api openid",
  "openid offline_access",
  "api openid offline_access"
]
const claims: Some<ClaimsAsked> = [
  "name in the ID token",
  "name at userinfo",
  "time of sign-in",
  "name and time",
  "only ann",
  "only bob",
  "no claims"
]
const severalResources: Some<ResourceAsk> = ["two", "two", "the other", "one of elsewhere", "below"]
const scopes: Some<string> = ["api", "profile", "api profile", "profile api", "api nonsense", "nonsense", "", "api api"]
const strangeResources: Some<ResourceAsk> = ["elsewhere", "other workspace"]
const ownResources: Some<ResourceAsk> = ["none", "none", "none", "issuer", "slash", "below"]

const authorize = ({ dice, id, world }: Moment, clients: Some<Client>): Authorize => {
  const client = young(dice, clients)
  const usual: Authorize = {
    _tag: "Authorize",
    id,
    client: client.ref,
    user: dice.pick(["ann", "ann", "bob"]),
    redirect: dice.under(2),
    twist: client.redirects.some((uri) => uri.startsWith("http://")) && dice.chance(20) ? "port" : "as registered",
    scope: dice.chance(30) ? null : dice.pick(scopes),
    challenge: client.isPublic || dice.chance(60) ? "S256" : "none",
    resource: dice.pick(ownResources),
    responseType: "code",
    state: dice.chance(30) ? null : dice.pick(states),
    twice: null
  }
  // Drawn in such worlds alone, so that a seed means what it meant in the others.
  const more: Partial<Authorize> =
    world.apis === true && dice.chance(60)
      ? { scope: dice.pick(impliedScopes), resource: dice.pick(severalResources) }
      : {}
  const odd: Some<Partial<Authorize>> = [
    { twist: dice.pick(twists) },
    { challenge: dice.pick(["none", "plain", "no method", "short", "odd characters"]) },
    { resource: dice.pick(strangeResources) },
    { responseType: dice.pick(["token", null]) },
    // With a value: an empty parameter counts as omitted (RFC 6749 §3.1), so two of them may be no fault.
    { twice: dice.pick(["scope", "state", "client_id", "redirect_uri"]), scope: "api" }
  ]
  const signIn: Partial<Authorize> =
    world.openId === true && dice.chance(75)
      ? {
          scope: dice.pick(signInScopes),
          ...(dice.chance(70) ? { nonce: `nonce of #${id}` } : {}),
          ...(dice.chance(30) ? { maxAge: true } : {}),
          ...(world.claims === true && dice.chance(70) ? { claims: dice.pick(claims) } : {})
        }
      : {}
  return dice.chance(22) ? { ...usual, ...more, ...signIn, ...dice.pick(odd) } : { ...usual, ...more, ...signIn }
}

const keyNames: Some<KeyName> = ["first", "second"]
const shownKeys: Some<ShownKey | undefined> = ["first", "second", "forged", undefined]

/** As the client means it, and its own way to prove itself beside it. */
const push = (moment: Moment, clients: Some<Client>): Push => {
  const { dice } = moment
  const { twice: _, ...asked } = authorize(moment, clients)
  const key = dice.chance(50) ? dice.pick(shownKeys) : undefined
  const own = key === "forged" ? undefined : key
  const jkt = dice.chance(30) ? mostly(dice, own, keyNames, 40) : undefined
  return { ...asked, _tag: "Push", proof: proofOf(dice), key, jkt }
}

const visit = (moment: Moment, requests: Some<Request>): Visit => {
  const { dice, id } = moment
  const request = young(dice, requests)
  return { _tag: "Visit", id, request: request.ref, client: dice.chance(90) ? request.client : anyClient(moment) }
}

const askDevice = ({ dice, id }: Moment, clients: Some<Client>): AskDevice => ({
  _tag: "AskDevice",
  id,
  client: (clients.findLast(({ mayAskByDevice }) => mayAskByDevice && dice.chance(90)) ?? dice.pick(clients)).ref,
  proof: proofOf(dice),
  scope: dice.chance(50) ? null : dice.pick(scopes),
  resource: mostly(dice, dice.pick<ResourceAsk>(["none", "none", "issuer", "below", "below"]), strangeResources)
})

const homeOf = ({ state }: Moment, device: Device): WorkspaceNumber => state.clients.get(device.client)?.workspace ?? 0

const enter = (moment: Moment, devices: Some<Device>): Enter => {
  const { dice, id } = moment
  const device = young(dice, devices)
  const home = homeOf(moment, device)
  return {
    _tag: "Enter",
    id,
    device: device.ref,
    user: dice.pick(["ann", "bob"]),
    workspace: mostly(dice, home, [home === 0 ? 1 : 0]),
    by: mostly(dice, "viewer", ["forger"])
  }
}

const poll = (moment: Moment, devices: Some<Device>): Poll => {
  const { dice, id } = moment
  const device = young(dice, devices)
  return {
    _tag: "Poll",
    id,
    device: device.ref,
    shows: mostly(dice, "the device code", ["the user code", "garbage"]),
    by: dice.chance(12) ? anyClient(moment) : device.client,
    proof: proofOf(dice),
    resource:
      device.resource !== null && dice.chance(25) ? dice.pick(["issuer", "below"]) : later(moment, device.resource)
  }
}

const exchange = (moment: Moment, apis: ReadonlyArray<Client>, live: ReadonlyArray<Ref>): Step => {
  const { dice, id, state } = moment
  const own: Presented | undefined = isSome(live) ? { kind: "access", ref: young(dice, live) } : undefined
  const token = own !== undefined && dice.chance(85) ? own : (codeInstead(moment) ?? anyToken(moment).token)
  const access = token.kind === "access" ? state.access.get(token.ref) : undefined
  const bound = access?.resource ?? null
  return {
    _tag: "Exchange",
    id,
    token,
    by: isSome(apis) && dice.chance(90) ? dice.pick(apis).ref : anyClient(moment),
    proof: proofOf(dice),
    scope: dice.chance(30) ? null : dice.pick(scopes),
    resource:
      bound !== null && dice.chance(40)
        ? dice.pick(["issuer", "below"])
        : mostly(dice, later(moment, bound), strangeResources, 12)
  }
}

const offersOfExchanges = (moment: Moment, clients: ReadonlyArray<Client>): ReadonlyArray<Offer> => {
  const { dice, id, state, world } = moment
  const apis = clients.filter(({ isDeleted, serves }) => serves !== null && !isDeleted)
  // What a client is that has no record yet, no owner can say.
  const sayable = world.rowsAtConsent === true ? [] : clients.filter(({ isPublic }) => !isPublic)
  const access = [...state.access].filter(([, { expiresAt }]) => state.now < expiresAt)
  const ofPeople = access.filter(([, { grant }]) => state.grants.get(grant)?.user !== null)
  const ofServices = access.filter(([, { grant }]) => state.grants.get(grant)?.user === null)
  const exchanged = access.filter(([, { actors }]) => actors.length > 0)
  const allow = (serves: Some<ResourceAsk>) => (some: Some<Client>) =>
    ({ _tag: "AllowExchange", id, client: dice.pick(some).ref, serves: dice.pick(serves) }) as const
  const chains = exchanged.flatMap(([ref, { actors }]) => actors.map(({ client, showed }) => ({ client, ref, showed })))
  return [
    ...offersFor(sayable, apis.length === 0 ? 30 : 3, allow(["below", "below", "issuer"])),
    ...offersFor(apis, 1, allow(["none"])),
    ...offersFor(ofPeople, 45, (some) =>
      exchange(
        moment,
        apis,
        some.map(([ref]) => ref)
      )
    ),
    ...offersFor(ofServices, 8, (some) =>
      exchange(
        moment,
        apis,
        some.map(([ref]) => ref)
      )
    ),
    ...offersFor(access, 4, (some) => {
      const [ref] = young(dice, some)
      const by = isSome(apis) ? dice.pick(apis).ref : anyClient(moment)
      return { _tag: "Introspect", id, token: { kind: "access", ref }, by, proof: proofOf(dice) }
    }),
    ...offersFor(chains, 5, (some) => {
      const { client, ref } = young(dice, some)
      return { _tag: "Introspect", id, token: { kind: "access", ref }, by: client, proof: proofOf(dice) }
    }),
    ...offersFor(chains, 5, (some) => {
      const { client, ref, showed } = young(dice, some)
      const token = { kind: "access", ref: dice.pick([ref, showed]) } as const
      return {
        _tag: "Revoke",
        id,
        token,
        by: dice.chance(60) ? client : anyClient(moment),
        proof: proofOf(dice),
        hint: null
      }
    }),
    ...offersFor(chains, 10, () => check(moment))
  ]
}

const asserters: Some<AsserterName> = ["acme", "acme", "globex"]
const subjects: Some<string> = ["ann", "ann", "eve", "eve", "bob", "dan"]

const isTrustedAt = ({ state }: Moment, workspace: WorkspaceNumber, issuer: AsserterName) =>
  state.trusted.get(trustedIn(workspace, issuer))

/** What an issuer says of the person whom a client acts for, as it is trusted, or nearly so. */
const attest = (moment: Moment, clients: Some<Client>): Attest => {
  const { dice, id } = moment
  const { ref, workspace } = young(dice, clients)
  const known = asserters.filter((name) => isTrustedAt(moment, workspace, name) !== undefined)
  const issuer = isSome(known) && dice.chance(92) ? dice.pick(known) : dice.pick(asserters)
  const terms = isTrustedAt(moment, workspace, issuer)?.terms
  const kind =
    terms?.takes === "any"
      ? dice.pick<Attest["kind"]>(["id-jag", "plain"])
      : mostly<Attest["kind"]>(dice, "id-jag", ["plain"], 10)
  return {
    _tag: "Attest",
    id,
    issuer,
    key: mostly<KeyName>(dice, terms?.key ?? "first", keyNames),
    kind,
    subject: dice.pick(subjects),
    workspace,
    audience: mostly<Attest["audience"]>(dice, "here", ["elsewhere", "here and elsewhere", "the token endpoint"], 9),
    names: kind === "plain" && dice.chance(60) ? null : mostly(dice, ref, [null, anyClient(moment)], 20),
    lives: dice.pick([60, 300, 300, 300, 3000, 7200]),
    scope: dice.chance(50) ? null : dice.pick(["api", "api profile", "profile", "api nonsense"]),
    resource: mostly(dice, dice.pick<ResourceAsk>(["none", "none", "issuer", "below", "below"]), strangeResources)
  }
}

const bring = (moment: Moment, assertions: Some<Assertion>): Bring => {
  const { dice, id } = moment
  const { id: assertion, names, resource } = young(dice, assertions)
  const bringers = [...moment.state.clients.values()].filter((one) => one.bringsAssertions && !one.isDeleted)
  const own = names ?? (isSome(bringers) ? dice.pick(bringers).ref : anyClient(moment))
  return {
    _tag: "Bring",
    id,
    assertion,
    by: dice.chance(8) ? anyClient(moment) : dice.chance(12) && isSome(bringers) ? dice.pick(bringers).ref : own,
    proof: proofOf(dice),
    scope: dice.chance(65) ? null : dice.pick(scopes),
    resource: resource !== "none" && dice.chance(40) ? dice.pick(["issuer", "below"]) : later(moment, null)
  }
}

/** Owners trust issuers, issuers say who people are, clients bring that, and people end what came of it. */
const offersOfAssertions = (moment: Moment, clients: ReadonlyArray<Client>): ReadonlyArray<Offer> => {
  const { dice, id, state } = moment
  const bringers = clients.filter(({ bringsAssertions, isDeleted }) => bringsAssertions && !isDeleted)
  const homes: Some<WorkspaceNumber> = [0, 0, 0, 1, ...bringers.map(({ workspace }) => workspace)]
  const all = [...state.assertions.values()]
  const good = all.filter(({ expiresAt }) => state.now < expiresAt)
  // For a moment: else it would be tried for ever.
  const over = all.filter(({ expiresAt }) => state.now >= expiresAt && state.now < expiresAt + 2 * assertionLeeway)
  const brought = [...state.grants.values()].filter(({ asserted, death }) => asserted !== undefined && death === null)
  const ended = [...state.grants.values()].filter(({ endedAt }) => endedAt !== undefined)
  const repeated = good.filter(({ subject, names }) =>
    ended.some(({ client, user }) => user === subject && (names === null || client === names))
  )
  const isSaidAnew = ({ endedAt = 0, user }: Grant) =>
    good.some(({ issuedAt, subject }) => subject === user && issuedAt > endedAt)
  const anew = ended
    .filter((grant) => !isSaidAnew(grant))
    .flatMap(({ asserted, client, endedAt, user }) =>
      bringers.filter(({ ref }) => ref === client).map((own) => ({ asserted, client: own, endedAt, user }))
    )
  const old = [...state.access].filter(([, { expiresAt, grant }]) => {
    const of = state.grants.get(grant)
    return of?.asserted !== undefined && state.now < expiresAt && !isAlive(state, of)
  })
  const lonely = bringers.filter(
    (one) => asserters.filter((name) => isTrustedAt(moment, one.workspace, name) === undefined).length > 0
  )
  const trust = (): TrustIssuer => ({
    _tag: "TrustIssuer",
    id,
    workspace: dice.pick(homes),
    issuer: dice.pick(asserters),
    terms: {
      key: mostly<KeyName>(dice, "first", keyNames, 25),
      people: dice.pick(["known", "made"]),
      takes: dice.pick(["id-jag", "any", "any"]),
      scopes: dice.chance(70) ? null : dice.pick(["api", "api profile", "profile"])
    }
  })
  return [
    [
      bringers.length === 0 ? 40 : 0,
      () => ({ ...register(moment), kind: "enterprise", redirects: [], odd: null, isTold: undefined })
    ],
    [state.trusted.size === 0 ? 60 : 5, trust],
    ...offersFor(lonely, 7, trust),
    ...offersFor([...state.trusted.keys()], 2, () => ({ ...trust(), terms: null })),
    ...offersFor(bringers, 26, (some) => attest(moment, some)),
    ...offersFor(clients, 2, (some) => attest(moment, some)),
    ...offersFor(good, 70, (some) => bring(moment, some)),
    ...offersFor(good, 3, () => wait(moment)),
    ...offersFor(over, 25, (some) => bring(moment, some)),
    ...offersFor(all, 3, (some) => bring(moment, some)),
    ...offersFor(repeated, 12, (some) => bring(moment, some)),
    ...offersFor(anew, 60, (some) => {
      const { asserted, client, endedAt = 0, user } = young(dice, some)
      // Assertions are dated in seconds: one of the same second may be from before the end.
      if (state.now < endedAt + 1000) return { _tag: "Wait", id, millis: 1000, until: "a while" }
      const said = attest(moment, [client])
      return { ...said, issuer: asserted?.issuer ?? said.issuer, subject: user ?? said.subject }
    }),
    ...offersFor(old, 20, (some) => {
      const [ref, { grant }] = young(dice, some)
      const client = state.grants.get(grant)?.client ?? 0
      return { _tag: "Introspect", id, token: { kind: "access", ref }, by: client, proof: proofOf(dice) }
    }),
    ...offersFor(brought, 3, (some) => {
      const { asserted, client } = young(dice, some)
      const workspace = state.clients.get(client)?.workspace ?? 0
      return { ...trust(), workspace, issuer: asserted?.issuer ?? "acme" }
    }),
    ...offersFor(brought, 5, (some) => {
      const { client, user } = young(dice, some)
      return { _tag: "EndAll", id, workspace: state.clients.get(client)?.workspace ?? 0, user: user ?? "ann", client }
    })
  ]
}

/** The key that a step needs, or now and then another, or none. */
const withKey = ({ dice, state }: Moment, step: Step): Step => {
  const shown = (needed: KeyName | null | undefined): ShownKey | undefined =>
    needed == null ? (dice.chance(40) ? undefined : dice.pick(shownKeys)) : mostly(dice, needed, shownKeys, 25)
  switch (step._tag) {
    case "Authorize":
      return dice.chance(25) ? { ...step, jkt: dice.pick(keyNames) } : step
    case "Redeem":
      return { ...step, key: shown(state.grants.get(`grant#${step.code}`)?.boundTo) }
    case "Refresh": {
      const token = state.refresh.get(step.token.ref)
      return { ...step, key: shown(token === undefined ? null : state.grants.get(token.grant)?.boundTo) }
    }
    case "ClientCredentials":
      return { ...step, key: shown(null) }
    case "Check": {
      const token = step.token?.kind === "access" ? state.access.get(step.token.ref) : undefined
      return step.token === null ? step : { ...step, key: shown(token?.boundTo) }
    }
    default:
      return step
  }
}

const signedAudiences: Some<SignedAs["audience"]> = ["elsewhere", "several"]

/** What a client that signs shows beside a step, as it should be or nearly so. */
const withSigned = ({ dice, state }: Moment, step: Step): Step => {
  if (!("proof" in step)) return step
  const client = state.clients.get("by" in step ? step.by : step.client)
  if (client === undefined || client.signsWith === null) return step
  const shown = [...state.spent.values()].filter(({ client: by, until }) => by === client.ref && state.now < until)
  const signed: SignedAs = {
    key: mostly(dice, client.signsWith, keyNames, 12),
    lives: mostly(dice, 60, [-11, -10, -9, 1, 300, 310, 311, 3600], 18),
    audience: mostly(dice, dice.pick(["issuer", "endpoint"]), signedAudiences, 8),
    ...(isSome(shown) && dice.chance(12) ? { idOf: young(dice, shown).of } : {})
  }
  return { ...step, signed }
}

const offersOfSigners = (moment: Moment, clients: ReadonlyArray<Client>): ReadonlyArray<Offer> => {
  const { dice, id } = moment
  // What one is that has no record yet, its identifier says for good.
  const signers = clients.filter(({ heldUnder, signsWith }) => signsWith !== null && heldUnder === null)
  return [
    ...offersFor(signers, 7, (some) => {
      const { ref, signsWith } = dice.pick(some)
      const key = mostly<KeyName>(dice, signsWith === "first" ? "second" : "first", keyNames, 20)
      return { _tag: "Rekey", id, client: ref, key, with: mostly(dice, ref, [null, anyClient(moment)], 25) }
    })
  ]
}

const decide = ({ dice, id }: Moment, pages: Some<Ref>): Decide => ({
  _tag: "Decide",
  id,
  page: young(dice, pages),
  decision: dice.chance(85) ? "approve" : "deny",
  by: mostly(dice, "viewer", ["somebody else", "forger"])
})

/** The client whose it is, or now and then another. */
const owner = (moment: Moment, grant: Grant | undefined): Ref =>
  grant === undefined || moment.dice.chance(16) ? anyClient(moment) : grant.client

const later = ({ dice, world }: Moment, bound: string | null): ResourceAsk => {
  if (world.apis === true && dice.chance(40)) return dice.pick(severalResources)
  if (dice.chance(80)) return "none"
  return bound === null
    ? dice.pick(["elsewhere", "other workspace"])
    : dice.pick(["issuer", "slash", "below", "elsewhere"])
}

const redeem = (moment: Moment, grants: Some<Grant>): Redeem => {
  const { dice, id } = moment
  const grant = young(dice, grants)
  const usual: Redeem = {
    _tag: "Redeem",
    id,
    code: Number(grant.name.slice("grant#".length)),
    by: owner(moment, grant),
    proof: proofOf(dice),
    verifier: grant.hasChallenge ? "right" : "missing",
    redirect: "same",
    resource: later(moment, grant.resource)
  }
  if (grant.generation > 0 || !dice.chance(22)) return usual
  const odd: Some<Partial<Redeem>> = [
    { verifier: dice.pick(["wrong", "missing", "short", "right"]) },
    { redirect: dice.pick(["other", "missing"]) }
  ]
  return { ...usual, ...dice.pick(odd) }
}

/** Where there is something to narrow, that is often tried. */
const narrower = ({ dice, world }: Moment, grant: Grant | undefined): string | null => {
  if (world.openId === true && dice.chance(30)) return dice.pick(["openid", "api", "api openid"])
  if (world.apis === true && dice.chance(40))
    return dice.pick<string>(["api", "admin", "profile", "api admin", "admin profile"])
  if (grant !== undefined && grant.scope.length > 1 && dice.chance(30)) return dice.pick(["api", "profile"])
  return dice.chance(60) ? null : dice.pick(scopes)
}

const refresh = (moment: Moment, token: Presented, grant: Grant | undefined): Step => {
  const { dice, id } = moment
  return {
    _tag: "Refresh",
    id,
    token,
    by: owner(moment, grant),
    proof: proofOf(dice),
    scope: narrower(moment, grant),
    resource: later(moment, grant?.resource ?? null)
  }
}

/** Any token that was handed out, or none of them. */
const anyToken = ({ dice, state, id }: Moment): { readonly token: Presented; readonly grant: Grant | undefined } => {
  const kind = dice.chance(60) ? "access" : "refresh"
  const list = [...state[kind]]
  if (!isSome(list) || dice.chance(4)) return { token: { kind: "garbage", ref: id }, grant: undefined }
  const [ref, { grant }] = young<readonly [Ref, { readonly grant: Grant["name"] }]>(dice, list)
  return { token: { kind, ref }, grant: state.grants.get(grant) }
}

/** What people said yes to. */
const approvedIn = ({ grants }: State): ReadonlyArray<Grant> =>
  [...grants.values()].filter(({ asserted, user }) => user !== null && asserted === undefined)

/** A code where an access or refresh token belongs. Codes are not revoked here: the documents do not say what that does. */
const codeInstead = ({ dice, state }: Moment): Presented | undefined => {
  const codes = approvedIn(state)
  if (!isSome(codes) || !dice.chance(5)) return undefined
  return { kind: "code", ref: Number(dice.pick(codes).name.slice("grant#".length)) }
}

const check = (moment: Moment): Step => {
  const { dice, state, id } = moment
  const { token, grant } = anyToken(moment)
  const home = grant === undefined ? 0 : (state.clients.get(grant.client)?.workspace ?? 0)
  return {
    _tag: "Check",
    id,
    token: dice.chance(4) ? null : (codeInstead(moment) ?? token),
    at: dice.chance(60) ? "companies" : "userinfo",
    workspace: dice.chance(92) ? home : home === 0 ? 1 : 0
  }
}

interface Boundary {
  readonly at: number
  readonly name: string
}

const boundaries = ({ state, world }: Moment): ReadonlyArray<Boundary> => {
  const facts = { state, world, without: new Set<string>() }
  const people = approvedIn(state)
  return [
    ...people.map((grant) => ({ at: grant.bornAt + world.codeTtl, name: `the code of ${grant.name} expires` })),
    ...people.map((grant) => ({ at: grant.turnedAt + world.refreshGrace, name: `the grace of ${grant.name} ends` })),
    ...people.map((grant) => ({ at: endOf(grant, facts), name: `${grant.name} ends for good` })),
    ...[...state.requests].map(([ref, { until }]) => ({ at: until, name: `the request of #${ref} expires` })),
    ...[...state.devices.values()].flatMap(({ polls, ref, until }) => [
      { at: until, name: `the codes of #${ref} expire` },
      ...Object.values(polls).map((at) => ({ at: at + pollInterval, name: `the device of #${ref} may poll` }))
    ]),
    ...[...state.assertions.values()].flatMap(({ expiresAt, id }) => [
      { at: expiresAt + assertionLeeway, name: `the assertion of #${id} expires` },
      { at: expiresAt - longestAssertion - assertionLeeway, name: `the assertion of #${id} is short enough` }
    ]),
    ...[...state.clients.values()].flatMap(({ document, ref }) => [
      { at: document?.copy?.until ?? 0, name: `the document of #${ref} is to be read again` },
      { at: (document?.record?.until ?? 0) + documentStale, name: `the document of #${ref} counts no more` },
      { at: document?.restsUntil ?? 0, name: `the host of #${ref} is asked again` }
    ]),
    ...[...state.access].map(([ref, { expiresAt }]) => ({ at: expiresAt, name: `access#${ref} expires` })),
    ...[...state.refresh].map(([ref, { expiresAt }]) => ({ at: expiresAt, name: `refresh#${ref} expires` }))
  ]
    .filter(({ at }) => at - 1 > state.now)
    .sort((a, b) => a.at - b.at)
}

/** Mostly to the next boundary or one soon after: one millisecond before it, at it, or one after. */
const wait = (moment: Moment): Step => {
  const { dice, state, id } = moment
  const ahead = boundaries(moment)
  if (!isSome(ahead) || dice.chance(25)) {
    return { _tag: "Wait", id, millis: dice.pick([1, 999, 5_000, 30_000, 600_000]), until: "a while" }
  }
  const boundary = ahead[Math.min(dice.under(ahead.length), dice.under(ahead.length))] ?? ahead[0]
  const offset = dice.pick([-1, 0, 1])
  const when = offset === 0 ? "when" : offset < 0 ? "just before" : "just after"
  return { _tag: "Wait", id, millis: boundary.at + offset - state.now, until: `${when} ${boundary.name}` }
}

const housekeeping = ({ dice, id }: Moment): Housekeeping => ({
  _tag: "Housekeeping",
  id,
  what: dice.pick(["add a key", "add a key", "add a key", "drop the oldest key", "sweep", "sweep", "sweep"])
})

const offersOfDevices = (
  moment: Moment,
  clients: ReadonlyArray<Client>,
  pages: ReadonlyArray<Page>
): ReadonlyArray<Offer> => {
  const { dice, state } = moment
  const devices = [...state.devices.values()]
  const waiting = devices.filter(({ ref, until }) => {
    const isAnswered = pages.some(({ decided, request }) => request === ref && decided !== null)
    return !isAnswered && state.now < until
  })
  const fetchable = devices.filter(({ ref }) =>
    pages.some(({ decided, request }) => request === ref && decided !== null)
  )
  const seen = waiting.filter(({ ref }) => pages.some(({ request }) => request === ref))
  const spent = [...state.grants.values()].filter(({ generation, hasChallenge }) => hasChallenge && generation > 0)
  const ofOthers = pages.filter(({ decidedBy, user }) => decidedBy !== null && decidedBy !== user)
  return [
    ...offersFor(clients, 12, (some) => askDevice(moment, some)),
    ...offersFor(waiting, 24, (some) => enter(moment, some)),
    ...offersFor(devices, 3, (some) => enter(moment, some)),
    ...offersFor(waiting, 8, (some) => poll(moment, some)),
    ...offersFor(fetchable, 18, (some) => poll(moment, some)),
    ...offersFor(devices, 4, (some) => poll(moment, some)),
    ...offersFor(seen, 10, (some) => enter(moment, some)),
    ...offersFor(ofOthers, 12, (some) => ({
      ...decide(moment, [dice.pick(some).ref]),
      decision: dice.pick(["approve", "deny"])
    })),
    ...offersFor(waiting, 4, () => turnKeys(moment)),
    ...offersFor(spent, 3, (some) => ({ ...redeem(moment, some), verifier: dice.pick(["wrong", "missing"]) })),
    ...offersFor(waiting, 6, () => wait(moment))
  ]
}

const published: Some<Published> = ["all", "all", "the first", "the last", "no client", "nothing", "nothing"]

/** A code whose client may have its document read anew before it is redeemed, without the redirect URI that it was sent to. */
const redeemedLate = (moment: Moment, grant: Grant, { document, redirects, ref }: Client): Step => {
  const { dice, id, state } = moment
  const until = document?.record?.until ?? 0
  if (state.now >= until) return redeem(moment, [grant])
  const says: Published = grant.redirect === redirects[0] ? "the last" : "the first"
  return document?.says === says || dice.chance(20)
    ? { _tag: "Wait", id, millis: until - state.now, until: `when the document of #${ref} is to be read again` }
    : { _tag: "Publish", id, client: ref, says }
}

/** Documents change, go and come back, clients ask by them, and owners block their hosts. */
const offersOfDocuments = (
  moment: Moment,
  clients: ReadonlyArray<Client>,
  pages: ReadonlyArray<Page>
): ReadonlyArray<Offer> => {
  const { dice, id, state, world } = moment
  const brought = clients.filter(({ document }) => document !== undefined)
  const open = brought.filter(({ document }) => document?.isBlocked === false)
  const blocked = brought.filter(({ document }) => document?.isBlocked === true)
  const fresh = open.filter(({ document }) => state.now < (document?.copy?.until ?? 0))
  const known = open.filter(({ document }) => document?.record !== null)
  const undecided = pages.filter(({ decided, document }) => document !== undefined && decided === null)
  const codes = approvedIn(state)
    .filter(({ bornAt, death, generation }) => generation === 0 && death === null && state.now < bornAt + world.codeTtl)
    .flatMap((grant) => known.filter(({ ref }) => ref === grant.client).map((client) => ({ client, grant })))
    .filter(({ client, grant }) => (client.document?.record?.until ?? 0) < grant.bornAt + world.codeTtl)
  return [
    ...offersFor(brought, 14, (some) => ({
      _tag: "Publish",
      id,
      client: young(dice, some).ref,
      says: dice.pick(published)
    })),
    ...offersFor(open, 20, (some) => {
      const asked = authorize(moment, some)
      const says = state.clients.get(asked.client)?.document?.says
      return dice.chance(80) ? { ...asked, redirect: says === "the last" ? 1 : 0 } : asked
    }),
    ...offersFor(fresh, 12, (some) => {
      const { document, ref } = young(dice, some)
      const millis = Math.max(1, (document?.copy?.until ?? 0) - state.now + dice.pick([-1, 0, 1, -20_000, -20_000]))
      return { _tag: "Wait", id, millis, until: `about when the document of #${ref} is to be read again` }
    }),
    ...offersFor(codes, 80, (some) => {
      const { client, grant } = young(dice, some)
      return redeemedLate(moment, grant, client)
    }),
    ...offersFor(undecided, 6, (some) => ({ ...decide(moment, [young(dice, some).ref]), decision: "deny" })),
    ...offersFor(known, 4, (some) => ({ _tag: "BlockHost", id, client: young(dice, some).ref, blocks: true })),
    ...offersFor(blocked, 8, (some) => ({ _tag: "BlockHost", id, client: young(dice, some).ref, blocks: false })),
    ...offersFor(blocked, 8, (some) => authorize(moment, some)),
    // Pages of a client that is blocked by now, or whose document is to be read anew.
    ...offersFor(
      undecided
        .filter(
          ({ client, document }) =>
            blocked.some(({ ref }) => ref === client) || (document !== undefined && document.until <= state.now)
        )
        .map(({ ref }) => ref),
      20,
      (some) => decide(moment, some)
    )
  ]
}

const placeNames: Some<PlaceName> = ["bakery", "mill", "garden"]
const belongings: Some<ReadonlyArray<PlaceName>> = [
  ["bakery", "mill"],
  ["bakery", "mill", "garden"],
  ["mill", "garden"],
  ["bakery", "mill"],
  ["mill"],
  ["garden"],
  ["bakery"],
  []
]

/** A person comes to places, leaves them, and has what they let clients have there ended. */
const offersOfPlaces = (
  moment: Moment,
  clients: ReadonlyArray<Client>,
  people: ReadonlyArray<Grant>
): ReadonlyArray<Offer> => {
  const { dice, id, state } = moment
  // People with one place, and a scope that it does not allow.
  const beyond = clients
    .filter(({ isDeleted, mayUseCodes }) => mayUseCodes && !isDeleted)
    .flatMap((client) =>
      ["ann", "bob"].flatMap((user) => {
        const [place, another] = placesOf(state, client.workspace, user)
        if (place === undefined || place === "bakery" || another !== undefined) return []
        return [{ client, user, scope: place === "mill" ? "profile" : "api" }]
      })
    )
  const placed = people.filter(({ place, death }) => place !== undefined && death === null)
  const someone = (): { readonly workspace: WorkspaceNumber; readonly user: string } => ({
    workspace: dice.chance(80) ? 0 : 1,
    user: dice.pick(["ann", "ann", "bob"])
  })
  return [
    [state.places.size < 2 ? 40 : 6, () => ({ _tag: "Belong", id, ...someone(), places: dice.pick(belongings) })],
    [1, () => ({ _tag: "EndAll", id, ...someone(), place: dice.pick(placeNames) })],
    ...offersFor(beyond, 7, (some) => {
      const { client, ...asked } = dice.pick(some)
      return { ...authorize(moment, [client]), ...asked }
    }),
    ...offersFor(placed, 5, (some) => {
      const { client, place = "bakery", user } = young(dice, some)
      const workspace = state.clients.get(client)?.workspace ?? 0
      const other = mostly(dice, place, placeNames, 30)
      return { _tag: "EndAll", id, workspace, user: user ?? "ann", place: other }
    })
  ]
}

/** A person who has a choice makes one, or now and then none, or one that they have not. */
const withPlace = (moment: Moment, step: Step): Step => {
  const { dice, state } = moment
  // Where a token is from is told by the guard.
  if (step._tag === "Check" && step.at === "companies") return { ...step, at: "guard" }
  const page = step._tag === "Decide" ? state.pages.get(step.page) : undefined
  if (step._tag !== "Decide" || page === undefined) return step
  const places = placesOf(state, state.clients.get(page.client)?.workspace ?? 0, page.user)
  const usual = page.chooses === true && isSome(places) ? dice.pick(places) : undefined
  if (dice.chance(12)) return { ...step, place: dice.pick(placeNames) }
  return usual === undefined || dice.chance(25) ? step : { ...step, place: usual }
}

/** A person's application, or a stranger's link, has them signed out. */
const signOut = (moment: Moment): SignOut => {
  const { dice, id, state } = moment
  const all = [...state.idTokens]
  const [ref, token] = isSome(all) && dice.chance(75) ? young(dice, all) : []
  const client = token?.client ?? anyClient(moment)
  const workspace = token?.workspace ?? state.clients.get(client)?.workspace ?? 0
  const deleted = [...state.clients.values()].filter(({ isDeleted }) => isDeleted)
  if (isSome(deleted) && dice.chance(30)) {
    const { ref, workspace } = dice.pick(deleted)
    const asked = { client: ref, hint: null, target: "none", state: null, by: "viewer" } as const
    return { _tag: "SignOut", id, workspace, who: dice.pick(["ann", "bob"]), ...asked }
  }
  return {
    _tag: "SignOut",
    id,
    workspace: mostly<WorkspaceNumber>(dice, workspace, [0, 1]),
    who: mostly(dice, token?.user ?? dice.pick(["ann", "bob"]), ["ann", "bob", null, null], 30),
    client: state.clients.size === 0 || dice.chance(50) ? null : mostly(dice, client, [anyClient(moment)], 25),
    hint: dice.chance(75) ? (ref ?? null) : dice.pick(["garbage", null, null]),
    target: mostly<SignOut["target"]>(
      dice,
      dice.pick(["none", "none", token === undefined ? "none" : "registered"]),
      ["registered", "elsewhere"],
      15
    ),
    state: dice.chance(50) ? null : dice.pick(states),
    by: mostly<SignOut["by"]>(dice, "viewer", ["onlooker", "forger"], 40)
  }
}

/** Until a person has signed in, as it should be: what follows is about what comes of that. */
const straight = ({ dice, state }: Moment, step: Step): Step => {
  if (dice.chance(15)) return step
  switch (step._tag) {
    case "Register":
      return {
        ...step,
        odd: null,
        kind: dice.pick(["public", "post", "basic"]),
        redirects: [redirectPool[0]],
        isTold: true
      }
    case "Authorize": {
      const challenge = state.clients.get(step.client)?.isPublic === true ? "S256" : step.challenge
      const scope = dice.pick(signInScopes)
      return { ...step, scope, challenge, twist: "as registered", resource: "none", responseType: "code", twice: null }
    }
    case "Decide":
      return { ...step, decision: "approve", by: "viewer" }
    case "Redeem": {
      const grant = state.grants.get(`grant#${step.code}`)
      const verifier = grant?.hasChallenge === true ? "right" : "missing"
      return { ...step, by: grant?.client ?? step.by, proof: "post", verifier, redirect: "same", resource: "none" }
    }
    default:
      return step
  }
}

/** An ID token is a hint beyond its end, too. */
const offersOfOldHints = ({ dice, id, state }: Moment): ReadonlyArray<Offer> => {
  const good = [...state.idTokens].filter(([, { expiresAt }]) => state.now < expiresAt)
  return offersFor(good, 8, (some) => {
    const [ref, { expiresAt }] = young(dice, some)
    return { _tag: "Wait", id, millis: expiresAt - state.now, until: `when the ID token of #${ref} is past its end` }
  })
}

/** What a client asks about the pages, and of whom it has an ID token. */
const withPrompt = ({ dice, state, world }: Moment, step: Step): Step => {
  if (step._tag !== "Authorize") return step
  const tokens = [...state.idTokens]
  const own = tokens.filter(([, { client }]) => client === step.client)
  const theirs = own.filter(([, { user }]) => user === step.user)
  const alone: Some<string> = ["none", "none", "none", "login", "consent", "none consent"]
  const prompt = dice.pick(world.claims === true ? [...alone, "none login", "none consent"] : alone)
  const isWished = dice.chance(tokens.length > 0 ? 40 : 10)
  const hints = isSome(theirs) && dice.chance(80) ? theirs : isSome(own) && dice.chance(60) ? own : tokens
  const asked = {
    ...step,
    ...(isWished ? { prompt } : {}),
    ...(dice.chance(isWished ? 40 : 20) ? { fresh: dice.pick([0, 60, 3600, 86_400]) } : {}),
    ...(isSome(hints) && dice.chance(50) ? { hint: young(dice, hints)[0] } : {})
  }
  // Both say whom the answer is to name.
  return world.claims === true && asked.hint !== undefined && dice.chance(50)
    ? { ...asked, scope: dice.pick(signInScopes), claims: dice.pick(["only ann", "only bob"]) }
    : asked
}

/** A step that makes sense at this moment, or nearly does. */
export const drawStep = (dice: Dice, world: World, state: State, id: Ref): Step | undefined => {
  const moment: Moment = { dice, world, state, id }
  const step = drawnStep(moment)
  // What is signed by a key under a seal key that was dropped is for its operator to mend.
  const kept =
    world.jwts === true && step?._tag === "Housekeeping" && step.what === "drop the oldest key"
      ? { ...step, what: "sweep" as const }
      : step
  return world.signers === true && kept !== undefined ? withSigned(moment, kept) : kept
}

const drawnStep = (moment: Moment): Step | undefined => {
  const { dice, id, state, world } = moment
  const clients = [...state.clients.values()]
  const registered = clients.filter(({ document }) => document === undefined)
  const pages = [...state.pages.values()]
  const people = approvedIn(state)
  const tokens = [...state.refresh].map(([ref, token]) => ({ ref, token, grant: state.grants.get(token.grant) }))
  const current = tokens.filter(({ token, grant }) => token.generation === grant?.generation)
  const superseded = tokens.filter(({ token, grant }) => token.generation !== grant?.generation)
  const refreshing = (list: typeof tokens, weight: number) =>
    offersFor(list, weight, (some) => {
      const { ref, grant } = young(dice, some)
      return refresh(moment, { kind: "refresh", ref }, grant)
    })
  const scopeOrNone: string | null = dice.chance(50) ? null : dice.pick(scopes)

  const offers: ReadonlyArray<Offer> = [
    [clients.length < 2 ? 40 : clients.length < 5 ? 4 : 1, () => register(moment)],
    ...offersFor(clients, 14, (some) => authorize(moment, some)),
    ...offersFor(
      pages.filter(({ decided }) => decided === null).map(({ ref }) => ref),
      26,
      (some) => decide(moment, some)
    ),
    ...offersFor(
      pages.filter(({ decided }) => decided !== null).map(({ ref }) => ref),
      2,
      (some) => decide(moment, some)
    ),
    ...offersFor(
      people.filter(({ generation }) => generation === 0),
      24,
      (some) => redeem(moment, some)
    ),
    ...offersFor(
      people.filter(({ generation }) => generation > 0),
      3,
      (some) => redeem(moment, some)
    ),
    ...refreshing(current, 16),
    ...refreshing(superseded, 9),
    ...offersFor(clients, 2, () => {
      const { token, grant } = anyToken(moment)
      return refresh(moment, codeInstead(moment) ?? token, grant)
    }),
    ...offersFor(clients, 5, (some) => ({
      _tag: "ClientCredentials",
      id,
      by: (some.find(({ mayActAlone }) => mayActAlone && dice.chance(80)) ?? dice.pick(some)).ref,
      proof: proofOf(dice),
      scope: scopeOrNone,
      resource: dice.chance(80) ? "none" : dice.pick([...ownResources, ...strangeResources])
    })),
    ...ownGrantTypes(world).flatMap(({ draw, name }) =>
      offersFor(clients, 8, (some) => ({
        _tag: "OwnGrant",
        id,
        by: (some.find(({ ownGrants }) => ownGrants.includes(name) && dice.chance(90)) ?? dice.pick(some)).ref,
        proof: proofOf(dice),
        grantType: name,
        fields: draw(dice, state)
      }))
    ),
    ...offersFor(clients, 6, () => {
      const { token, grant } = anyToken(moment)
      const hint = dice.pick<Revoke["hint"]>(["access_token", "refresh_token", "nonsense", null])
      return { _tag: "Revoke", id, token, by: owner(moment, grant), proof: proofOf(dice), hint }
    }),
    ...offersFor(clients, 7, () => {
      const { token, grant } = anyToken(moment)
      return {
        _tag: "Introspect",
        id,
        token: codeInstead(moment) ?? token,
        by: owner(moment, grant),
        proof: proofOf(dice)
      }
    }),
    [12, () => check(moment)],
    ...offersFor(registered, 1, (some) => {
      const client = dice.pick(some).ref
      return { _tag: "DeleteClient", id, client, with: mostly(dice, client, [null, anyClient(moment)], 40) }
    }),
    [8, () => wait(moment)],
    [3, () => housekeeping(moment)],
    ...(world.signers === true ? offersOfSigners(moment, clients) : []),
    ...(world.owners === true ? offersOfAnswers(moment, registered) : [])
  ]
  const { idTokens } = state
  const leaving: ReadonlyArray<Offer> =
    world.signOuts === true
      ? [
          [idTokens.size > 0 ? 36 : 3, () => signOut(moment)],
          // A client that is gone signs no person out.
          ...offersFor(idTokens.size > 0 ? clients : [], 14, (some) => authorize(moment, some)),
          ...offersFor(idTokens.size > 0 ? clients : [], 4, () => wait(moment)),
          ...(world.claims === true ? offersOfOldHints(moment) : []),
          ...offersFor(idTokens.size > 0 ? clients : [], 2, (some) => {
            const client = dice.pick(some).ref
            return { _tag: "DeleteClient", id, client, with: client }
          })
        ]
      : []
  const ending = (): ReadonlyArray<Offer> => {
    const workspace = dice.chance(80) ? 0 : 1
    const user = dice.pick(["ann", "bob"])
    return [[7, () => ({ _tag: "EndSession", id, workspace, user })], ...leaving]
  }
  const requests = [...state.requests.values()]
  const waiting = requests.filter(({ until }) => state.now < until)
  const pushes = (): ReadonlyArray<Offer> => [
    ...offersFor(clients, 12, (some) => push(moment, some)),
    ...offersFor(waiting, 20, (some) => visit(moment, some)),
    ...offersFor(waiting, 5, () => housekeeping(moment)),
    ...offersFor(world.signers === true ? waiting : [], 9, () => turnKeys(moment)),
    ...offersFor(requests, 3, (some) => visit(moment, some))
  ]
  // Each in its place, so that a seed goes on meaning what it means where a world has one of them alone.
  const drawn = dice.weighted([
    ...offers,
    ...(world.documents === true ? offersOfDocuments(moment, clients, pages) : []),
    ...(world.devices === true ? offersOfDevices(moment, clients, pages) : []),
    ...(world.openId === true ? ending() : []),
    ...(world.exchanges === true ? offersOfExchanges(moment, clients) : []),
    ...(world.places === true ? offersOfPlaces(moment, clients, people) : []),
    // There is much to come about in one script.
    ...(world.assertions === true ? offersOfAssertions(moment, clients).map(tripled) : []),
    ...(world.keys === true ? pushes() : [])
  ])?.()
  return drawn === undefined ? undefined : asWorldHas(moment, drawn)
}

const tripled = ([weight, draw]: Offer): Offer => [3 * weight, draw]

/** A step with what its world adds to all. */
const asWorldHas = (moment: Moment, drawn: Step): Step => {
  const { state, world } = moment
  const asked =
    world.signOuts !== true ? drawn : state.idTokens.size === 0 ? straight(moment, drawn) : withPrompt(moment, drawn)
  const placed = world.places === true ? withPlace(moment, asked) : asked
  const step = world.keys === true ? withKey(moment, placed) : placed
  // What is signed by a key under a seal key that was dropped is for its operator to mend.
  return world.openId === true && step._tag === "Housekeeping" && step.what === "drop the oldest key"
    ? { ...step, what: "sweep" }
    : step
}
