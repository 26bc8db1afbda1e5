import { type Clock, Effect, Result } from "effect"
import { parseJson } from "../../core/codec/Json.ts"
import { hour, minute, second } from "../../core/rules/Instant.ts"
import { type PublicKey, readJwkSet } from "../../core/rules/Jwk.ts"
import { askServer, type Fetch, sharesWaiting } from "./asking.ts"
import type { IntrospectionFailure } from "./RemoteGuardOptions.ts"

/** As long as the server lets them be kept. */
const freshFor = 5 * minute
/** While the server is away, keys that were fetched go on for so long. */
const usableFor = hour
/** After a fetch, for a name that it did not tell: made-up names lead to no more fetches than this. */
const heldOffFor = 30 * second
/** The same where there are no keys to go on with: the server may be about to start. */
const patience = 1000
const longest = 64 * 1024

interface RemoteKeysOptions {
  readonly jwksUri: string
  readonly timeout: number
  readonly fetch: Fetch
  readonly clock: Clock.Clock
  readonly tell: (failure: IntrospectionFailure) => void
}

type Fetched = Result.Result<ReadonlyArray<PublicKey>, IntrospectionFailure>

const unreadable: Fetched = Result.fail({ _tag: "Unreadable" })

const readSet = (text: string): Fetched => {
  if (text.length > longest) return unreadable
  return Result.mapError(readJwkSet(parseJson(text)), (): IntrospectionFailure => ({ _tag: "Unreadable" }))
}

/**
 * The keys of an authorization server, fetched when they are needed, and one fetch for all who wait. Where requests
 * cannot wait for each other, each fetches the keys unless it has some to go on with.
 */
export class RemoteKeys {
  readonly #options: RemoteKeysOptions
  readonly #shares = sharesWaiting()
  #keys: ReadonlyArray<PublicKey> = []
  #fetchedAt: number | undefined
  #triedAt: number | undefined
  /** Of a fetch that has not ended. */
  #begunAt: number | undefined
  #flight: Promise<void> | undefined

  constructor(options: RemoteKeysOptions) {
    this.#options = options
  }

  /** The keys of this name; `undefined`: the server could not say which there are. */
  async find(kid: string): Promise<ReadonlyArray<PublicKey> | undefined> {
    const named = () => this.#keys.filter((key) => key.kid === kid)
    const known = named()
    if (this.#isYounger(this.#fetchedAt, freshFor) && known.length > 0) return known
    if (!this.#shares && this.#isUsable() && this.#isYounger(this.#begunAt, this.#options.timeout)) {
      return known.length > 0 ? known : undefined
    }
    let flight = this.#shares ? this.#flight : undefined
    if (flight === undefined && !this.#isYounger(this.#triedAt, this.#isUsable() ? heldOffFor : patience)) {
      flight = this.#renew()
      this.#flight = flight
    }
    await flight
    return this.#isUsable() ? named() : undefined
  }

  #isUsable(): boolean {
    return this.#isYounger(this.#fetchedAt, usableFor)
  }

  /** A clock that was set back does not make anything younger. */
  #isYounger(since: number | undefined, than: number): boolean {
    const now = this.#options.clock.currentTimeMillisUnsafe()
    return since !== undefined && since <= now && now < since + than
  }

  async #renew(): Promise<void> {
    const { clock, tell } = this.#options
    const askedAt = clock.currentTimeMillisUnsafe()
    this.#begunAt = askedAt
    const fetched = await this.#fetch()
    this.#triedAt = askedAt
    this.#begunAt = undefined
    if (Result.isSuccess(fetched)) {
      this.#keys = fetched.success
      this.#fetchedAt = askedAt
    } else tell(fetched.failure)
    this.#flight = undefined
  }

  #fetch(): Promise<Fetched> {
    const { jwksUri } = this.#options
    return askServer(this.#options, jwksUri, { headers: { accept: "application/json" } }).pipe(
      Effect.flatMap(({ text }) => Effect.fromResult(readSet(text))),
      Effect.result,
      Effect.runPromise
    )
  }
}
