import { Console, type Effect, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import type { StorageRefused } from "../../adapters/StoreKind.ts"
import type { RegistrationFault } from "../../core/client/register.ts"
import type { BadResource } from "../../core/engine/administerWorkspace.ts"
import type { HostingRefused } from "../../core/engine/Hosting.ts"
import type { OtherIssuer } from "../../core/engine/Openings.ts"
import { type BadKeyTerms, keyNameLength } from "../../core/grant/apiKey.ts"
import type { AccountRefusal } from "../../core/people/Account.ts"
import { type BadPlace, placeDetailLength, placeIdLength, placeLabelLength } from "../../core/people/places.ts"
import type { StorageUnavailable } from "../../core/ports/Storage.ts"
import type { Contended, Overloaded, PortUnavailable } from "../../core/rules/Refusal.ts"
import type { CannotListen } from "../server/Listen.ts"
import type { SealKeysRefused } from "../server/SealKeyFile.ts"
import type { WrongSettings } from "../server/Variable.ts"

/** What the exit status of a command says. */
export const exitStatus = { done: 0, failed: 1, usage: 2, notFound: 3, refused: 4 } as const

/** A command did not do what it was asked. `message` is for its user. */
export class CommandFailed extends Schema.TaggedError<CommandFailed>()("CommandFailed", {
  status: Schema.Literals([exitStatus.failed, exitStatus.usage, exitStatus.notFound, exitStatus.refused]),
  message: Schema.String
}) {}

export const failed = (message: string) => new CommandFailed({ status: exitStatus.failed, message })
export const misused = (message: string) => new CommandFailed({ status: exitStatus.usage, message })
export const notFound = (message: string) => new CommandFailed({ status: exitStatus.notFound, message })
export const refused = (message: string) => new CommandFailed({ status: exitStatus.refused, message })

/** What one look at one thing came to. */
export interface Finding {
  readonly what: string
  readonly state: "good" | "doubtful" | "bad"
  readonly says: string
  /** What to do about it. */
  readonly advice?: string
}

export const good = (what: string, says: string): Finding => ({ what, state: "good", says })
export const doubtful = (what: string, says: string, advice: string): Finding => ({
  what,
  state: "doubtful",
  says,
  advice
})
export const bad = (what: string, says: string, advice: string): Finding => ({ what, state: "bad", says, advice })

/** Everything that a command may come to. */
export type Trouble =
  | CommandFailed
  | WrongSettings
  | SealKeysRefused
  | StorageRefused
  | CannotListen
  | OtherIssuer
  | StorageUnavailable
  | Contended
  | Overloaded
  | AccountRefusal
  | RegistrationFault
  | PortUnavailable
  | BadKeyTerms
  | HostingRefused
  | BadResource
  | BadPlace

/** What it means to the user of the command. `partly`: it had written something by then. */
export const explain = (trouble: Trouble, partly = false): CommandFailed => {
  switch (trouble._tag) {
    case "CommandFailed":
      return trouble
    case "WrongSettings":
      return misused(trouble.message)
    case "SealKeysRefused":
    case "StorageRefused":
    case "CannotListen":
    case "OtherIssuer":
      return failed(trouble.message)
    case "StorageUnavailable":
      return failed(
        trouble.outcome === "unknown"
          ? `The storage did not answer; look whether it was done. ${trouble.message}`
          : `The storage did not answer; ${partly ? partDone : "nothing was changed"}. ${trouble.message}`
      )
    case "Contended":
    case "Overloaded":
      return failed(
        partly
          ? `Too much was going on at once; ${partDone}.`
          : "Too much was going on at once. Nothing was changed; try again."
      )
    case "PortUnavailable":
      return failed(`It cannot be done here: ${trouble.reason}.`)
    case "InvalidClientMetadata":
    case "InvalidRedirectUri":
      return misused(trouble.message)
    case "BadKeyTerms":
      return misused(keyProblems[trouble.reason])
    case "BadResource":
      return resourceProblems[trouble.reason]
    case "BadPlace":
      return explainPlace(trouble)
    case "AccountRefusal":
      return accountProblems[trouble.reason] ?? refused(`It was refused: ${trouble.reason}.`)
    case "HostingRefused":
      return trouble.reason === "unknown" ? notFound(unknownWorkspace) : refused(hostingProblems[trouble.reason])
  }
}

const partDone = "a part was done before that: look how far it came, and run it again for the rest"

export const unknownWorkspace = "There is no such workspace; `tessera workspace list` names all."

const hostingProblems = {
  id_taken: "Another workspace has this id.",
  address_taken: "Another workspace has this issuer."
} as const

const keyProblems = {
  no_name: "Give the key a name that people can read.",
  long_name: `The name is too long; ${keyNameLength} characters are the most.`,
  scopes: "Name scopes that this server has, and at least one.",
  lifetime:
    "A key lasts for a millisecond at least and a hundred years at most. Leave the end out for one that never ends."
} as const satisfies Record<BadKeyTerms["reason"], string>

const resourceProblems = {
  address: misused("That is no https URL (or http on this machine) as browsers write it, without query or fragment."),
  name: misused("Give it a name that people can read."),
  scopes: misused("Name scopes that this server has."),
  life: misused("Access tokens last for a second at least."),
  listed: refused("It is listed already."),
  full: refused("So many are listed that there is no room for another. Remove one, or list them in a RESOURCES file.")
} as const satisfies Record<BadResource["reason"], CommandFailed>

const explainPlace = ({ reason, unknown = [] }: BadPlace): CommandFailed =>
  reason === "scopes" ? misused(`This workspace has no scope ${unknown.join(" ")}.`) : placeProblems[reason]

const placeProblems = {
  id: misused(`The id of a place has at most ${placeIdLength} letters, digits and signs, and no space.`),
  label: misused(`Give it a label that people can read, of at most ${placeLabelLength} characters.`),
  detail: misused(`Its detail has to be readable, and of at most ${placeDetailLength} characters.`),
  full: refused("The person has no room for another. Remove one, or wait a quarter of an hour.")
} as const satisfies Record<Exclude<BadPlace["reason"], "scopes">, CommandFailed>

/** No command comes to the others. */
const accountProblems: { readonly [reason in AccountRefusal["reason"]]?: CommandFailed } = {
  email_malformed: misused("That is no email address."),
  name_too_long: misused("The name is too long."),
  password_too_short: refused("The password is too short; ten characters are the least."),
  password_too_long: refused("The password is too long."),
  password_too_plain: refused("The password is among the first that are guessed."),
  password_is_email: refused("The password is the email address, or a part of it."),
  email_taken: refused("An account with this email exists already."),
  last_owner: refused("The workspace has no other owner. Add one first."),
  unknown: notFound("There is no such account.")
}

export const examples = (...commands: ReadonlyArray<string>) =>
  Command.withExamples(commands.map((command) => ({ command })))

/** A text that may be left out. */
export const textFlag = (name: string, description: string) =>
  Flag.String(name).pipe(Flag.withDescription(description), Flag.optional)

/** Something to be done only where it is said. */
export const switchFlag = (name: string, description: string) =>
  Flag.Boolean(name).pipe(Flag.withDescription(description), Flag.withDefault(false))

/** For scripts: one JSON value on standard output, and nothing else there. */
export const json = switchFlag("json", "Print JSON, for scripts")

/** Names come from strangers: nothing that they hold may steer a terminal. */
const printable = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, "\ufffd")

/** Either as JSON or as lines. */
export const print = (asJson: boolean, value: unknown, lines: ReadonlyArray<string>): Effect.Effect<void> =>
  Console.log(asJson ? JSON.stringify(value, undefined, 2) : lines.map(printable).join("\n"))

/** There may be more of them than a function takes arguments. */
const widest = <A>(all: ReadonlyArray<A>, textOf: (one: A) => string): number =>
  all.reduce((width, one) => Math.max(width, textOf(one).length), 0)

/** Columns as wide as what stands in them. */
export const table = (
  head: ReadonlyArray<string>,
  rows: ReadonlyArray<ReadonlyArray<string>>
): ReadonlyArray<string> => {
  const all = [head, ...rows.map((row) => row.map(printable))]
  const widths = head.map((_, column) => widest(all, (row) => row[column] ?? ""))
  return all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd()
  )
}

/** Names and values, one to a line. */
export const facts = (pairs: ReadonlyArray<readonly [name: string, value: string]>): ReadonlyArray<string> => {
  const width = widest(pairs, ([name]) => name)
  return pairs.map(([name, value]) => `${name.padEnd(width)}  ${value}`)
}

export const timeText = (millis: number | null): string => (millis === null ? "-" : new Date(millis).toISOString())
