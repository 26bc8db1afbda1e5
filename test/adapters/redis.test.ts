import { afterAll, describe, test } from "bun:test"
import { ManagedRuntime } from "effect"
import { layer } from "../../adapters/redis/Redis.ts"
import { checkLaws, storageLaws, storageScanLaws } from "../../core/testing/StorageConformance.ts"
import { redisClusterUrl, redisUrl } from "../harness/given.ts"

const seed = Math.floor(Math.random() * 2 ** 31)

describe.each([
  { where: "one node", url: redisUrl, pipelining: true },
  { where: "one node, without pipelining", url: redisUrl, pipelining: false },
  { where: "a cluster of three nodes", url: redisClusterUrl, pipelining: true }
])(`Redis keeps the laws of storage on $where (seed ${seed})`, ({ where, url, pipelining }) => {
  // A prefix of its own, because other files sweep too.
  const runtime = ManagedRuntime.make(layer({ url: url(), prefix: `laws ${where} ${seed}`, pipelining }))
  afterAll(() => runtime.dispose())

  checkLaws(storageLaws(seed), test, (law) => runtime.runPromise(law))
  checkLaws(storageScanLaws(seed), test, (law) => runtime.runPromise(law))
})
