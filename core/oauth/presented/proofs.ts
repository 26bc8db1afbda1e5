import { Result } from "effect"
import type { FaultClass } from "../../http/Fault.ts"
import { type Call, type Contract, type MetadataMembers, names, type Services } from "../../http/Route.ts"
import { InvalidDpopProof, UseDpopNonce } from "../../rules/Refusal.ts"
import { endpointUrl } from "../../workspace/Workspace.ts"
import { asksNonce } from "./nonce.ts"
import type { Nonces, Presentation, Proof } from "./Presentation.ts"

type Read = Result.Result<Proof | undefined, InvalidDpopProof | UseDpopNonce>

const none: Read = Result.succeed(undefined)

/**
 * What a request to one of the server's own endpoints shows that its client holds, by the first row that finds something.
 * It is held against the request before the client is authenticated: who has to come back with a nonce has spent nothing.
 */
export const proofReader = (
  services: Pick<Services, "presentations" | "signatures" | "nonces">
): ((call: Call) => Read) => {
  const rows = services.presentations.flatMap(({ proves }) => (proves === undefined ? [] : [proves]))
  return ({ endpoint, now, request, workspace }) => {
    for (const proves of rows) {
      const proof = proves(request, endpointUrl(workspace, endpoint), now, services, workspace)
      if (proof !== undefined) return proof
    }
    return none
  }
}

/** A contract as this server keeps it: without a row that proves anything, no request is refused for a proof. */
export const withProofFaults = <C extends Contract>(
  { policy, presentations }: Pick<Services, "policy" | "presentations">,
  at: Parameters<Nonces["judge"]>[0],
  contract: C
): C => {
  const isProven = presentations.some(({ proves }) => proves !== undefined)
  const isGiven = (fault: FaultClass) =>
    fault === InvalidDpopProof ? isProven : fault !== UseDpopNonce || (isProven && asksNonce(policy, at))
  // The types tell which faults there may be, and these are some of them.
  return { ...contract, faults: contract.faults.filter(isGiven) }
}

/** RFC 8414 §2, RFC 9728 §2: what the rows at work say of themselves. */
export const listsOf = (presentations: ReadonlyArray<Presentation>): Readonly<Record<string, ReadonlyArray<string>>> =>
  Object.assign({}, ...presentations.map(({ metadata }) => metadata))

export const presentationMetadata = ({ presentations }: Pick<Services, "presentations">): MetadataMembers =>
  Object.fromEntries(Object.entries(listsOf(presentations)).map(([name, list]) => [name, names(() => list)]))
