import { describe, expect, test } from "bun:test"
import { ConfigProvider, Effect } from "effect"
import { readSettings } from "../../../runtimes/server/Settings.ts"

const complaintsOf = (env: Readonly<Record<string, string>>) =>
  Effect.runPromise(
    readSettings.pipe(
      Effect.as<ReadonlyArray<string>>([]),
      Effect.catch(({ complaints }) => Effect.succeed([...complaints])),
      Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnvRecord(env))
    )
  )

describe("a duration that nothing can hold", () => {
  test("is refused at start: a token's expiry has 48 bits, and a timer 31", async () => {
    for (const name of ["CODE_TTL", "ACCESS_TTL", "REFRESH_IDLE_TTL", "REFRESH_MAX_TTL", "REFRESH_GRACE"]) {
      expect([name, await complaintsOf({ [name]: "4000000 days" })]).toEqual([name, [expect.stringContaining(name)]])
      expect([name, await complaintsOf({ [name]: "36500 days" })]).toEqual([name, []])
    }
    for (const name of ["REQUEST_TIMEOUT", "SHUTDOWN_TIMEOUT", "STORAGE_TIMEOUT", "POSTGRES_CONNECT_TIMEOUT"]) {
      expect([name, await complaintsOf({ [name]: "25 days" })]).toEqual([name, [expect.stringContaining(name)]])
      expect([name, await complaintsOf({ [name]: "1 day" })]).toEqual([name, []])
    }
  })
})
