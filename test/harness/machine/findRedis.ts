import { onPath } from "./onPath.ts"

export interface RedisPrograms {
  readonly server: string
  readonly cli: string
}

export const findRedis = (): RedisPrograms | undefined => {
  const [server] = onPath("redis-server")
  const [cli] = onPath("redis-cli")
  return server === undefined || cli === undefined ? undefined : { server, cli }
}
