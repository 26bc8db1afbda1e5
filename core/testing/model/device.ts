import type { AskDevice, Enter, Poll, Step } from "../script/Command.ts"
import { type ProofFacts, proofRules } from "./proof.ts"
import {
  type Alternative,
  errorsOf,
  type Facts,
  type Fault,
  firstThatHolds,
  inAnyOrder,
  type Outcome,
  type Rule,
  refused400,
  showsPage
} from "./Rule.ts"
import { type Target, targetAtAuthorize, targetAtToken } from "./resource.ts"
import {
  type Client,
  type Device,
  dead,
  type Grant,
  isAlive,
  type Page,
  type Scope,
  type State,
  sealingKey,
  withClient,
  withDevice,
  withGrant,
  withPage
} from "./State.ts"
import { grantable } from "./scope.ts"
import { withNewRefresh } from "./tokens.ts"
import { deviceTtl, pollInterval } from "./World.ts"

interface AskFacts extends ProofFacts {
  readonly command: AskDevice
  readonly scope: ReadonlyArray<Scope>
  readonly target: Target
}

const askFaults: ReadonlyArray<Fault<AskFacts>> = [
  {
    name: "a client that did not register for devices may not ask by one (RFC 6749 §5.2)",
    when: ({ presenter }) => presenter?.mayAskByDevice === false,
    errors: ["unauthorized_client"]
  },
  {
    name: "a device cannot ask for only scopes that nobody knows (RFC 6749 §3.3)",
    when: ({ scope }) => scope.length === 0,
    errors: ["invalid_scope"]
  },
  {
    name: "a resource of somebody else is no target of a device (RFC 8707 §2)",
    when: ({ target }) => target === "invalid",
    errors: ["invalid_target"]
  }
]

export const askDeviceRules: ReadonlyArray<Rule<AskFacts>> = [
  ...proofRules,
  ...inAnyOrder(askFaults, refused400),
  {
    name: "a device waits with a code for itself and one for a person (RFC 8628 §3.2)",
    when: () => true,
    gives: ({ command, presenter, scope, state, target, world }) =>
      presenter === undefined || target === "invalid"
        ? []
        : [
            {
              expect: { _tag: "DeviceWaits", issuer: world.issuers[presenter.workspace] },
              next: withDevice(state, {
                ref: command.id,
                client: presenter.ref,
                scope,
                resource: target.resource,
                key: sealingKey(state),
                until: state.now + deviceTtl,
                polls: {}
              })
            }
          ]
  }
]

export const askDevice = (facts: Facts, command: AskDevice): ReadonlyArray<Alternative> => {
  const presenter = facts.state.clients.get(command.client)
  return firstThatHolds(askDeviceRules, {
    ...facts,
    command,
    presenter,
    proof: command.proof,
    scope: grantable(command.scope, facts.world),
    target: targetAtAuthorize(command.resource, facts.world, presenter?.workspace ?? 0)
  })
}

/** What a person said to a device, if anything. */
const answerTo = (state: State, device: Device | undefined): Page["decided"] =>
  [...state.pages.values()].find(({ decided, request }) => request === device?.ref && decided !== null)?.decided ?? null

const isOpen = (state: State, device: Device | undefined): device is Device =>
  device !== undefined && state.keys.includes(device.key)

interface EnterFacts extends Facts {
  readonly command: Enter
  readonly device: Device | undefined
  readonly client: Client | undefined
}

export const enterRules: ReadonlyArray<Rule<EnterFacts>> = [
  {
    name: "a code that a forger enters leads nowhere",
    when: ({ command }) => command.by === "forger",
    gives: showsPage
  },
  {
    name: "no workspace finds the device of another",
    when: ({ client, command }) => client?.workspace !== command.workspace,
    gives: showsPage
  },
  {
    name: "a device of a deleted client is nobody's",
    when: ({ client }) => client?.isDeleted === true,
    gives: showsPage
  },
  {
    name: "a code under a key that was dropped leads nowhere",
    when: ({ device, state }) => !isOpen(state, device),
    gives: showsPage
  },
  {
    name: "a device that was answered waits no more",
    when: ({ device, state }) => answerTo(state, device) !== null,
    gives: showsPage
  },
  {
    name: "a code that is entered too late leads nowhere (RFC 8628 §3.2)",
    when: ({ device, state }) => device !== undefined && state.now >= device.until,
    gives: showsPage
  },
  {
    name: "who enters the code of a device is asked for consent, and looking uses nothing up (RFC 8628 §3.3)",
    when: () => true,
    gives: ({ command, device, state }) =>
      device === undefined
        ? []
        : [
            {
              expect: { _tag: "ConsentPage" },
              next: withPage(state, {
                ref: command.id,
                client: device.client,
                user: command.user,
                redirect: null,
                state: null,
                scope: device.scope,
                resource: device.resource,
                hasChallenge: false,
                boundTo: null,
                key: sealingKey(state),
                request: device.ref,
                until: device.until,
                decided: null,
                decidedBy: null
              })
            }
          ]
  }
]

export const enter = (facts: Facts, command: Enter): ReadonlyArray<Alternative> => {
  const device = facts.state.devices.get(command.device)
  return firstThatHolds(enterRules, {
    ...facts,
    command,
    device,
    client: device === undefined ? undefined : facts.state.clients.get(device.client)
  })
}

interface PollFacts extends ProofFacts {
  readonly command: Poll
  readonly device: Device | undefined
  readonly grant: Grant | undefined
  readonly answer: Page["decided"]
  readonly target: Target
}

const isForeign = ({ command, presenter, world }: PollFacts): boolean =>
  targetAtAuthorize(command.resource, world, presenter?.workspace ?? 0) === "invalid"

const foreignTarget: Fault<PollFacts> = {
  name: "a resource of somebody else is no target for a device code (RFC 8707 §2)",
  when: isForeign,
  errors: ["invalid_target"]
}

/** How long ago this client polled with this code. */
const sinceLast = ({ device, presenter, state }: PollFacts): number =>
  state.now - (device?.polls[presenter?.ref ?? 0] ?? Number.NEGATIVE_INFINITY)

/** The pace of a client is its own, whatever its poll comes to. */
export const paced = (state: State, step: Step): State => {
  const device = step._tag === "Poll" ? state.devices.get(step.device) : undefined
  return step._tag === "Poll" && device !== undefined
    ? withDevice(state, { ...device, polls: { ...device.polls, [step.by]: state.now } })
    : state
}

const isPending = ({ answer, grant }: PollFacts): boolean => answer !== "deny" && grant === undefined

const polled =
  (...error: ReadonlyArray<string>) =>
  (facts: PollFacts): ReadonlyArray<Outcome> => [
    { expect: { _tag: "Refused", status: [400], error }, next: paced(facts.state, facts.command) }
  ]

const isOver = ({ device, state }: PollFacts): boolean => device !== undefined && state.now >= device.until

/** What a poll comes to that is neither too early nor wrong whatever the device is. */
const answerRules: ReadonlyArray<Rule<PollFacts>> = [
  {
    name: "another client's attempt on a device code changes nothing",
    when: ({ device, presenter }) => device?.client !== presenter?.ref,
    // Once it was swept, whose it was is not known any more.
    gives: (facts) => polled("invalid_grant", ...(isOver(facts) ? ["expired_token"] : []))(facts)
  },
  {
    name: "a device that a person denied is told so (RFC 8628 §3.5)",
    when: ({ answer }) => answer === "deny",
    gives: (facts) => polled("access_denied", ...(isOver(facts) ? ["expired_token"] : []))(facts)
  },
  {
    name: "a device that polls too late has to begin anew (RFC 8628 §3.5)",
    when: isOver,
    gives: polled("expired_token")
  },
  {
    name: "a device that nobody has answered yet waits (RFC 8628 §3.5)",
    when: isPending,
    gives: polled("authorization_pending")
  },
  {
    name: "a device code that is used twice kills its grant",
    // Or one that is dead already: an approval that was taken back.
    when: ({ grant, state }) => grant !== undefined && (grant.generation > 0 || !isAlive(state, grant)),
    gives: ({ command, grant, state }) =>
      grant === undefined
        ? []
        : [
            {
              expect: { _tag: "Refused", status: [400], error: ["invalid_grant"] },
              next: dead(paced(state, command), grant, "device code used twice")
            }
          ]
  },
  {
    name: "a device cannot have a resource beyond what was approved, and asking uses nothing up (RFC 8707 §2.2)",
    when: ({ target }) => target === "invalid",
    gives: polled("invalid_target")
  },
  {
    name: "what a person approved turns into tokens once (RFC 8628 §3.5)",
    when: () => true,
    gives: (facts) => {
      const { command, grant, presenter, state, target } = facts
      if (grant === undefined || presenter === undefined || target === "invalid") return []
      const active: Grant = { ...grant, generation: 1, turnedAt: state.now }
      const next = withClient(withGrant(paced(state, command), active), { ...presenter, hasCompletedAFlow: true })
      const { resource } = target
      return withNewRefresh(facts, next, {
        ref: command.id,
        grant: active,
        scope: grant.scope,
        resource,
        boundTo: null
      })
    }
  }
]

/** The way has taken a second of the interval, at most. */
const onTheWay = 1000

export const pollRules: ReadonlyArray<Rule<PollFacts>> = [
  ...proofRules,
  {
    name: "a client that did not register for devices may not poll (RFC 6749 §5.2)",
    when: ({ presenter }) => presenter?.mayAskByDevice === false,
    gives: refused400("unauthorized_client")
  },
  {
    name: "a text that is no device code, or one of another key ring or workspace, is refused (RFC 6749 §5.2)",
    when: ({ command, device, presenter, state }) =>
      command.shows !== "the device code" ||
      !isOpen(state, device) ||
      state.clients.get(device.client)?.workspace !== presenter?.workspace,
    gives: (facts) => refused400("invalid_grant", ...errorsOf([foreignTarget], facts))(facts)
  },
  {
    name: foreignTarget.name,
    when: foreignTarget.when,
    // Whether such a poll counts for the pace is not said anywhere.
    gives: (facts) => [
      ...refused400("invalid_target")(facts),
      ...polled("invalid_target")(facts),
      ...(sinceLast(facts) < pollInterval ? refused400("slow_down")(facts) : [])
    ]
  },
  {
    name: "a device that polls before its interval is over is told to slow down (RFC 8628 §3.5)",
    when: (facts) => sinceLast(facts) < pollInterval,
    gives: (facts) => [
      ...refused400("slow_down")(facts),
      ...(isPending(facts) && sinceLast(facts) < pollInterval - onTheWay ? [] : firstThatHolds(answerRules, facts))
    ]
  },
  ...answerRules
]

export const poll = (facts: Facts, command: Poll): ReadonlyArray<Alternative> => {
  const presenter = facts.state.clients.get(command.by)
  const device = facts.state.devices.get(command.device)
  const grant = [...facts.state.grants.values()].find(({ page }) => device !== undefined && page === device.ref)
  return firstThatHolds(pollRules, {
    ...facts,
    command,
    presenter,
    proof: command.proof,
    device,
    grant,
    answer: answerTo(facts.state, device),
    target: targetAtToken(command.resource, device?.resource ?? null, facts.world, presenter?.workspace ?? 0)
  })
}
