import { Effect } from "effect"
import type { RedisServer } from "../parts/Part.ts"
import { askRedis } from "./askRedis.ts"

/** What another part has stored is gone; the server and its scripts stay. */
export const freshRedis = (redis: RedisServer) => Effect.as(askRedis(redis, "FLUSHALL"), redis.server.url)
