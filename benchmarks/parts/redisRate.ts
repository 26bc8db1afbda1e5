/** rps, then avg, min, p50, p95, p99 and max latency. */
const columns = 7

/** What `redis-benchmark --csv` says. The command stands in front of the numbers, with quotes of its own unescaped. */
export const redisRate = (output: string): { readonly perSecond: number; readonly p50: number } => {
  const last = output.trim().split("\n").at(-1) ?? ""
  const numbers = [...last.matchAll(/"([\d.]+)"(?=,|$)/g)].slice(-columns).map(([, text]) => Number(text))
  const [perSecond = 0, , , p50 = 0] = numbers.length === columns ? numbers : []
  return { perSecond, p50 }
}
