import { type ClientKind, hasNoSecret, type OddRegistration, type Register } from "../script/Command.ts"
import { ownGrantTypes } from "./ownGrant.ts"
import { type Alternative, type Facts, firstThatHolds, type Rule, refused } from "./Rule.ts"
import { type Client, keptWhenRegistered, sealingKey, withClient } from "./State.ts"
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

const madeBy = ({ command, state, world }: RegisterFacts): Client => {
  const grants = grantsOf(command.kind, world)
  const ownGrants = ownGrantTypes(world).flatMap(({ name }) => (grants.includes(name) ? [name] : []))
  // An owner's is written at once, and one that a grant type of the host's own may give tokens before.
  const isHeld = world.rowsAtConsent === true && command.kind !== "enterprise" && ownGrants.length === 0
  return {
    ref: command.id,
    workspace: command.workspace,
    isPublic: hasNoSecret(command.kind),
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
  }
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
    name: "a program with a metadata document is its address, and asks nobody (Client ID Metadata Document §3)",
    when: ({ command }) => command.kind === "document",
    gives: (facts) => [
      {
        expect: { _tag: "Published" },
        next: withClient(facts.state, {
          ...madeBy(facts),
          heldUnder: null,
          document: { says: "all", copy: null, record: null, restsUntil: 0, isBlocked: false }
        })
      }
    ]
  },
  {
    name: "a client is registered with what it may do (RFC 7591 §3.2.1)",
    when: () => true,
    gives: (facts) => {
      const { state, command, world } = facts
      const own = world.methods.find(({ name }) => command.kind === `by ${name}`)
      const hasSecret = own?.issuesSecret ?? !(hasNoSecret(command.kind) || command.kind === "signer")
      return [
        {
          expect: { _tag: "Registered", hasSecret, grants: grantsOf(command.kind, world) },
          next: withClient(state, madeBy(facts))
        }
      ]
    }
  }
]

export const register = (facts: Facts, command: Register): ReadonlyArray<Alternative> =>
  firstThatHolds(registerRules, { ...facts, command })
