import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { Redis } from "ioredis"
import postgres from "postgres"
import { pollUntil } from "./pollUntil.ts"
import { isAlive } from "./processes.ts"
import { runProgram } from "./runProgram.ts"
import { type Server, startServer } from "./Server.ts"
import { scoped } from "./scoped.ts"
import { startPostgres } from "./startPostgres.ts"
import { startRedis } from "./startRedis.ts"
import { startRedisCluster } from "./startRedisCluster.ts"
import { throwawayFolder } from "./throwawayFolder.ts"

const query = (server: Server, text: string) =>
  Effect.promise(async () => {
    const sql = postgres(server.url, { max: 1, onnotice: () => undefined })
    const rows = await sql.unsafe(text)
    await sql.end()
    return rows.flatMap((row) => Object.values(row).map(String))
  })

const redis = (server: Server, command: string, ...args: ReadonlyArray<string>) =>
  Effect.promise(async () => {
    const client = new Redis(server.url)
    const answer = await client.call(command, ...args)
    client.disconnect()
    return answer
  })

describe("a PostgreSQL of one's own", () => {
  test("has what was committed when it comes back from kill -9, on the same port", () =>
    scoped(function* () {
      const server = yield* startPostgres()
      yield* query(server, "create table kept (id int); insert into kept values (7)")
      const before = server.pid()
      yield* server.kill
      expect(before !== undefined && isAlive(before)).toBe(false)
      expect(server.pid()).toBeUndefined()

      yield* server.start
      expect(yield* query(server, "select id from kept")).toEqual(["7"])
      expect(server.pid()).not.toBe(before)
      expect(server.log()).toContain("database system was not properly shut down")
    }))

  test("stops in order, and takes settings", () =>
    scoped(function* () {
      const server = yield* startPostgres({ settings: { max_connections: "7" } })
      expect(yield* query(server, "show max_connections")).toEqual(["7"])
      yield* server.stop
      expect(server.log()).toContain("database system is shut down")
    }))

  test("is gone with its scope", async () => {
    const pid = await scoped(startPostgres().pipe(Effect.map((server) => server.pid())))
    expect(pid !== undefined && isAlive(pid)).toBe(false)
  })
})

describe("a Redis of one's own", () => {
  test("has what was acknowledged when it comes back from kill -9", () =>
    scoped(function* () {
      const server = yield* startRedis()
      yield* redis(server, "SET", "kept", "7")
      yield* server.kill
      yield* server.start
      expect(yield* redis(server, "GET", "kept")).toBe("7")
    }))

  test("holds its tongue while it is frozen", () =>
    scoped(function* () {
      const server = yield* startRedis()
      const client = new Redis(server.url, { lazyConnect: true })
      yield* Effect.promise(() => client.connect())
      yield* server.freeze
      let answered = false
      const answer = client.ping().then((text) => {
        answered = true
        return text
      })
      // A process has started, run and ended meanwhile, which is long enough for a live Redis to answer.
      yield* runProgram(process.execPath, ["--version"])
      expect(answered).toBe(false)

      yield* server.thaw
      expect(yield* Effect.promise(() => answer)).toBe("PONG")
      client.disconnect()
    }))

  test("does not start when its settings are wrong, and says why", async () => {
    const failure = await scoped(Effect.flip(startRedis({ settings: { maxmemory: "much" } })))
    expect(failure.message).toContain("maxmemory")
  })
})

describe("a Redis Cluster of one's own", () => {
  test("is whole again when a node comes back from kill -9", () =>
    scoped(function* () {
      const { nodes } = yield* startRedisCluster()
      const [, second] = nodes
      expect(nodes).toHaveLength(3)
      if (second === undefined) return
      yield* second.kill
      yield* second.start
      expect(yield* redis(second, "CLUSTER", "MYID")).toBeString()
    }))
})

describe("a server that starts a child each millisecond", () => {
  const children = "while :; do (sleep 0.05; echo tick) & sleep 0.001; done"

  const startForks = Effect.gen(function* () {
    const server = yield* startServer({
      name: "forks",
      url: "",
      port: 0,
      folder: yield* throwawayFolder("forks"),
      command: "sh",
      args: ["-c", children],
      user: undefined,
      stopSignal: "SIGTERM",
      discardSignal: "SIGKILL",
      answers: Effect.succeed(true)
    })
    const saysMore = (within: number) =>
      Effect.suspend(() => {
        const from = server.log().length
        return pollUntil(
          Effect.sync(() => server.log().length > from),
          within
        )
      })
    return { server, saysMore }
  })

  test("does nothing while it is frozen", () =>
    scoped(function* () {
      const { saysMore, server } = yield* startForks
      for (let time = 0; time < 5; time++) {
        expect(yield* saysMore(10_000)).toBe(true)
        yield* server.freeze
        expect(yield* saysMore(200)).toBe(false)
        yield* server.thaw
      }
    }))

  test("leaves none of them behind when it is killed", () =>
    scoped(function* () {
      const { saysMore, server } = yield* startForks
      for (let time = 0; time < 10; time++) {
        expect(yield* saysMore(10_000)).toBe(true)
        yield* server.kill
        expect(yield* saysMore(200)).toBe(false)
        yield* server.start
      }
    }))
})
