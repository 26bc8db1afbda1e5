/** A service that `npm test` found or started, from the environment, read when it is needed. */
const given = (variable: string, what: string) => (): string => {
  const value = process.env[variable]
  if (value === undefined || value === "") {
    throw new Error(`${variable} is not set: run this test with \`npm test -- FILE\`, which brings ${what}`)
  }
  return value
}

/** A superuser's URL of a PostgreSQL shared by all files: make a database or schema of your own. */
export const postgresUrl = given("TEST_POSTGRES_URL", "a PostgreSQL")

/** A Redis shared by all files: take a key prefix of your own, or start a server. */
export const redisUrl = given("TEST_REDIS_URL", "a Redis")

/** Three masters, as `redis+cluster://host:port,host:port,host:port`. */
export const redisClusterUrl = given("TEST_REDIS_CLUSTER_URL", "a Redis Cluster")

/** For playwright-core's `executablePath`. */
export const chromiumPath = given("CHROMIUM_PATH", "Chromium")

/** The folder with `postgres`, `initdb`, `pg_dump` and `pgbench`. */
export const postgresBin = given("TEST_POSTGRES_BIN", "PostgreSQL's programs")

export const redisServer = given("TEST_REDIS_SERVER", "redis-server")

export const redisCli = given("TEST_REDIS_CLI", "redis-cli")

/** The Node of the tests' launcher, 20 or later. */
export const node = given("TEST_NODE", "Node")

export const node20 = given("TEST_NODE20", "Node 20")

/** 22.13 or later, with `node:sqlite`. */
export const node22 = given("TEST_NODE22", "Node 22.13 or later")

export const node24 = given("TEST_NODE24", "Node 24")

/** With the clients of others in Python; `undefined` where the machine has none, as the run says. */
export const python = (): string | undefined => process.env.TEST_PYTHON || undefined

/** The engine of Workers; `undefined` on a platform that it is not built for, as the run says. */
export const workerd = (): string | undefined => process.env.TEST_WORKERD || undefined

/** The server as `npm run build:binary` makes it. */
export const executable = given("TESSERA_EXECUTABLE", "the executable")

/** What test files of a run make once for all of them: see `madeOnce.ts`. */
export const madeFolder = given("TEST_MADE", "a folder for what is built once")
