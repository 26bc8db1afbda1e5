/** What `npm test` found or started, as it reaches a test: through the environment, read when it is needed. */
const given = (variable: string, what: string) => (): string => {
  const value = process.env[variable]
  if (value === undefined || value === "") {
    throw new Error(`${variable} is not set: run this test with \`npm test -- FILE\`, which brings ${what}`)
  }
  return value
}

/** A superuser's URL of a PostgreSQL that every test file shares: make a database or schema of your own in it. */
export const postgresUrl = given("TEST_POSTGRES_URL", "a PostgreSQL")

/** One Redis that every test file shares: take a key prefix of your own, or start your own server. */
export const redisUrl = given("TEST_REDIS_URL", "a Redis")

/** Three masters, as `redis+cluster://host:port,host:port,host:port`. */
export const redisClusterUrl = given("TEST_REDIS_CLUSTER_URL", "a Redis Cluster")

/** The executable, for playwright-core's `executablePath`. */
export const chromiumPath = given("CHROMIUM_PATH", "Chromium")

/** The folder with `postgres`, `initdb`, `pg_dump` and `pgbench`. */
export const postgresBin = given("TEST_POSTGRES_BIN", "PostgreSQL's programs")

export const redisServer = given("TEST_REDIS_SERVER", "redis-server")

export const redisCli = given("TEST_REDIS_CLI", "redis-cli")

/** The Node that runs the tests' launcher, 20 or later. */
export const node = given("TEST_NODE", "Node")

export const node20 = given("TEST_NODE20", "Node 20")

/** With `node:sqlite`: from 22.13. */
export const node22 = given("TEST_NODE22", "Node 22.13 or later")

export const node24 = given("TEST_NODE24", "Node 24")
