import { Effect } from "effect"
import { kinds, type Storage, type StorageScan, type StoredRecord } from "../../core/ports/Storage.ts"
import type { TestClient, TestTokens } from "../given/flow.ts"

/** What people and applications hold of a release. The test's own keys sealed it: it is worth nothing anywhere else. */
export interface Held {
  readonly email: string
  readonly password: string
  /** A browser in which the person is signed in. */
  readonly cookies: Readonly<Record<string, string>>
  readonly confidential: TestClient
  readonly confidentialTokens: TestTokens
  readonly public: TestClient
  readonly publicTokens: TestTokens
  /** The access token of a client without a person. */
  readonly machine: string
  readonly code: string
  /** The hidden fields of an open consent page. */
  readonly consent: Readonly<Record<string, string>>
  readonly key: string
}

/** A store as a release wrote it, with what others hold of it. */
export interface OlderRelease {
  readonly records: ReadonlyArray<StoredRecord>
  readonly held: Held
}

/** Everything in a small store. */
export const everyRecord = (scan: StorageScan["Service"]["scan"]) =>
  Effect.map(
    Effect.forEach(kinds, (kind) => scan(kind, undefined, 1000)),
    (pages) => pages.flatMap(({ records }) => records)
  )

/** Puts the records in as they were, each at its version. */
export const load = (storage: Storage["Service"], records: ReadonlyArray<StoredRecord>) =>
  Effect.forEach(
    records,
    ({ version, ...record }) =>
      Effect.gen(function* () {
        yield* storage.insert(record)
        for (let at = 1; at < version; at++) yield* storage.replace(at, record)
      }),
    { discard: true }
  )
