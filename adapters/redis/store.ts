import { Redacted, Result } from "effect"
import { openLazily, type StoreKind, withoutSecrets } from "../StoreKind.ts"
import { parseRedisUrl } from "./RedisUrl.ts"

export const redis: StoreKind = {
  schemes: ["redis", "rediss", "redis+cluster", "rediss+cluster", "redis+sentinel", "rediss+sentinel"],
  looks: "redis://…, redis+cluster://host:port,host:port or redis+sentinel://host:port,host:port/name",
  shared: true,
  lasts: true,
  entry: "redis",
  driver: "ioredis",
  at: (text) =>
    parseRedisUrl(text).pipe(
      Result.mapError(({ message }) => message),
      Result.map(({ settings: { prefix = "tessera" } }) => {
        const url = Redacted.make(text, { label: "DATABASE_URL" })
        const described = `Redis at ${withoutSecrets(url)}`
        return {
          kind: redis,
          described,
          location: `${text.replace(/\?.*$/, "")} ${prefix}`,
          open: ({ deadline }) =>
            openLazily(
              described,
              async () => (await import("./Redis.ts")).layer(deadline === undefined ? { url } : { url, deadline }),
              redis.driver
            )
        }
      })
    )
}
