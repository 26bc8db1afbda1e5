import type { ClientKind, OddRegistration, Register } from "../script/Command.ts"
import { type Alternative, type Facts, firstThatHolds, type Rule, refused } from "./Rule.ts"
import { withClient } from "./State.ts"

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

const grantsOf = (kind: ClientKind): ReadonlyArray<string> => {
  if (kind === "service") return ["client_credentials"]
  const code = ["authorization_code", "refresh_token"]
  return kind === "both" ? [...code, "client_credentials"] : code
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
    name: "a client is registered with what it may do (RFC 7591 §3.2.1)",
    when: () => true,
    gives: ({ state, command }) => {
      const grants = grantsOf(command.kind)
      const isPublic = command.kind === "public"
      return [
        {
          expect: { _tag: "Registered", isPublic, grants },
          next: withClient(state, {
            ref: command.id,
            workspace: command.workspace,
            isPublic,
            mayUseCodes: grants.includes("authorization_code"),
            mayActAlone: grants.includes("client_credentials"),
            redirects: command.redirects,
            registeredAt: state.now,
            hasCompletedAFlow: false,
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
