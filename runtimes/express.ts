/** `tessera/express`: Node's own middleware, with the type of `req.principal`. */
import type { Caller } from "./guard/Check.ts"

export { guard, type Mounted, type MountOptions, mount, type NodeAnswer, type NodeCall } from "./node.ts"

declare global {
  // Express's types look here for what middleware adds to a request.
  namespace Express {
    interface Request {
      /** Set behind `guard`. */
      principal?: Caller
    }
  }
}
