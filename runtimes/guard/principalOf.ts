import type { Caller } from "./Caller.ts"

const callers = new WeakMap<object, Caller>()

/**
 * Who calls, of a request that `expressGuard` or `fastifyGuard` has admitted; `undefined` where neither stands before the
 * route. The other guards hand the caller over themselves.
 */
export const principalOf = (request: object): Caller | undefined => callers.get(request)

/** Beside the request, and on it by the name that its framework's users look for. */
export const admit = <R extends object>(request: R, principal: Caller): void => {
  callers.set(request, principal)
  Object.assign(request, { principal })
}
