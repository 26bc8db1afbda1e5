import { describe, expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { Effect } from "effect"
import { Cluster, Redis } from "ioredis"
import { chromium } from "playwright-core"
import postgres from "postgres"
import { chromiumPath, node, node20, node22, node24, postgresUrl, redisClusterUrl, redisUrl, workerd } from "./given.ts"
import { isBuiltHere } from "./machine/findWorkerd.ts"
import { startWorkers } from "./startWorkers.ts"

const nodesOf = (url: string) =>
  url
    .replace("redis+cluster://", "")
    .split(",")
    .map((address) => {
      const [host = "", port] = address.split(":")
      return { host, port: Number(port) }
    })

describe("what npm test brings", () => {
  test("a PostgreSQL that answers, keeps its default durability and counts statements", async () => {
    const sql = postgres(postgresUrl(), { max: 1 })
    const settings = await sql<{ name: string; setting: string }[]>`
      select name, setting from pg_settings where name in ('fsync', 'synchronous_commit', 'full_page_writes') order by name`
    await sql.end()

    expect(settings.map(({ name, setting }) => `${name}=${setting}`)).toEqual([
      "fsync=on",
      "full_page_writes=on",
      "synchronous_commit=on"
    ])
  })

  test("a Redis that answers and appends to its file", async () => {
    const redis = new Redis(redisUrl())
    const answer = await redis.call("CONFIG", "GET", "appendonly")
    redis.disconnect()

    expect(answer).toEqual(["appendonly", "yes"])
  })

  test("a Redis Cluster of three masters that keeps keys of every slot", async () => {
    const cluster = new Cluster(nodesOf(redisClusterUrl()))
    const keys = Array.from({ length: 50 }, (_, index) => `harness:${index}`)
    await Promise.all(keys.map((key) => cluster.set(key, key)))
    const kept = await Promise.all(keys.map((key) => cluster.get(key)))
    const masters = cluster.nodes("master").length
    await Promise.all(keys.map((key) => cluster.del(key)))
    cluster.disconnect()

    expect(kept).toEqual(keys)
    expect(masters).toBe(3)
  })

  test("a Chromium that shows a page", async () => {
    const browser = await chromium.launch({ executablePath: chromiumPath(), args: ["--no-sandbox"] })
    const page = await browser.newPage()
    await page.setContent("<h1>Salve</h1>")
    const heading = await page.textContent("h1")
    await browser.close()

    expect(heading).toBe("Salve")
  })

  test("a Node that launches, one of each line that is served, and one with node:sqlite", () => {
    const versionOf = (program: string) =>
      spawnSync(program, ["--print", "process.versions.node"], { encoding: "utf8" }).stdout
    const sqlite = spawnSync(node22(), ["--print", "typeof require('node:sqlite').DatabaseSync"], { encoding: "utf8" })

    expect(Number(versionOf(node()).split(".")[0])).toBeGreaterThanOrEqual(20)
    expect([node20(), node22(), node24()].map((one) => versionOf(one).split(".")[0])).toEqual(["20", "22", "24"])
    expect(sqlite.stdout.trim()).toBe("function")
  })

  test("a workerd wherever there is one, which serves a module and has nothing of Node's", async () => {
    const engine = workerd()
    expect(engine !== undefined).toBe(isBuiltHere)
    if (engine === undefined) return
    const served = Effect.gen(function* () {
      const { url } = yield* startWorkers(engine, { module: join(import.meta.dir, "onWorkers.ts") })
      return yield* Effect.promise(async () => (await fetch(url)).json())
    })
    expect(await Effect.runPromise(Effect.scoped(served))).toEqual({ engine: "Cloudflare-Workers", hasNode: false })
  })
})
