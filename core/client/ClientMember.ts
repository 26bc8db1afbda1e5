import { Option, Schema } from "effect"
import type { Policy } from "../rules/Policy.ts"
import type { Client, ClientMaker } from "./Client.ts"

/** What a member is held against when a client registers. */
export interface MemberStep<A> {
  /** All that the client sends, read by the tables. */
  readonly request: Readonly<Record<string, unknown>>
  /** The grant types that it comes to have, by their names. */
  readonly grantTypes: ReadonlyArray<string>
  /** Its `token_endpoint_auth_method`. */
  readonly method: string
  /** Whether that method keeps keys of the client's, by which it may sign more than its assertions. */
  readonly signs: boolean
  /** What it had before, where a registration is changed. */
  readonly kept: A | undefined
  /** Who asks: an owner may loosen what a client may only tighten. */
  readonly by: ClientMaker
  readonly policy: Policy
}

/** A member of registration (RFC 7591 §2) beside those of every client, as a feature writes it. */
interface ClientMemberRow<A> {
  readonly name: string
  /** It is about what clients sign: a server without an adapter for `Signatures` goes without the row. */
  readonly signs?: true
  /** Of the value as it is sent, kept and told: plain JSON. */
  readonly schema: Schema.Decoder<A>
  /**
   * Why this client cannot have the value, in words for who registers it; `undefined` where it can. Asked for a member
   * that was not sent too, so that a rule may need one.
   */
  readonly fault?: (value: A | undefined, step: MemberStep<A>) => string | undefined
}

/** A row of the table of members, which has rows of all kinds. */
export interface ClientMember<A = unknown> {
  readonly name: string
  readonly signs?: true
  readonly schema: Schema.Top
  /** Why the client cannot register what it sent. */
  readonly fault: (
    step: Omit<MemberStep<unknown>, "kept">,
    before: Pick<Client, "members"> | undefined
  ) => string | undefined
  /** What the client registered; `undefined` where it did not, or where an earlier release took what this one does not. */
  readonly of: (client: Pick<Client, "members">) => A | undefined
}

export const clientMember = <A>({ fault, name, schema, signs }: ClientMemberRow<A>): ClientMember<A> => {
  const decode = Schema.decodeUnknownOption(schema)
  const read = (value: unknown): A | undefined =>
    value === undefined ? undefined : Option.getOrUndefined(decode(value))
  const of = ({ members }: Pick<Client, "members">): A | undefined =>
    members === undefined ? undefined : read(members[name])
  return {
    name,
    ...(signs === undefined ? {} : { signs }),
    schema,
    of,
    fault: (step, before) =>
      fault?.(read(step.request[name]), { ...step, kept: before === undefined ? undefined : of(before) })
  }
}

/** What of a registration's members the client's record keeps; `undefined` where it sent none of them. */
export const membersIn = (
  rows: ReadonlyArray<ClientMember>,
  request: Readonly<Record<string, unknown>>
): Client["members"] => {
  const sent = rows.flatMap(({ name }) => (request[name] === undefined ? [] : [[name, request[name]] as const]))
  return sent.length === 0 ? undefined : Object.fromEntries(sent)
}

/** RFC 7591 §3.2.1: what of it this server knows, as the client is told it. */
export const membersTold = (
  rows: ReadonlyArray<ClientMember>,
  client: Pick<Client, "members">
): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    rows.flatMap(({ name, of }) => {
      const value = of(client)
      return value === undefined ? [] : [[name, value]]
    })
  )
