/** `tessera/guard`: what stands before the routes of a resource server. */
export type { Needs } from "../../core/oauth/presented/guard.ts"
export type { ApiKeyCaller, Caller, Check, Checked, Guard, GuardedCall, UserCaller, WorkspaceCaller } from "./Check.ts"
export { BadGuardOption, localGuard, principalOf } from "./Check.ts"
export { type ElysiaContext, elysiaGuard } from "./elysia.ts"
export { fetchGuard, type GuardVariables, type HonoContext, honoGuard } from "./fetch.ts"
export type { NodeCall } from "./node.ts"
export {
  expressGuard,
  type FastifyReply,
  type FastifyRequest,
  fastifyGuard,
  type KoaContext,
  koaGuard,
  type NodeAnswer
} from "./node.ts"
export type { IntrospectionFailure, RemoteGuardOptions } from "./RemoteGuardOptions.ts"
export { type RemoteGuard, remoteGuard } from "./remoteGuard.ts"
