import { Effect, Result, Schema, SchemaAST } from "effect"
import type { AuthenticatedClient } from "../../client/authenticate.ts"
import { type Client, isKnown, isPublic } from "../../client/Client.ts"
import { type BroughtIdentifier, ClientIdentifier, clientKey, isBrought } from "../../client/ClientIdentifier.ts"
import { leastProfile } from "../../client/Profile.ts"
import type { NoSuchClient } from "../../engine/BroughtClients.ts"
import type { Spending } from "../../engine/Spending.ts"
import { takeOfAddress } from "../../http/addressLimit.ts"
import { type Fields, readerOf, type Sent } from "../../http/form.ts"
import { type Call, type Caller, type Contract, type MetadataMembers, names, type Services } from "../../http/Route.ts"
import { allowances } from "../../ports/Limiter.ts"
import type { StorageUnavailable } from "../../ports/Storage.ts"
import { InvalidClient, InvalidRequest, type PortUnavailable, type TooManyRequests } from "../../rules/Refusal.ts"
import { keySchemes } from "../presented/Presentation.ts"
import { type AuthRequest, type Claim, type ClientAuth, noneShown, type ProofFault, unreadable } from "./ClientAuth.ts"

/*
 * RFC 6749 §2.3: a walk over the rows of client authentications. It is on the path of every token request, so a row that
 * waits for nothing costs no fiber, no generator and no closure: the eager combinators below run at once.
 */

const named = {
  client_id: Schema.optionalKey(
    ClientIdentifier.annotate({ description: "The client, unless its id and secret come in the Authorization header." })
  )
} as const

const readName = readerOf(named)

/** RFC 6749 §2.3.1: the parameters by which clients say who they are, beside those of the endpoint. */
export const clientFields = (clientAuths: ReadonlyMap<string, ClientAuth>): Fields =>
  Object.assign({ ...named }, ...[...clientAuths.values()].map(({ fields }) => fields))

type FormSchema = Schema.Struct<Schema.Struct.Fields> | Schema.Union<ReadonlyArray<Schema.Struct<Schema.Struct.Fields>>>

const withFields = (form: FormSchema, more: Fields): Schema.Top =>
  "members" in form
    ? Schema.Union(form.members.map((member) => withFields(member, more)))
    : Schema.Struct({ ...form.fields, ...more }).annotate(SchemaAST.resolve(form.ast) ?? {})

/** A contract as the documents have it: with the parameters by which clients authenticate in this server. */
export const withClientFields = <C extends Contract & { readonly form: FormSchema }>(
  { clientAuths }: Pick<Services, "clientAuths">,
  contract: C
): Omit<C, "form"> & { readonly form: Schema.Top } => ({
  ...contract,
  form: withFields(contract.form, clientFields(clientAuths))
})

/**
 * RFC 8414 §2: what the metadata says of how an endpoint of this prefix is called, by the callers of its contract: clients
 * that prove themselves, clients that name themselves, and who shows an API key, by its scheme.
 */
export const authMetadata = (
  { clientAuths, policy, presentations }: Pick<Services, "clientAuths" | "policy" | "presentations">,
  { callers }: Contract,
  prefix: string
): MetadataMembers => {
  const takes = (shown: Caller["shows"]): boolean => callers.some(({ shows }) => shows === shown)
  const rows = [...clientAuths.values()].filter(({ proves }) => takes(proves ? "clientSecret" : "nothing"))
  const methods = [...rows.map(({ name }) => name), ...(takes("apiKey") ? keySchemes(presentations) : [])]
  const more = rows.flatMap(({ metadata = {} }) =>
    Object.entries(typeof metadata === "function" ? metadata(leastProfile(policy)) : metadata)
  )
  return {
    [`${prefix}_auth_methods_supported`]: names(() => methods),
    ...Object.fromEntries(more.map(([name, list]) => [`${prefix}_${name}`, names(() => list)]))
  }
}

const unknown = Result.fail(new InvalidClient({ reason: "unknown", triedHeader: false }))
const twoMethods = Result.fail(
  new InvalidRequest({
    reason: "two_client_credentials",
    message: "The client authenticates by one method only: by the header or by the body, not by both."
  })
)

type Read = Result.Result<Claim, InvalidClient | InvalidRequest>

const isUnreadable = (read: Read): boolean =>
  Result.isFailure(read) && read.failure._tag === "InvalidClient" && read.failure.reason === "unreadable"

/** RFC 6749 §2.3: what the request says about its sender, by one method only. */
const readClaim = (clientAuths: ReadonlyMap<string, ClientAuth>, request: AuthRequest): Read => {
  let shown: Read | undefined
  let byHeader = request.authorization === ""
  let twice = false
  for (const row of clientAuths.values()) {
    const claim = row.proves ? row.claim(request) : undefined
    if (claim === undefined) continue
    if (shown !== undefined) twice = true
    else shown = claim
    if (row.scheme !== undefined) byHeader = true
  }
  // A header that no row reads is refused before anything that stands beside it.
  if (!byHeader || (shown !== undefined && isUnreadable(shown))) return unreadable
  if (twice) return twoMethods
  return shown ?? onlyNamed(clientAuths, request)
}

/** RFC 6749 §2.1: a request that names its client and shows nothing more. */
const onlyNamed = (clientAuths: ReadonlyMap<string, ClientAuth>, request: AuthRequest): Read => {
  for (const row of clientAuths.values()) {
    const claim = row.proves ? undefined : row.claim(request)
    if (claim !== undefined) return claim
  }
  return noneShown
}

type Unauthenticated = InvalidClient | InvalidRequest | TooManyRequests | PortUnavailable | StorageUnavailable

/** Counted by address: by the client's name, a stranger could use up the client's share. */
const refused = <E>(limiter: Services["limiter"], call: Call, fault: E): Effect.Effect<never, E | TooManyRequests> =>
  Effect.flatMapEager(takeOfAddress(limiter, call, allowances.failedClient), () => Effect.fail(fault))

const requestOf = (call: Call, sent: Sent): Result.Result<AuthRequest, InvalidClient> => {
  const authorization = call.request.headers.get("authorization") ?? ""
  const name = readName(sent)
  // An id that no client can have is unknown, like one that none has. Beside a header it is compared as it came.
  if (Result.isFailure(name) && authorization === "") return unknown
  return Result.succeed({
    call,
    sent,
    authorization,
    named: Result.isFailure(name) ? undefined : name.success.client_id
  })
}

type Proved = Effect.Effect<Result.Result<AuthenticatedClient, ProofFault>, Unauthenticated>

/** What a request shows, held against the client that it names as that stands now. */
const prove = (services: Services, call: Call, sent: Sent): Proved => {
  const asked = requestOf(call, sent)
  if (Result.isFailure(asked)) return Effect.fail(asked.failure)
  const request = asked.success
  const read = readClaim(services.clientAuths, request)
  if (Result.isFailure(read)) return Effect.fail(read.failure)
  const claim = read.success
  const { now, workspace } = call
  const { id } = claim
  return Effect.flatMapEager(services.clients.find(workspace.id, clientKey(id), now), (client): Proved => {
    if (isBrought(id)) {
      return Effect.flatMapEager(services.openings.current(workspace, now), (current) =>
        client === undefined || !services.brought.isFresh(current, client, id, now)
          ? proveBrought(services, call, request, claim, id, client)
          : claim.prove(isKnown(client, now) ? client : undefined, request, services)
      )
    }
    // A record's id is no other name of a client that goes by its own.
    const isIt = client !== undefined && client.origin === undefined && isKnown(client, now)
    return claim.prove(isIt ? client : undefined, request, services)
  })
}

export const noClient =
  (triedHeader: boolean) =>
  ({ reason }: NoSuchClient) =>
    Effect.fail(new InvalidClient({ reason, triedHeader }))

/** A client whose document has to be read first. Without a record, a caller may ask for so many fetches. */
const proveBrought = (
  services: Services,
  call: Call,
  request: AuthRequest,
  claim: Claim,
  id: BroughtIdentifier,
  stored: Client | undefined
): Proved => {
  const permitted = stored === undefined ? takeOfAddress(services.limiter, call, allowances.authorize) : Effect.void
  const met = Effect.andThen(permitted, services.brought.prove(call, id, stored))
  return Effect.flatMap(Effect.catchTag(met, "NoSuchClient", noClient(request.authorization !== "")), (client) =>
    claim.prove(client, request, services)
  )
}

/**
 * Takes of the network's share of a public client, whose name proves nothing: for requests that show nothing of the
 * client's own. Any other client's share was taken when it authenticated.
 */
export const takeUnproven = (
  { limiter }: Pick<Services, "limiter">,
  call: Call,
  { client }: AuthenticatedClient
): Effect.Effect<void, TooManyRequests> =>
  isPublic(client) ? takeOfAddress(limiter, call, allowances.publicClient, client.id) : Effect.void

/** This refusal, where the caller may make another request. */
export const refuseUnproven = <E>(
  services: Pick<Services, "limiter">,
  call: Call,
  by: AuthenticatedClient,
  fault: E
): Effect.Effect<never, E | TooManyRequests> =>
  Effect.flatMapEager(takeUnproven(services, call, by), () => Effect.fail(fault))

/**
 * The client behind a request to the token, revocation or introspection endpoint, but for what its proof is good for once:
 * the endpoint spends that beside its own work. Nothing is taken for a public one: by its name, a stranger could use up
 * the share of all who use it, so the endpoint counts what the request shows.
 */
export const authenticateUnspent = (
  services: Services,
  call: Call,
  sent: Sent
): Effect.Effect<AuthenticatedClient, Unauthenticated> =>
  Effect.flatMapEager(
    prove(services, call, sent),
    (authenticated): Effect.Effect<AuthenticatedClient, Unauthenticated> => {
      if (Result.isFailure(authenticated)) return refused(services.limiter, call, authenticated.failure)
      const by = authenticated.success
      if (isPublic(by.client)) return Effect.succeed(by)
      const workspace = call.workspace.id
      const taken = Effect.mapEager(
        services.limiter.take({ allowance: allowances.client, workspace, of: by.client.id }),
        () => by
      )
      // Before its share is looked at: a secret that is still tried is still in use.
      return by.shown === undefined ? taken : Effect.andThen(services.olderSecrets(call, by), taken)
    }
  )

/**
 * What a request that may change a grant spends: what the client's proof is good for once. `undefined` where it can be
 * shown again.
 */
export const spendProofOn = (
  { limiter, once }: Services,
  call: Call,
  { once: shown }: AuthenticatedClient
): Spending<InvalidClient | TooManyRequests | StorageUnavailable> | undefined =>
  shown === undefined
    ? undefined
    : once.spending(call.workspace.id, shown, call.requestId, (refusal) => refused(limiter, call, refusal))

/** The same for a request that changes none: spent as soon as it is run. */
export const spendProof = (services: Services, call: Call, by: AuthenticatedClient) =>
  spendProofOn(services, call, by)?.spent

/**
 * The client behind a request that authenticated it already, and that may be gone since: its share was taken and its
 * proof spent then.
 */
export const authenticateAgain = (
  services: Services,
  call: Call,
  sent: Sent
): Effect.Effect<AuthenticatedClient, Unauthenticated> =>
  Effect.flatMapEager(prove(services, call, sent), Effect.fromResult)
