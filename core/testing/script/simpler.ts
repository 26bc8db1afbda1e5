import type { Command, Register, Step, Together } from "./Command.ts"

/** One copy for each property that is not plain yet, with that one made plain. */
const plainer = <S extends Step>(step: S, plain: Partial<S>): ReadonlyArray<S> =>
  // The keys of a Partial<S> are keys of S.
  (Object.keys(plain) as ReadonlyArray<keyof S>)
    .filter((key) => step[key] !== plain[key])
    .map((key) => ({ ...step, [key]: plain[key] }))

/** The plainest request, at the authorization endpoint or pushed. */
const plainest = {
  redirect: 0,
  twist: "as registered",
  scope: null,
  challenge: "S256",
  resource: "none",
  responseType: "code",
  state: null,
  jkt: undefined,
  nonce: undefined,
  maxAge: undefined,
  fresh: undefined,
  prompt: undefined,
  claims: undefined,
  hint: undefined,
  user: "ann"
} as const

/** Only one that signs has keys to change. */
const isPlain = ({ kind, redirects }: Register): boolean => redirects.length === 0 || kind === "signer"

const simplerStep = (step: Step): ReadonlyArray<Step> => {
  switch (step._tag) {
    case "Register":
      return [
        ...plainer(step, { odd: null, workspace: 0, isTold: undefined }),
        // What needs no redirect URI is of a kind that can be without. Never back from `public`, or there would be no end.
        ...(isPlain(step) ? [] : plainer(step, { kind: "public" })),
        ...(isPlain(step) || step.kind === "public" ? [] : plainer(step, { kind: "post" })),
        ...(step.redirects.length > 1 ? [{ ...step, redirects: step.redirects.slice(0, 1) }] : [])
      ]
    case "Authorize":
      return plainer(step, { ...plainest, twice: null })
    case "Push":
      return plainer(step, { ...plainest, proof: "post", signed: undefined, key: undefined })
    case "AskDevice":
      return plainer(step, { proof: "post", signed: undefined, scope: null, resource: "none" })
    case "Enter":
      return plainer(step, { by: "viewer", user: "ann" })
    case "Poll":
      return plainer(step, { proof: "post", signed: undefined, shows: "the device code", resource: "none" })
    case "Exchange":
      return plainer(step, { proof: "post", signed: undefined, scope: null, resource: "none" })
    case "Bring":
      return plainer(step, { proof: "post", signed: undefined, scope: null, resource: "none" })
    case "Attest":
      return plainer(step, { scope: null, resource: "none", subject: "ann", lives: 300 })
    case "SignOut":
      return plainer(step, { client: null, hint: null, target: "none", state: null, by: "viewer" })
    case "Decide":
      return plainer(step, { by: "viewer", decision: "approve", place: undefined })
    case "Redeem":
      return plainer(step, {
        proof: "post",
        signed: undefined,
        verifier: "right",
        redirect: "same",
        resource: "none",
        key: undefined
      })
    case "Refresh":
      return plainer(step, { proof: "post", signed: undefined, scope: null, resource: "none", key: undefined })
    case "ClientCredentials":
      return plainer(step, { proof: "post", signed: undefined, scope: null, resource: "none", key: undefined })
    case "Revoke":
      return plainer(step, { proof: "post", signed: undefined, hint: null })
    case "OwnGrant":
    case "Introspect":
      return plainer(step, { proof: "post", signed: undefined })
    case "Check":
      return plainer(step, { at: "companies", key: undefined })
    case "Wait":
      return step.millis > 1
        ? [1, Math.floor(step.millis / 2), step.millis - 1].map((millis) => ({ ...step, millis, until: "about then" }))
        : []
    case "Rekey":
      return plainer(step, { key: "first" })
    case "Publish":
    case "BlockHost":
    case "Visit":
    case "AllowExchange":
    case "AnswerClient":
    case "EndSession":
    case "TrustIssuer":
    case "Belong":
    case "EndAll":
    case "DeleteClient":
    case "Housekeeping":
      return []
  }
}

const simplerTogether = (together: Together): ReadonlyArray<Step | Together> => [
  ...together.steps,
  ...(together.steps.length > 2
    ? together.steps.map((left) => ({ ...together, steps: together.steps.filter((step) => step !== left) }))
    : []),
  ...together.steps.flatMap((step, at) =>
    simplerStep(step).map((simple) => ({ ...together, steps: together.steps.with(at, simple) }))
  )
]

const simplerUntroubled = (command: Step | Together): ReadonlyArray<Step | Together> =>
  command._tag === "Together" ? simplerTogether(command) : simplerStep(command)

/** What a command could be instead, if less were needed to see the same. */
export const simpler = (command: Command): ReadonlyArray<Command> =>
  command._tag === "Troubled"
    ? [
        command.during,
        ...(command.fault.write === 2 || command.fault.write === 3
          ? [{ ...command, fault: { ...command.fault, write: 1 } as const }]
          : []),
        ...simplerUntroubled(command.during).map((during) => ({ ...command, during }))
      ]
    : simplerUntroubled(command)
