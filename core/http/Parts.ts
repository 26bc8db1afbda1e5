import type { Grant } from "../grant/Grant.ts"
import type { Audit } from "../ports/Audit.ts"
import type { Entropy } from "../ports/Entropy.ts"
import type { Limiter } from "../ports/Limiter.ts"
import type { Pages } from "../ports/Pages.ts"
import type { RegistrationPolicy } from "../ports/RegistrationPolicy.ts"
import type { ResourceOwner } from "../ports/ResourceOwner.ts"
import type { Storage } from "../ports/Storage.ts"
import type { Policy } from "../rules/Policy.ts"
import type { Clients } from "../server/Clients.ts"
import type { Grants } from "../server/Grants.ts"
import type { Records } from "../server/Records.ts"
import type { Usage } from "../server/Usage.ts"
import type { Keys } from "../token/KeyRing.ts"

/** What endpoints are made of. */
export interface Parts {
  readonly policy: Policy
  readonly storage: Storage["Service"]
  readonly entropy: Entropy["Service"]
  readonly keys: Keys["Service"]
  readonly audit: Audit["Service"]
  readonly owner: ResourceOwner["Service"]
  readonly registration: RegistrationPolicy["Service"]
  readonly pages: Pages["Service"]
  readonly grantRecords: Records<Grant>
  readonly clients: Clients
  readonly grants: Grants
  readonly usage: Usage
  readonly limiter: Limiter["Service"]
}
