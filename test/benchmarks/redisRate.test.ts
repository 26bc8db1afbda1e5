import { expect, test } from "bun:test"
import { redisRate } from "../../benchmarks/measure/programs.ts"

const head = `"test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95_latency_ms","p99_latency_ms","max_latency_ms"`

test("the rate is read behind a command that holds quotes, commas and numbers", () => {
  const row = `"EVALSHA ab 2 k 0 {"v":"1","x":"2"}","54945.05","0.786","0.320","0.743","1.167","1.367","1.663"`
  expect(redisRate(`${head}\n${row}\n`)).toEqual({ perSecond: 54945.05, p50: 0.743 })
})

test("without a row there is no rate, so nothing is asked for a number that is none", () => {
  expect(redisRate("")).toEqual({ perSecond: 0, p50: 0 })
  expect(redisRate(head)).toEqual({ perSecond: 0, p50: 0 })
})
