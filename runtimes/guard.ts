/** `tessera/guard`: what a resource server needs beside its framework's `guard`. */
import "./serve/platformHashing.ts"

export type { CallerKind, Needs } from "../core/oauth/presented/guard.ts"
export type {
  ApiKeyCaller,
  Caller,
  CallerOf,
  Check,
  Checked,
  Guard,
  GuardedCall,
  UserCaller,
  WorkspaceCaller
} from "./guard/Check.ts"
export { BadGuardOption, localGuard, principalOf } from "./guard/Check.ts"
export type { JwtGuardFailure, JwtGuardOptions } from "./guard/JwtGuardOptions.ts"
export { type JwtGuard, jwtGuard } from "./guard/jwtGuard.ts"
export type {
  IntrospectionFailure,
  MetadataOptions,
  OwnMetadata,
  RemoteGuardOptions
} from "./guard/RemoteGuardOptions.ts"
export { type AuditLine, type RemoteGuard, remoteGuard } from "./guard/remoteGuard.ts"
export type { ProofStorage } from "./guard/SeenProofs.ts"
