import { nodeServer } from "../../../runtimes/node.ts"
import type { Serve } from "../../../runtimes/serve/Serve.ts"
import { portOf } from "../portOf.ts"

export const listen = (serve: Serve): Promise<number> =>
  portOf(nodeServer(serve, { requestTimeout: 20_000, together: true }).server)
