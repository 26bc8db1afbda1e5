import type { Effect } from "effect"
import type { Storage, StorageScan } from "../ports/Storage.ts"
import { additionLaws } from "./StorageAdditionLaws.ts"
import { batchLaws } from "./StorageBatchLaws.ts"
import { type Law, withSeed } from "./StorageLaw.ts"
import { listLaws } from "./StorageListLaws.ts"
import { modelLaws } from "./StorageModelLaws.ts"
import { raceLaws } from "./StorageRaceLaws.ts"
import { recordLaws } from "./StorageRecordLaws.ts"
import { scanLaws } from "./StorageScanLaws.ts"
import { sweepLaws } from "./StorageSweepLaws.ts"
import { valueLaws } from "./StorageValueLaws.ts"

/**
 * What every store promises. A store conforms when each law succeeds on it, one after the other: the laws about
 * `sweep` count, so nothing else may write records that expired in 1970 meanwhile. Other data may lie there already;
 * where it stays between runs, take another seed each time.
 */
export const storageLaws = (seed: number): ReadonlyArray<Law> =>
  [
    ...recordLaws,
    ...raceLaws,
    ...batchLaws,
    ...additionLaws,
    ...listLaws,
    ...valueLaws,
    ...modelLaws,
    ...sweepLaws
  ].map(withSeed(seed))

/** What a store promises besides that can be copied. */
export const storageScanLaws = (seed: number): ReadonlyArray<Law<Storage | StorageScan>> => scanLaws.map(withSeed(seed))

/** Hands the laws to a test runner: `checkLaws(storageLaws(seed), test, runtime.runPromise)`. */
export const checkLaws = <Needs>(
  laws: ReadonlyArray<Law<Needs>>,
  test: (name: string, body: () => Promise<void>) => unknown,
  run: (law: Effect.Effect<void, unknown, Needs>) => Promise<void>
): void => {
  for (const { name, law } of laws) test(name, () => run(law))
}
