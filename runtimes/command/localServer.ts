import { Effect } from "effect"
import type { Settings } from "../server/Settings.ts"

/** Where a server with these settings is found from the machine that it runs on. */
export const localOrigin = ({ host, port }: Settings): string => {
  const local = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host
  return `http://${local.includes(":") ? `[${local}]` : local}:${port}`
}

/** What it answers; nothing where nobody does, in three seconds. */
export const asked = (url: string): Effect.Effect<Response | undefined> =>
  Effect.promise(() => fetch(url, { signal: AbortSignal.timeout(3000), redirect: "manual" }).catch(() => undefined))
