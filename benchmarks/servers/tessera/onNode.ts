import type { Serve } from "../../../core/serve.ts"
import * as ofNode from "../../../runtimes/node.ts"
import { portOf } from "../portOf.ts"

export const listen = (serve: Serve): Promise<number> =>
  portOf(ofNode.server(serve, { requestTimeout: 20_000, together: true }).server)
