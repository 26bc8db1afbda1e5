import { type ClientKind, hasNoSecret, type OddRegistration, type Register } from "../script/Command.ts"
import { ownGrantTypes } from "./ownGrant.ts"
import { type Alternative, type Facts, firstThatHolds, type Rule, refused } from "./Rule.ts"
import { keptWhenRegistered, sealingKey, withClient } from "./State.ts"
import type { World } from "./World.ts"

export const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code"

/** RFC 7523 §2.1. */
export const assertionGrant = "urn:ietf:params:oauth:grant-type:jwt-bearer"

interface RegisterFacts extends Facts {
  readonly command: Register
}

const badRedirects: ReadonlySet<OddRegistration | null> = new Set<OddRegistration>([
  "fragment",
  "http elsewhere",
  "scheme without a dot",
  "javascript",
  "relative"
])

/** No client of a script is an owner's, save those that bring assertions. */
const grantsOf = (kind: ClientKind, world: World): ReadonlyArray<string> => {
  const alone = world.workspaceAccess === "owner" ? [] : ["client_credentials"]
  if (kind === "service") return alone
  if (kind === "enterprise") return [assertionGrant]
  if (kind === "device") return [deviceGrant, "refresh_token"]
  const code = ["authorization_code", "refresh_token"]
  if (kind === "device with a secret") return [...code, deviceGrant]
  if (kind === "signer") return [...code, ...alone]
  return kind === "both" ? [...code, ...alone, ...ownGrantTypes(world).map(({ name }) => name)] : code
}

export const registerRules: ReadonlyArray<Rule<RegisterFacts>> = [
  {
    name: "a redirect URI that must not be is refused (RFC 7591 §3.2.2)",
    when: ({ command }) => badRedirects.has(command.odd),
    gives: refused(400, "invalid_redirect_uri")
  },
  {
    name: "a client for codes needs a redirect URI (RFC 7591 §2)",
    when: ({ command }) => command.odd === "no redirects",
    gives: refused(400, "invalid_redirect_uri", "invalid_client_metadata")
  },
  {
    name: "metadata that makes no sense is refused (RFC 7591 §3.2.2)",
    when: ({ command }) => command.odd !== null,
    gives: refused([400, 415], "invalid_client_metadata", "invalid_request")
  },
  {
    name: "a client that is left nothing that it may do is refused (RFC 7591 §3.2.2)",
    when: ({ command, world }) => grantsOf(command.kind, world).length === 0,
    gives: refused(400, "invalid_client_metadata")
  },
  {
    name: "a client is registered with what it may do (RFC 7591 §3.2.1)",
    when: () => true,
    gives: ({ state, command, world }) => {
      const grants = grantsOf(command.kind, world)
      const isPublic = hasNoSecret(command.kind)
      const own = world.methods.find(({ name }) => command.kind === `by ${name}`)
      const hasSecret = own?.issuesSecret ?? !(isPublic || command.kind === "signer")
      const ownGrants = ownGrantTypes(world).flatMap(({ name }) => (grants.includes(name) ? [name] : []))
      // An owner's is written at once, and one that a grant type of the host's own may give tokens before.
      const isHeld = world.rowsAtConsent === true && command.kind !== "enterprise" && ownGrants.length === 0
      return [
        {
          expect: { _tag: "Registered", hasSecret, grants },
          next: withClient(state, {
            ref: command.id,
            workspace: command.workspace,
            isPublic,
            isTold: command.isTold === true,
            mayUseCodes: grants.includes("authorization_code"),
            mayActAlone: grants.includes("client_credentials"),
            mayAskByDevice: grants.includes(deviceGrant),
            signsWith: command.kind === "signer" ? "first" : null,
            bringsAssertions: grants.includes(assertionGrant),
            ownGrants,
            redirects: command.redirects,
            serves: null,
            answer: null,
            keptUntil: state.now + keptWhenRegistered,
            hasCompletedAFlow: command.kind === "enterprise",
            heldUnder: isHeld ? sealingKey(state) : null,
            isDeleted: false,
            deletedAt: null
          })
        }
      ]
    }
  }
]

export const register = (facts: Facts, command: Register): ReadonlyArray<Alternative> =>
  firstThatHolds(registerRules, { ...facts, command })
