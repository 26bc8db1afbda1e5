import { type Clock, Effect, Result } from "effect"
import type { AuthenticatedClient } from "../client/authenticate.ts"
import { type Client, identifierOf, isPublic } from "../client/Client.ts"
import type { ClientIdentifier } from "../client/ClientIdentifier.ts"
import { hexOf } from "../codec/Base64Url.ts"
import { apiKeySecretLength, isKeyText, type KeyAsked, makeKey, type NewKey, readKey } from "../grant/apiKey.ts"
import { type Binding, isBoundTo } from "../grant/Binding.ts"
import { type Approved, begin, codeOf, withdraw } from "../grant/begin.ts"
import { checkAccess, checkActors, checkKey, checkRefresh, isVouchedFor } from "../grant/check.ts"
import { answer, answerAndKeep, type Decision, refuse } from "../grant/Decision.ts"
import { type Active, type Grant, keyGrants, userGrants } from "../grant/Grant.ts"
import type { Identity } from "../grant/idToken.ts"
import type { Tokens } from "../grant/issue.ts"
import { mayBeJwt, termsFor } from "../grant/jwtAccessToken.ts"
import type { ApiKeyPrincipal, Principal, UserPrincipal, WorkspacePrincipal } from "../grant/Principal.ts"
import { revokeGrant, revokeToken } from "../grant/revoke.ts"
import { markSender, type Retry, type Sender } from "../grant/Sender.ts"
import type { Fresh, Step } from "../grant/Step.ts"
import type { Fault } from "../http/Fault.ts"
import type { GrantType, LiveAccess, Opener, Sources } from "../oauth/grants/GrantType.ts"
import type { Presented, Proof } from "../oauth/presented/Presentation.ts"
import type { ClientKeys } from "../ports/ClientKeys.ts"
import type { Entropy } from "../ports/Entropy.ts"
import { type Allowance, allowances, type Limiter } from "../ports/Limiter.ts"
import type { ResourceOwner } from "../ports/ResourceOwner.ts"
import type { Signatures } from "../ports/Signatures.ts"
import { Conflict, type Slice, StorageUnavailable } from "../ports/Storage.ts"
import { type GrantId, grantIdOf, grantMark, idLength, type UserId } from "../rules/Id.ts"
import { earlier, hasPassed, type Instant, instantOf, later } from "../rules/Instant.ts"
import type { Policy } from "../rules/Policy.ts"
import {
  InvalidClient,
  type InvalidDpopProof,
  InvalidGrant,
  InvalidToken,
  type PortUnavailable,
  type TooManyRequests
} from "../rules/Refusal.ts"
import { anyTerms, type Resources } from "../rules/Resource.ts"
import type { ScopeName, Scopes } from "../rules/Scope.ts"
import { hashOf } from "../rules/Secret.ts"
import type { Asserter } from "../rules/TrustedIssuer.ts"
import type { Keys, Sealer } from "../token/KeyRing.ts"
import {
  type AccessToken,
  open,
  openAny,
  openToRevoke,
  type RefreshToken,
  seal,
  type Token,
  type TokenFault,
  tokens
} from "../token/Token.ts"
import { type OpenWorkspace, policyAt, type WorkspaceId } from "../workspace/Workspace.ts"
import { type Clients, findAgain } from "./Clients.ts"
import { TokenCache } from "./caches.ts"
import type { IdTokens, WriteIdToken } from "./IdTokens.ts"
import { isJwt, type JwtTokens, type WriteJwt } from "./JwtTokens.ts"
import type { Once } from "./Once.ts"
import type { Openings } from "./Openings.ts"
import type { Listed, Records } from "./Records.ts"
import { beginHeld, beside, bothSpent, type Spending, spendingOf } from "./Spending.ts"
import { beforeWriting, cleanUpOrWarn, type First, makeGrantDecisions, type WriteFault } from "./transact.ts"
import type { Usage } from "./Usage.ts"

/** Tokens as they are handed out. They go into one answer and nowhere else. */
export interface Issued {
  readonly grant: GrantId
  readonly access: string
  readonly expiresInSeconds: number
  readonly refresh: string | undefined
  readonly scope: Scopes
  /** Only where the same was handed out before. */
  readonly retry?: Retry
  readonly idToken?: string
}

/** What a token that was asked about turned out to be. */
export type Examined =
  | { readonly kind: "access"; readonly token: AccessToken; readonly principal: UserPrincipal | WorkspacePrincipal }
  | {
      readonly kind: "refresh"
      readonly token: RefreshToken
      readonly grant: Active
      readonly client: ClientIdentifier
    }
  | { readonly kind: "key"; readonly principal: ApiKeyPrincipal }

/** An approval as a second look at its page finds it. */
export type Approval =
  | { readonly _tag: "None" }
  | { readonly _tag: "Waiting"; readonly code: string }
  | { readonly _tag: "Used" }
  /** The person took it back. */
  | { readonly _tag: "Denied" }
  | { readonly _tag: "Expired" }

type ProofFault = InvalidDpopProof | PortUnavailable | StorageUnavailable

/** Takes of the network's share, where a public client shows nothing of its own. */
type Unproven = () => Effect.Effect<void, TooManyRequests>

/** A request to the token endpoint, its form read by the row of its grant type. */
interface TokenRequest {
  readonly by: AuthenticatedClient
  readonly form: Parameters<GrantType["grantOf"]>[0]
  readonly resources: Resources | null
  readonly taken: ReadonlyArray<ScopeName> | null
  /** What the client shows to hold, where it does: the tokens are bound to it. */
  readonly proof: Proof | undefined
  /** Asked only where a refresh token is spent. */
  readonly sender: () => Sender
  readonly unproven: Unproven
  /** Where it has no record yet: writes one, once what it shows is found to hold. */
  readonly admit?: () => Effect.Effect<AuthenticatedClient, Fault>
  /** Where it may have none yet, and asks for its own grant: the same, asked only where there are tokens for it. */
  readonly record?: (() => Effect.Effect<AuthenticatedClient, Fault>) | undefined
  /** Nothing is written and nothing handed out before. */
  readonly spending: Spending | undefined
}

/** Every step of the protocol that touches a grant: open the token, decide, keep, seal the answer. */
export interface Grants {
  /** Keeps an approved request; `Conflict` where the id was used before. */
  readonly begin: (
    workspace: OpenWorkspace,
    approved: Approved,
    id: GrantId
  ) => Effect.Effect<string, Conflict | WriteFault>
  /** What became of an approval, or that there was none. */
  readonly approvalOf: (workspace: OpenWorkspace, id: GrantId) => Effect.Effect<Approval, StorageUnavailable>
  /** Ends what an approval began or is about to begin, but for one whose client has its tokens. */
  readonly withdraw: (
    workspace: WorkspaceId,
    approved: Approved,
    id: GrantId
  ) => Effect.Effect<"withdrawn" | "was_over" | "used", WriteFault>
  /** What a request to the token endpoint comes to, by the row of its grant type. */
  readonly issue: (workspace: OpenWorkspace, row: GrantType, request: TokenRequest) => Effect.Effect<Issued, Fault>
  /** Who shows this token or key, and proved to hold what it is bound to. */
  readonly check: (
    workspace: OpenWorkspace,
    presented: Presented,
    now: Instant
  ) => Effect.Effect<Principal, InvalidToken | ProofFault>
  /** What a token or key is, for introspection. */
  readonly examine: (
    workspace: OpenWorkspace,
    text: string,
    now?: Instant
  ) => Effect.Effect<Examined, InvalidToken | StorageUnavailable>
  /** RFC 7009: whatever the text was, the answer is the same; `undefined` where nothing was revoked. */
  readonly revokeToken: <R>(
    workspace: OpenWorkspace,
    by: AuthenticatedClient,
    text: string,
    unproven: Unproven,
    spending: Spending<R> | undefined
  ) => Effect.Effect<GrantId | undefined, WriteFault | TooManyRequests | R>
  readonly revokeGrant: (
    workspace: WorkspaceId,
    id: GrantId,
    why: "by_user" | "by_owner",
    /** Which of them may be ended so; any other is as unknown as one that is not there. */
    among?: (grant: Grant) => boolean
  ) => Effect.Effect<"revoked" | "was_revoked" | "unknown", WriteFault>
  readonly removeGrant: (workspace: WorkspaceId, id: GrantId) => Effect.Effect<void, StorageUnavailable>
  readonly ofUser: (
    workspace: WorkspaceId,
    user: UserId,
    slice: Slice
  ) => Effect.Effect<Listed<Grant>, StorageUnavailable>
  readonly keys: (workspace: WorkspaceId, slice: Slice) => Effect.Effect<Listed<Grant>, StorageUnavailable>
  readonly createKey: (workspace: WorkspaceId, asked: KeyAsked) => Effect.Effect<NewKey, WriteFault>
}

const serialLength = 8

const grantIdTaken = new StorageUnavailable({ outcome: "not_done", message: "a fresh grant's id was taken" })

const keyIdTaken = new StorageUnavailable({ outcome: "not_done", message: "a fresh key's id was taken" })

/** What became of what a device asked for, by its code; it may ask so often. */
export type DevicePoll = (
  workspace: OpenWorkspace,
  by: AuthenticatedClient,
  code: string,
  now: Instant
) => ReturnType<Sources["approved"]>

/** What it takes to decide about grants, to keep them, and to seal what they issue. */
interface GrantsParts {
  readonly records: Records<Grant>
  readonly once: Once
  readonly clients: Clients
  readonly keys: Keys["Service"]
  readonly jwts: JwtTokens
  /** `undefined` where nothing is signed. */
  readonly idTokens: IdTokens | undefined
  readonly signatures: Signatures["Service"]
  readonly clientKeys: ClientKeys["Service"]
  readonly owner: ResourceOwner["Service"]
  readonly entropy: Entropy["Service"]
  readonly policy: Policy
  readonly usage: Usage
  readonly limiter: Limiter["Service"]
  readonly devices: DevicePoll
  readonly clock: Clock.Clock
  /** The workspace as owners changed it. */
  readonly current: Openings["current"]
  /** Entries of the cache of opened tokens. */
  readonly tokensKept: number
}

/** What it takes to hand out the tokens of a decision. */
interface Handing {
  readonly workspace: OpenWorkspace
  readonly by: AuthenticatedClient
  readonly now: Instant
  readonly sealer: Sealer
  readonly first: First<Fault>
  readonly mark: "markProven" | "markUsed"
  /** `undefined`: the access token is sealed. */
  readonly writeAccess: (tokens: Tokens) => Effect.Effect<string, Fault> | undefined
  /** `undefined`: the client did not ask who signed in. */
  readonly writeIdToken: (access: string) => Effect.Effect<string, Fault> | undefined
}

export const makeGrants = ({
  clientKeys,
  clients,
  clock,
  current,
  devices,
  entropy,
  idTokens,
  jwts,
  keys,
  limiter,
  once,
  owner,
  policy,
  records,
  signatures,
  tokensKept,
  usage
}: GrantsParts): Grants => {
  const fresh = (sealer: Sealer): Fresh => ({ serial: hexOf(entropy.bytes(serialLength)), key: sealer.first.id })

  const sealed = (sealer: Sealer, workspace: OpenWorkspace, tokens: Tokens, now: Instant): Issued => ({
    grant: tokens.access.grant,
    access: seal(sealer, workspace, tokens.access),
    expiresInSeconds: Math.floor((tokens.access.expiresAt - now) / 1000),
    refresh:
      tokens.refresh === null
        ? undefined
        : seal(sealer, workspace, tokens.refresh.token, sealer.find(tokens.refresh.key) ?? sealer.first),
    scope: tokens.scope,
    ...(tokens.retry === undefined ? {} : { retry: tokens.retry })
  })

  const get = (workspace: WorkspaceId, id: GrantId) =>
    Effect.mapEager(records.get(workspace, id), (kept) => kept?.value)

  const tokenCache = new TokenCache(keys, tokensKept)

  const { decide, decideOwn, forget } = makeGrantDecisions(records, entropy, policy)

  /**
   * By now the grant is kept, and a code is spent: a client that has to ask again would be taken for a thief. So what
   * cannot be noted of the client is left to its next request.
   */
  const noted = (workspace: WorkspaceId, client: Client, mark: "markProven" | "markUsed", now: Instant) =>
    cleanUpOrWarn(
      workspace,
      clients[mark](workspace, client, now),
      "a client that completed a flow could not be noted as proven, or as used",
      { client: client.id }
    )

  const checkKeyText = Effect.fnUntracedEager(function* (workspace: WorkspaceId, text: string, now: Instant) {
    const id = readKey(text)
    if (id === undefined) return yield* new InvalidToken({ reason: "malformed" })
    return yield* Effect.fromResult(checkKey(workspace, yield* get(workspace, id), hashOf(text), now))
  })

  /** What an issuer asserted ends with the trust in that, as it is now. */
  const vouched = (
    workspace: OpenWorkspace,
    asserted: Asserter,
    now: Instant
  ): Effect.Effect<void, InvalidToken | StorageUnavailable> =>
    Effect.flatMap(current(workspace, now), ({ trustedIssuers }) =>
      isVouchedFor(asserted, trustedIssuers) ? Effect.void : Effect.fail(new InvalidToken({ reason: "issuer_removed" }))
    )

  /** What `judge` makes of a token's grant and that grant's client, as both are stored now. */
  const judged = <A>(
    opened: OpenWorkspace,
    id: GrantId,
    now: Instant,
    judge: (grant: Grant | undefined, client: Client | undefined) => Result.Result<A, InvalidToken>
  ): Effect.Effect<A, InvalidToken | StorageUnavailable> => {
    const workspace = opened.id
    return Effect.flatMapEager(
      clients.withChanges(workspace, records.get(workspace, id)),
      (kept): Effect.Effect<A, InvalidToken | StorageUnavailable> => {
        const grant = kept?.value
        if (grant?._tag === "Standing" && grant.asserted !== undefined) {
          const { asserted } = grant
          return Effect.flatMap(clients.find(workspace, grant.client, now), (client) =>
            Effect.andThen(vouched(opened, asserted, now), settled(judge(grant, client)))
          )
        }
        const clientId = grant === undefined || grant._tag === "Key" ? null : grant.client
        if (clientId === null) return settled(judge(grant, undefined))
        return Effect.flatMapEager(findAgain(clients, workspace, clientId, now), (client) =>
          settled(judge(grant, client))
        )
      }
    )
  }

  /** An access token as it stands now, and those who exchanged others for it. */
  const accessOf = (
    workspace: OpenWorkspace,
    token: AccessToken,
    binding: Binding | null,
    now: Instant
  ): Effect.Effect<UserPrincipal | WorkspacePrincipal, InvalidToken | StorageUnavailable> => {
    const { actors } = token
    const principal = judged(workspace, token.grant, now, (grant, client) =>
      checkAccess(workspace.id, grant, client, token, binding, policyAt(policy, workspace), now)
    )
    if (actors === null) return principal
    return Effect.flatMap(principal, (known) =>
      Effect.flatMap(
        Effect.forEach(actors, ({ client }) => clients.find(workspace.id, client, now)),
        (found) => settled(checkActors(known, found, now))
      )
    )
  }

  /** Who uses a proof up, for every process: of two requests that show one proof, the second is refused. */
  const user = () => hexOf(entropy.bytes(serialLength))

  /** The proof is verified and used up beside what the request spends otherwise. */
  const proven = <A>(
    workspace: WorkspaceId,
    { holds, single }: Proof,
    spending: Spending | undefined,
    rest: (spending: Spending | undefined) => Effect.Effect<A, Fault>
  ): Effect.Effect<A, Fault> =>
    Effect.flatMap(holds, () =>
      beside<A, Fault, Fault>(once.spending(workspace, single, user(), Effect.fail), (used) =>
        rest(used === undefined ? spending : bothSpent(spending, used))
      )
    )

  const checkOpened = (
    workspace: OpenWorkspace,
    token: AccessToken,
    { binding, proof }: Presented,
    now: Instant
  ): Effect.Effect<Principal, InvalidToken | ProofFault> => {
    if (proof === undefined) return accessOf(workspace, token, binding, now)
    // A proof of another key than the token's costs no signature, and nothing is remembered of it.
    if (!isBoundTo(token.binding, binding)) return Effect.fail(new InvalidToken({ reason: "binding_differs" }))
    const found = () => accessOf(workspace, token, binding, now)
    return Effect.flatMap(proof.holds, () => beside(spendingOf(once.spend(workspace.id, proof.single, user())), found))
  }

  const checkAccessText = (
    workspace: OpenWorkspace,
    presented: Presented,
    now: Instant
  ): Effect.Effect<Principal, InvalidToken | ProofFault> => {
    const { text } = presented
    const opened = tokenCache.open(workspace, text, now)
    if (Result.isSuccess(opened)) return checkOpened(workspace, opened.success, presented, now)
    return isJwt(text)
      ? Effect.flatMapEager(jwts.open(workspace, text, now), (token) => checkOpened(workspace, token, presented, now))
      : Effect.fail(new InvalidToken({ reason: opened.failure }))
  }

  const check: Grants["check"] = (workspace, presented, now) => {
    const checked: Effect.Effect<Principal, InvalidToken | ProofFault> = isKeyText(presented.text)
      ? checkKeyText(workspace.id, presented.text, now)
      : checkAccessText(workspace, presented, now)
    // A use is one whose proof held, and was not used up before.
    return Effect.mapEager(checked, (principal) => {
      usage.saw("grant", workspace.id, principal.grant, now)
      return principal
    })
  }

  const openerAt = (sealer: Sealer, workspace: OpenWorkspace, now: Instant): Opener => ({
    open: (kind, text) => Result.mapError(open(sealer, workspace, kind, text, now), grantFault),
    drawId: () => grantIdOf(entropy.bytes(idLength))
  })

  /**
   * A decision about a client's own grant. The copy that it is made on may outlive the client by a moment. `unrecorded`:
   * what it comes to where the client has no record.
   */
  const decideOfClient = (
    workspace: WorkspaceId,
    { id, workspaceGrant }: Client,
    decideOn: (found: Grant | undefined) => Decision<Tokens, Fault>,
    now: Instant,
    first: First<Fault>,
    unrecorded: () => Effect.Effect<Result.Result<Tokens, Fault>, Fault>
  ) =>
    Effect.flatMapEager(
      decideOwn<Tokens, Fault, Fault>(
        workspace,
        workspaceGrant,
        (found) => (found ? decideOn(found) : refuse(notBegun)),
        now,
        first
      ),
      (outcome) =>
        Result.isFailure(outcome) && outcome.failure === notBegun
          ? Effect.flatMapEager(clients.findStored(workspace, id), (stored) =>
              stored === undefined ? unrecorded() : decideOwn(workspace, workspaceGrant, decideOn, now, first)
            )
          : Effect.succeed(outcome)
    )

  /** The tokens of a decision, sealed, or its refusal. */
  const handedOut = (
    decided: Effect.Effect<Result.Result<Tokens, Fault>, Fault>,
    { by, first, mark, now, sealer, workspace, writeAccess, writeIdToken }: Handing
  ): Effect.Effect<Issued, Fault> =>
    Effect.flatMapEager(decided, (outcome): Effect.Effect<Issued, Fault> => {
      if (Result.isFailure(outcome)) return Effect.fail(outcome.failure)
      const note = () => noted(workspace.id, by.client, mark, now)
      const before = beforeWriting(first)
      const issued = Effect.mapEager(before === undefined ? note() : Effect.flatMapEager(before, note), () => {
        usage.saw("client", workspace.id, by.client.id, now)
        return sealed(sealer, workspace, outcome.success, now)
      })
      const jwt = writeAccess(outcome.success)
      const written =
        jwt === undefined
          ? issued
          : Effect.flatMap(issued, (tokens) => Effect.map(jwt, (access): Issued => ({ ...tokens, access })))
      return outcome.success.identity === undefined
        ? written
        : Effect.flatMapEager(written, (tokens) => {
            const text = writeIdToken(tokens.access)
            return text === undefined
              ? Effect.succeed(tokens)
              : Effect.map(text, (idToken): Issued => ({ ...tokens, idToken }))
          })
    })

  /** The client's name is in the key, so that a stranger with a stolen text uses up no share but its own. */
  const takeOfGrant = (
    workspace: WorkspaceId,
    { client }: AuthenticatedClient,
    grant: GrantId,
    allowance: Allowance = allowances.grant
  ) => limiter.take({ allowance, workspace, of: `${client.id} ${grantMark(grant)}` })

  const issue: Grants["issue"] = (workspace, row, request) => {
    const { admit, by, form, spending, unproven } = request
    if (row.gather === undefined) return issueOn(workspace, row, request, undefined)
    const gathered = Effect.result(row.gather(form, by, sourcesAt(workspace, instantOf(clock))))
    const begin = beginHeld(spending)
    return Effect.flatMap(begin === undefined ? gathered : Effect.andThen(begin, gathered), (evidence) =>
      Result.isSuccess(evidence)
        ? admit === undefined
          ? issueOn(workspace, row, request, evidence.success)
          : Effect.flatMap(admit(), (by) => issueOn(workspace, row, { ...request, by }, evidence.success))
        : row.isKnown?.(evidence.failure) === true
          ? Effect.fail(evidence.failure)
          : Effect.flatMap(unproven(), () => Effect.fail(evidence.failure))
    )
  }

  const issueOn = (
    workspace: OpenWorkspace,
    row: GrantType,
    { by, form, proof, record, resources, sender, spending, taken, unproven }: TokenRequest,
    evidence: unknown
  ): Effect.Effect<Issued, Fault> => {
    const now = instantOf(clock)
    const sealer = keys.current()
    const about = row.grantOf(form, by, openerAt(sealer, workspace, now), evidence)
    if (Result.isFailure(about)) {
      const { failure } = about
      return Effect.flatMapEager(unproven(), () => Effect.fail(failure))
    }
    const { form: opened, from, grant } = about.success
    const local = policyAt(policy, workspace)
    const asks = by.client.accessTokenFormat === "jwt" || anyTerms(workspace)
    const issued = (
      spending: Spending | undefined,
      jwt?: Result.Result<WriteJwt, Fault>
    ): Effect.Effect<Issued, Fault> => {
      let live: Grant | undefined
      let writeJwt: WriteJwt | undefined
      let identity: Identity | undefined
      let writeIdToken: WriteIdToken | undefined
      let step: Step<unknown> = {
        by,
        form: opened,
        resources,
        taken,
        binding: proof === undefined ? null : proof.binding,
        markSender: markSender(sealer, workspace, grant, sender),
        policy: local,
        now,
        fresh: fresh(sealer)
      }
      /** As the resources ask that they are for. What they ask and cannot be done is refused before anything is spent. */
      const keepingTo = (decision: Decision<Tokens, Fault>): Decision<Tokens, Fault> => {
        if (Result.isFailure(decision.outcome) || (live?._tag !== "Active" && live?._tag !== "Standing"))
          return decision
        const tokens = decision.outcome.success
        const { format, ttl } = termsFor(by.client, workspace, local.scopes, live, tokens)
        writeJwt = undefined
        if (format === "jwt" && jwt !== undefined) {
          if (Result.isFailure(jwt)) return refuse(jwt.failure)
          writeJwt = jwt.success
        }
        return ttl === undefined
          ? decision
          : { ...decision, outcome: Result.succeed(endingBy(tokens, later(now, ttl))) }
      }
      const decideOn = (found: Grant | undefined): Decision<Tokens, Fault> => {
        const decision = from === "drawn" && found !== undefined ? refuse(grantIdTaken) : row.decide(found, step)
        live = decision.next ?? found
        identity = identityIn(decision)
        return asks ? keepingTo(decision) : decision
      }
      /** Gets the ID token's writer first: without a key that signs, nothing is spent. */
      const ready = (): Effect.Effect<void, Fault> | undefined =>
        idTokens === undefined || identity === undefined || writeIdToken !== undefined
          ? undefined
          : Effect.mapEager(idTokens.writer(workspace, by.client, identity, policy.accessTtl, now), (write): void => {
              writeIdToken = write
            })
      const first: First<Fault> = { ready, spending }
      /** Of a client that there is no record of: what is refused writes none, and nothing is granted without one. */
      const unrecorded = (): Effect.Effect<Result.Result<Tokens, Fault>, Fault> => {
        if (record === undefined) return clientGone
        const { outcome } = decideOn(undefined)
        if (Result.isFailure(outcome)) return Effect.succeed(outcome)
        const before = beforeWriting(first)
        const recorded = before === undefined ? record() : Effect.andThen(before, record())
        return Effect.flatMap(recorded, (recorded) => {
          step = { ...step, by: recorded }
          return decideOwn(workspace.id, recorded.client.workspaceGrant, decideOn, now, first)
        })
      }
      const decided =
        from === "client"
          ? decideOfClient(workspace.id, by.client, decideOn, now, first, unrecorded)
          : decide(workspace.id, grant, decideOn, first)
      return handedOut(decided, {
        workspace,
        by,
        now,
        sealer,
        first,
        // Its own grant no person gave it.
        mark: from === "client" || row.meetsNobody === true ? "markUsed" : "markProven",
        writeAccess: (tokens) => writeJwt?.(live, tokens, by.client),
        writeIdToken: (access) => writeIdToken?.(access)
      })
    }
    // The key first: once a code is spent, a client without an answer would be taken for a thief.
    const keyed = (all: Spending | undefined) =>
      mayBeJwt(by.client, workspace)
        ? Effect.flatMapEager(Effect.result(jwts.writer(workspace, by.client, local, now)), (jwt) => issued(all, jwt))
        : issued(all)
    const answered = () => (proof === undefined ? keyed(spending) : proven(workspace.id, proof, spending, keyed))
    if (!isPublic(by.client)) {
      return row.allowance === undefined
        ? answered()
        : Effect.flatMapEager(takeOfGrant(workspace.id, by, grant, row.allowance), answered)
    }
    const ofGrant = () => takeOfGrant(workspace.id, by, grant, row.allowance)
    if (from !== "token") return Effect.flatMapEager(Effect.flatMapEager(unproven(), ofGrant), answered)
    // The seal holds, so a share of its own is taken; whose the grant is shows only now.
    return Effect.catchEager(Effect.flatMapEager(ofGrant(), answered), (fault) =>
      isAnothers(fault) ? Effect.flatMapEager(unproven(), () => Effect.fail(fault)) : Effect.fail(fault)
    )
  }

  const examineOpened = (
    workspace: OpenWorkspace,
    token: Token,
    now: Instant
  ): Effect.Effect<Examined, InvalidToken | StorageUnavailable> => {
    if (token.kind === "code") return Effect.fail(new InvalidToken({ reason: "wrong_kind" }))
    if (token.kind === "refresh") {
      return judged(workspace, token.grant, now, (grant, client): Result.Result<Examined, InvalidToken> => {
        const live = checkRefresh(grant, client, token, policy, now)
        if (Result.isFailure(live)) return Result.fail(live.failure)
        const by = client === undefined ? live.success.client : identifierOf(client)
        return Result.succeed({ kind: "refresh", token, grant: live.success, client: by })
      })
    }
    return Effect.mapEager(accessOf(workspace, token, token.binding, now), (principal) => ({
      kind: "access",
      token,
      principal
    }))
  }

  const sourcesAt = (workspace: OpenWorkspace, now: Instant): Sources => ({
    workspace,
    policy: policyAt(policy, workspace),
    now,
    signatures,
    clientKeys,
    approved: (by, code) => devices(workspace, by, code, now),
    person: (asserted, make) => owner.asserted?.(workspace, asserted, make) ?? Effect.succeedNone,
    accessToken: (text) =>
      Effect.flatMap(
        examine(workspace, text, now),
        (known): Effect.Effect<LiveAccess, InvalidToken> =>
          known.kind === "access" ? Effect.succeed(known) : Effect.fail(new InvalidToken({ reason: "wrong_kind" }))
      )
  })

  const examine: Grants["examine"] = (workspace, text, now = instantOf(clock)) => {
    if (isKeyText(text)) {
      return Effect.mapEager(checkKeyText(workspace.id, text, now), (principal) => ({ kind: "key", principal }))
    }
    const opened = text.startsWith(tokens.access.prefix)
      ? tokenCache.open(workspace, text, now)
      : openAny(keys.current(), workspace, text, now)
    if (Result.isSuccess(opened)) return examineOpened(workspace, opened.success, now)
    return isJwt(text)
      ? Effect.flatMapEager(jwts.open(workspace, text, now), (token) => examineOpened(workspace, token, now))
      : Effect.fail(new InvalidToken({ reason: opened.failure }))
  }

  /** `undefined` where it is no good token. */
  const ofJwt = (
    workspace: OpenWorkspace,
    text: string,
    now: Instant
  ): Effect.Effect<AccessToken | undefined, StorageUnavailable> =>
    isJwt(text)
      ? Effect.catchTag(jwts.open(workspace, text, now), "InvalidToken", () => Effect.succeed(undefined))
      : Effect.succeed(undefined)

  return {
    check,
    issue,
    begin: Effect.fnUntracedEager(function* (workspace, approved, id) {
      const grant = begin(approved, id, policy, instantOf(clock))
      const inserted = yield* decide(workspace.id, id, (found) =>
        found === undefined ? answerAndKeep(grant, grant) : refuse(new Conflict())
      )
      return seal(keys.current(), workspace, codeOf(yield* Effect.fromResult(inserted)))
    }),
    approvalOf: Effect.fnUntracedEager(function* (workspace, id) {
      const grant = yield* get(workspace.id, id)
      if (grant === undefined) return { _tag: "None" }
      if (grant._tag === "Revoked" && grant.why === "by_user") return { _tag: "Denied" }
      if (grant._tag !== "Pending") return { _tag: "Used" }
      const now = instantOf(clock)
      return hasPassed(grant.codeExpiresAt, now)
        ? { _tag: "Expired" }
        : { _tag: "Waiting", code: seal(keys.current(), workspace, codeOf(grant)) }
    }),
    withdraw: (workspace, approved, id) => {
      const now = instantOf(clock)
      const decided = decide(workspace, id, (found) => withdraw(found, approved, id, policy, now))
      return Effect.flatMap(decided, Effect.fromResult)
    },
    examine,
    revokeToken: Effect.fnUntracedEager(function* <R>(
      workspace: OpenWorkspace,
      by: AuthenticatedClient,
      text: string,
      unproven: Unproven,
      spending: Spending<R> | undefined
    ): Effect.fn.Return<GrantId | undefined, WriteFault | TooManyRequests | R> {
      const now = instantOf(clock)
      const opened = openToRevoke(keys.current(), workspace, text, now, policy.accessTtl)
      const token = Result.isSuccess(opened) ? opened.success : yield* ofJwt(workspace, text, now)
      if (token === undefined || token.kind === "code") {
        yield* unproven()
        return undefined
      }
      if (isPublic(by.client)) yield* takeOfGrant(workspace.id, by, token.grant)
      const decideOn = (grant: Grant | undefined) =>
        grant === undefined ? answer("left_alone" as const) : revokeToken(grant, by.client.id, token, policy, now)
      const outcome = yield* decide(workspace.id, token.grant, decideOn, { spending })
      if ((yield* Effect.fromResult(outcome)) === "revoked") return token.grant
      yield* unproven()
      return undefined
    }),
    revokeGrant: Effect.fnUntracedEager(function* (workspace, id, why, among = () => true) {
      const now = instantOf(clock)
      const outcome = yield* decide(workspace, id, (grant) =>
        grant === undefined || !among(grant) ? answer("unknown" as const) : revokeGrant(grant, why, policy, now)
      )
      return yield* Effect.fromResult(outcome)
    }),
    removeGrant: (workspace, id) =>
      Effect.ensuring(
        records.remove(workspace, id),
        Effect.sync(() => forget(workspace, id))
      ),
    ofUser: (workspace, user, slice) => records.list(workspace, userGrants(user), slice),
    keys: (workspace, slice) => records.list(workspace, keyGrants, slice),
    createKey: Effect.fnUntracedEager(function* (workspace, asked) {
      const now = instantOf(clock)
      const id = grantIdOf(entropy.bytes(idLength))
      const made = makeKey(asked, id, entropy.bytes(apiKeySecretLength), policy, now)
      const outcome = yield* decide(workspace, id, (found) =>
        found === undefined
          ? answerAndKeep(made.grant, made)
          : // 128 random bits met themselves: the source of randomness is broken, and nothing may be handed out.
            refuse(keyIdTaken)
      )
      return yield* Effect.fromResult(outcome)
    })
  }
}

const endingBy = (tokens: Tokens, end: Instant): Tokens => ({
  ...tokens,
  access: { ...tokens.access, expiresAt: earlier(tokens.access.expiresAt, end) }
})

/** Whom an answer's ID token is to name. */
const identityIn = ({ outcome }: Decision<Tokens, Fault>): Identity | undefined =>
  Result.isSuccess(outcome) ? outcome.success.identity : undefined

const settled = <A, E>(result: Result.Result<A, E>): Effect.Effect<A, E> =>
  Result.isSuccess(result) ? Effect.succeed(result.success) : Effect.fail(result.failure)

/** A client's own grant is not there: never was, or went with its client, which may be known here for a moment yet. */
const notBegun = new InvalidClient({ reason: "unknown", triedHeader: false })

const clientGone: Effect.Effect<Result.Result<Tokens, Fault>> = Effect.succeed(Result.fail(notBegun))

/** The request showed a text of ours that is not this client's. */
const isAnothers = (fault: Fault): boolean =>
  fault._tag === "InvalidGrant" && (fault.reason === "other_client" || fault.reason === "unknown")

const grantFault = (reason: TokenFault) => new InvalidGrant({ reason })
