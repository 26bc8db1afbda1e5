import { Effect } from "effect"
import type { RedisServer } from "../parts/Part.ts"
import { commandRedis } from "./commandRedis.ts"

/** What another part has stored is gone; the server and its scripts stay. */
export const freshRedis = (redis: RedisServer) => Effect.as(commandRedis(redis, "FLUSHALL"), redis.server.url)
