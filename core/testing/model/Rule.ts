import type { Expectation } from "./Expectation.ts"
import type { Reading, State } from "./State.ts"
import type { World } from "./World.ts"

/** One way in which a command may come out. */
export interface Outcome {
  readonly expect: Expectation
  readonly next: State
}

export interface Alternative extends Outcome {
  /** The row of the table that says so. */
  readonly rule: string
}

/** What every row may look at. */
export interface Facts {
  readonly world: World
  readonly state: State
  /** Rows that are left out, to see that something notices. */
  readonly without: ReadonlySet<string>
  /** What the document of the asking client came to, where the request is about one. */
  readonly reading?: Reading | undefined
}

/** A row: the first whose condition holds decides. */
export interface Rule<F> {
  readonly name: string
  readonly when: (facts: F) => boolean
  readonly gives: (facts: F) => ReadonlyArray<Outcome>
}

export const firstThatHolds = <F extends Facts>(
  rules: ReadonlyArray<Rule<F>>,
  facts: F
): ReadonlyArray<Alternative> => {
  const row = rules.find((rule) => !facts.without.has(rule.name) && rule.when(facts))
  return row === undefined ? [] : row.gives(facts).map((outcome) => ({ ...outcome, rule: row.name }))
}

/** A refusal that changes nothing. */
export const refused =
  (status: number | ReadonlyArray<number>, ...error: ReadonlyArray<string>) =>
  ({ state }: Facts): ReadonlyArray<Outcome> => [
    { expect: { _tag: "Refused", status: typeof status === "number" ? [status] : status, error }, next: state }
  ]

/** A page for the person, that changes nothing. */
export const showsPage = ({ state }: Facts): ReadonlyArray<Outcome> => [{ expect: { _tag: "Page" }, next: state }]

/** What a request needs cannot be had now: to come again, without a word about who asks. */
export const away = ({ state }: Facts): ReadonlyArray<Outcome> => [{ expect: { _tag: "Away" }, next: state }]

/** Something wrong with a request that changes nothing. */
export interface Fault<F> {
  readonly name: string
  readonly when: (facts: F) => boolean
  readonly errors: ReadonlyArray<string>
}

/** The codes of all that is wrong with a request in these ways. */
export const errorsOf = <F>(faults: ReadonlyArray<Fault<F>>, facts: F): ReadonlyArray<string> =>
  faults.filter((fault) => fault.when(facts)).flatMap((fault) => fault.errors)

/** Rows for faults of which any may be told first, where a request has several: no document sets an order. */
export const inAnyOrder = <F extends Facts>(
  faults: ReadonlyArray<Fault<F>>,
  told: (...errors: ReadonlyArray<string>) => (facts: F) => ReadonlyArray<Outcome>
): ReadonlyArray<Rule<F>> =>
  faults.map(({ name, when, errors }) => ({
    name,
    when,
    gives: (facts) => told(...errors, ...errorsOf(faults, facts))(facts)
  }))

export const refused400 = (...errors: ReadonlyArray<string>) => refused(400, ...errors)
