import { Effect, Predicate, Redacted, Result, Semaphore } from "effect"
import type { Members } from "../codec/Json.ts"
import { answer, answerAndKeep, type Decision } from "../grant/Decision.ts"
import type { Entropy } from "../ports/Entropy.ts"
import { type SignatureFault, Signatures, type WrappedKey, type Wrapping } from "../ports/Signatures.ts"
import type { Storage, StorageUnavailable } from "../ports/Storage.ts"
import { currentInstant, type Instant, type Millis } from "../rules/Instant.ts"
import { type Algorithm, type PublicKey, thumbprint } from "../rules/Jwk.ts"
import { Contended, PortUnavailable } from "../rules/Refusal.ts"
import type { Keys, Place, SealKey } from "../token/KeyRing.ts"
import { type Workspace, type WorkspaceId, workspacesKept } from "../workspace/Workspace.ts"
import { TtlCache } from "./caches.ts"
import { issuerOf, OtherIssuer, withheld } from "./Openings.ts"
import { makeRecords } from "./Records.ts"
import {
  type DrawnKey,
  dueAt,
  type KeysAt,
  publishedAt,
  type Retirement,
  readyFor,
  retire,
  rotated,
  type SigningKey,
  type SigningKeys,
  signingAt,
  signingKind,
  tidied,
  withdrawn,
  withoutNext
} from "./signingKeys.ts"
import { transactOrFail, type WriteFault } from "./transact.ts"

export type SigningFault = PortUnavailable | WriteFault

/** What is signed. */
export interface Asked {
  readonly algorithm: Algorithm
  /** No longer than this does it live. */
  readonly life: Millis
}

/** Signs with the key that signs now. */
export type Sign = (header: Members, claims: Members) => Effect.Effect<string, PortUnavailable>

/** The keys that a workspace signs with. One that signs nothing, and whose keys nobody has read, has none. */
export interface Signing {
  /** A key that is ready; made at first need. */
  readonly ready: (workspace: Workspace, asked: Asked, now: Instant) => Effect.Effect<Sign, SigningFault>
  /**
   * As they are stored now, so that whatever a process signs is told by all of them. Who reads them before the first
   * signature has the first keys made, by these algorithms: no cache remembers a set without the key that signs next.
   */
  readonly published: (
    workspace: Workspace,
    first: ReadonlyArray<Algorithm>
  ) => Effect.Effect<SigningKeys, SigningFault>
  /** As it is stored now. */
  readonly stored: (workspace: Workspace) => Effect.Effect<SigningKeys | undefined, StorageUnavailable>
  /**
   * Public keys by which a signature of the workspace's own is verified; as old as the policy's `clientStaleness`. They are
   * those that are published, where no others are asked for.
   */
  readonly verifying: (
    workspace: Workspace,
    kid: string,
    now: Instant,
    which?: KeysAt
  ) => Effect.Effect<ReadonlyArray<PublicKey>, StorageUnavailable>
  /** Next keys, where none waits. */
  readonly rotate: (workspace: Workspace, now: Instant) => Effect.Effect<SigningKeys | undefined, SigningFault>
  /** `compromised`: at once, with all that it signed. */
  readonly retire: (
    workspace: Workspace,
    kid: string,
    how: "expired" | "compromised",
    now: Instant
  ) => Effect.Effect<Retirement, SigningFault>
  /**
   * What is due: next keys after 90 days, the end of those that are not needed, private parts under the first seal key.
   */
  readonly keep: (workspace: Workspace, now: Instant) => Effect.Effect<void, SigningFault>
}

interface SigningParts {
  readonly storage: Storage["Service"]
  readonly entropy: Entropy["Service"]
  readonly keys: Keys["Service"]
  readonly signatures: Signatures["Service"]
  /** How long this process may go on with keys that another has changed. */
  readonly staleness: Millis
}

const utf8 = new TextEncoder()
const purpose = utf8.encode("AES-256-GCM")

const unavailable = ({ reason }: SignatureFault) => new PortUnavailable({ port: "signatures", reason })

/** Names what an operator has to bring back. */
const sealKeyMissing = (id: string) =>
  new PortUnavailable({
    port: "signatures",
    reason: `the signing key is sealed under the seal key ${id}, which is missing`
  })

export const makeSigning = ({ entropy, keys, signatures, staleness, storage }: SigningParts): Signing => {
  const records = makeRecords(storage, signingKind)
  const recent = new TtlCache<SigningKeys>(workspacesKept, staleness)
  /** Lives as long as the copy of the keys above: to find a key in the adapter again costs as much as a seal. */
  const unwrapped = new WeakMap<SigningKey, { readonly by: SealKey; readonly sign: Effect.Effect<Sign> }>()

  const wrappingOf = (place: Place, sealKey: SealKey, kid: string): Wrapping => ({
    key: Redacted.make(keys.current().mac(sealKey, place, "signing", purpose), { label: "key of signing keys" }),
    // Neither ids nor issuers hold a space.
    boundTo: `${place.id} ${place.issuer} ${kid}`
  })

  const ownOf = (found: SigningKeys | undefined, { issuer }: Workspace): SigningKeys | undefined =>
    found?.issuer === issuer ? found : undefined

  const remember = (id: WorkspaceId, found: SigningKeys, now: Instant): SigningKeys => {
    recent.remember(id, id, found, now, recent.forgotten)
    return found
  }

  const stored: Signing["stored"] = (workspace) =>
    Effect.mapEager(records.get(workspace.id, workspace.id), (kept) => ownOf(kept?.value, workspace))

  /** What is not there is not remembered: another process may make it in the next moment. */
  const read = (workspace: Workspace, now: Instant) =>
    Effect.suspend(() => {
      const before = recent.forgotten
      return Effect.map(stored(workspace), (found) => {
        if (found !== undefined) recent.remember(workspace.id, workspace.id, found, now, before)
        return found
      })
    })

  const atHand = (workspace: Workspace, now: Instant) => ownOf(recent.get(workspace.id, workspace.id, now), workspace)

  const change = <A>(
    { id, issuer }: Workspace,
    decide: (found: SigningKeys) => { readonly keys: SigningKeys | undefined; readonly outcome: A }
  ): Effect.Effect<A, WriteFault> =>
    transactOrFail(records, entropy, id, id, (stored): Decision<A, never, SigningKeys> => {
      // Keys of the issuer before count as none: their private parts do not unwrap under this one.
      const found = stored?.issuer === issuer ? stored : { id, issuer, keys: [] }
      const decided = decide(found)
      recent.forget(id, id)
      const isChanged = decided.keys !== undefined && decided.keys !== found
      return isChanged ? answerAndKeep(decided.keys, decided.outcome) : answer(decided.outcome)
    }).pipe(Effect.tap(() => Effect.sync(() => recent.forget(id, id))))

  const draw = (workspace: Workspace, algorithm: Algorithm): Effect.Effect<DrawnKey, PortUnavailable> => {
    const { first } = keys.current()
    return Effect.mapBoth(
      signatures.makeKey(algorithm, (publicKey) => wrappingOf(workspace, first, thumbprint(publicKey))),
      {
        onFailure: unavailable,
        onSuccess: ({ publicKey, wrapped }) => ({
          kid: thumbprint(publicKey),
          algorithm,
          publicKey,
          wrapped: { by: first.id, text: wrapped }
        })
      }
    )
  }

  /** Keys of one issuer take the place of another's, so only the process that has the workspace now makes any. */
  const isOurs = ({ id, issuer }: Workspace): Effect.Effect<void, StorageUnavailable> =>
    Effect.flatMap(issuerOf(storage, id), (recorded) =>
      recorded === undefined || recorded === issuer
        ? Effect.void
        : Effect.fail(withheld(new OtherIssuer({ workspace: id, issuer, recorded })))
    )

  const current = (found: SigningKeys | undefined, algorithm: Algorithm, now: Instant): SigningKey | undefined =>
    found === undefined ? undefined : signingAt(found, algorithm, now)

  /** With keys that sign what lives so long; `undefined` where one is lacking that was not drawn. */
  const adopt = (
    workspace: Workspace,
    algorithms: ReadonlyArray<Algorithm>,
    life: Millis,
    drawn: ReadonlyArray<DrawnKey>,
    now: Instant
  ) =>
    change(workspace, (found) => {
      const ready = algorithms.reduce<SigningKeys | undefined>((keys, algorithm) => {
        const fresh = drawn.find((one) => one.algorithm === algorithm)
        return keys === undefined ? undefined : readyFor(keys, algorithm, life, fresh, now)
      }, found)
      return { keys: ready, outcome: ready }
    })

  const draws = Semaphore.makeUnsafe(1)

  /** An RSA key takes a processor for up to a second, so the requests that wait for one do not draw one each. */
  const drawOnce = (workspace: Workspace, algorithms: ReadonlyArray<Algorithm>, life: Millis) =>
    draws.withPermits(1)(
      Effect.gen(function* () {
        const now = yield* currentInstant
        const found = yield* read(workspace, now)
        if (found === undefined) yield* isOurs(workspace)
        const lacking = algorithms.filter((algorithm) => current(found, algorithm, now) === undefined)
        const drawn = yield* Effect.forEach(lacking, (algorithm) => draw(workspace, algorithm))
        return yield* adopt(workspace, algorithms, life, drawn, now)
      })
    )

  const prepare = Effect.fnUntraced(function* (workspace: Workspace, { algorithm, life }: Asked, now: Instant) {
    const known = current(yield* read(workspace, now), algorithm, now)
    if (known !== undefined && known.life >= life) return known
    const ready = yield* known === undefined
      ? drawOnce(workspace, [algorithm], life)
      : adopt(workspace, [algorithm], life, [], now)
    const at = yield* currentInstant
    const key = ready && current(remember(workspace.id, ready, at), algorithm, at)
    // An owner withdrew the last one meanwhile.
    return key ?? (yield* new Contended())
  })

  const wrappedUnder = (sealKey: SealKey, workspace: Workspace, { kid, wrapped }: SigningKey): WrappedKey => ({
    wrapped: wrapped.text,
    wrapping: wrappingOf(workspace, sealKey, kid)
  })

  /** A seal key that has left the ring brings no key back, whatever was unwrapped by it before. */
  const sealKeyOf = ({ wrapped: { by } }: SigningKey): Result.Result<SealKey, PortUnavailable> => {
    const found = keys.current().find(by)
    return found === undefined ? Result.fail(sealKeyMissing(by)) : Result.succeed(found)
  }

  const signWith = (workspace: Workspace, key: SigningKey): Effect.Effect<Sign, PortUnavailable> => {
    const by = sealKeyOf(key)
    if (Result.isFailure(by)) return Effect.fail(by.failure)
    const known = unwrapped.get(key)
    if (known?.by === by.success) return known.sign
    return Effect.mapBoth(signatures.signer(wrappedUnder(by.success, workspace, key), key.algorithm), {
      onFailure: unavailable,
      onSuccess: (sign): Sign => {
        const signs: Sign = (header, claims) => Effect.mapError(sign({ ...header, kid: key.kid }, claims), unavailable)
        unwrapped.set(key, { by: by.success, sign: Effect.succeed(signs) })
        return signs
      }
    })
  }

  const rotate = Effect.fnUntraced(function* (
    workspace: Workspace,
    now: Instant,
    which: (keys: SigningKeys, now: Instant) => ReadonlyArray<Algorithm>
  ) {
    const found = yield* stored(workspace)
    if (found === undefined) return undefined
    const drawn = yield* Effect.forEach(which(found, now), (algorithm) => draw(workspace, algorithm))
    if (drawn.length === 0) return found
    return yield* change(workspace, (found) => {
      // Of several processes that come at once, the first has done it: where a key waits, `rotated` adds none.
      const next = drawn.reduce((keys, key) => rotated(keys, key, now), found)
      return { keys: next, outcome: next }
    })
  })

  /** The private parts that another seal key than the first keeps, as the first would. */
  const rewrapped = Effect.fnUntraced(function* (workspace: Workspace, found: SigningKeys) {
    const { first } = keys.current()
    const anew = new Map<string, SigningKey["wrapped"]>()
    for (const key of found.keys) {
      if (key.wrapped.by === first.id) continue
      const by = sealKeyOf(key)
      if (Result.isFailure(by)) {
        yield* Effect.logError(by.failure.reason, { workspace: workspace.id, kid: key.kid })
        continue
      }
      const text = yield* Effect.mapError(
        signatures.rewrap(wrappedUnder(by.success, workspace, key), wrappingOf(workspace, first, key.kid)),
        unavailable
      )
      anew.set(key.wrapped.text, { by: first.id, text })
    }
    return anew
  })

  return {
    ready: (workspace, asked, now) => {
      const known = atHand(workspace, now)
      const key = known === undefined ? undefined : signingAt(known, asked.algorithm, now)
      return key !== undefined && key.life >= asked.life
        ? signWith(workspace, key)
        : Effect.flatMap(prepare(workspace, asked, now), (key) => signWith(workspace, key))
    },
    published: (workspace, first) =>
      Effect.flatMapEager(stored(workspace), (found) =>
        found === undefined
          ? Effect.filterOrFail(drawOnce(workspace, first, 0), Predicate.isNotUndefined, () => new Contended())
          : Effect.succeed(found)
      ),
    stored,
    verifying: (workspace, kid, now, which = publishedAt) => {
      const keysOf = (found: SigningKeys | undefined): ReadonlyArray<PublicKey> =>
        found === undefined
          ? []
          : which(found, now).map(({ algorithm, kid, publicKey }) => ({ ...publicKey, kid, alg: algorithm }))
      const known = keysOf(atHand(workspace, now))
      return known.some((key) => key.kid === kid) ? Effect.succeed(known) : Effect.map(read(workspace, now), keysOf)
    },
    rotate: (workspace, now) => rotate(workspace, now, withoutNext),
    retire: Effect.fnUntraced(function* (workspace, kid, how, now) {
      if (how === "expired") {
        return yield* change(workspace, (found) => retire(found, kid, now))
      }
      const found = yield* stored(workspace)
      const key = found?.keys.find((one) => one.kid === kid)
      const drawn = key === undefined ? undefined : yield* draw(workspace, key.algorithm)
      return yield* change(workspace, (found) => withdrawn(found, kid, drawn, now))
    }),
    keep: Effect.fnUntraced(function* (workspace, now) {
      // This server signs nothing, and perhaps cannot.
      if (signatures === Signatures.none) return
      const found = yield* rotate(workspace, now, dueAt)
      if (found === undefined) return
      const anew = yield* rewrapped(workspace, found)
      if (anew.size === 0 && tidied(found, now) === found) return
      yield* change(workspace, (found) => {
        const isMoved = found.keys.some(({ wrapped }) => anew.has(wrapped.text))
        const keys = found.keys.map((key) => ({ ...key, wrapped: anew.get(key.wrapped.text) ?? key.wrapped }))
        return { keys: tidied(isMoved ? { ...found, keys } : found, now), outcome: undefined }
      })
    })
  }
}
