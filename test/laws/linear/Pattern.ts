import type { Dice } from "../../../core/testing/Dice.ts"

/**
 * A pattern as a machine that counts. The engines of the runtimes skip work in ways of their own; a machine that only
 * backtracks does at most what ECMAScript describes, so what is linear here is linear in all of them.
 */
export interface Pattern {
  /** How many steps a search through the whole text takes, from each match to the next; `most` ends it. */
  readonly steps: (text: string, most: number) => number
  /** Characters that mean something to the pattern, and one that does not. */
  readonly alphabet: ReadonlyArray<string>
  /** Those that several of its repetitions take: which of them took how much is what an engine may try in all ways. */
  readonly ambiguous: ReadonlyArray<string>
  /** A text that the pattern may well match, assertions aside. */
  readonly sample: (dice: Dice) => string
}

type Op =
  | { readonly _tag: "Char"; readonly fits: (character: string) => boolean }
  | { readonly _tag: "Split"; first: number; second: number }
  | { readonly _tag: "Jump"; to: number }
  /** Marks where a round of a loop began, so that a round that takes nothing is the last. */
  | { readonly _tag: "Enter"; readonly loop: number }
  | { readonly _tag: "Progress"; readonly loop: number }
  | { readonly _tag: "Look"; readonly ahead: boolean; readonly wanted: boolean; readonly program: ReadonlyArray<Op> }
  | { readonly _tag: "Start" | "End" | "Boundary" | "Match" }

type Node =
  | { readonly _tag: "Atom"; readonly source: string }
  | { readonly _tag: "Assertion"; readonly kind: "Start" | "End" | "Boundary" }
  | { readonly _tag: "Look"; readonly ahead: boolean; readonly wanted: boolean; readonly inner: Node }
  | { readonly _tag: "All"; readonly nodes: ReadonlyArray<Node> }
  | { readonly _tag: "Any"; readonly nodes: ReadonlyArray<Node> }
  | {
      readonly _tag: "Repeat"
      readonly least: number
      readonly most: number
      readonly lazy: boolean
      readonly inner: Node
    }

const quantifier = /^(?:[*+?]|\{(\d+)(,?)(\d*)\})/
const atom =
  /^(?:\\(?:[pP]\{[^}]*\}|u\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|.)|\[\^?(?:\\.|[^\]\\])*\]|[^\\])/su

const parse = (source: string): Node => {
  let at = 0
  const rest = () => source.slice(at)
  const skip = (text: string): boolean => {
    if (!source.startsWith(text, at)) return false
    at += text.length
    return true
  }
  const inner = (): Node => {
    const node = choice()
    if (!skip(")")) throw new Error(`a group without an end in ${source}`)
    return node
  }
  const one = (): Node => {
    if (skip("^")) return { _tag: "Assertion", kind: "Start" }
    if (skip("$")) return { _tag: "Assertion", kind: "End" }
    if (skip("\\b")) return { _tag: "Assertion", kind: "Boundary" }
    if (skip("(?:")) return inner()
    if (skip("(?=")) return { _tag: "Look", ahead: true, wanted: true, inner: inner() }
    if (skip("(?!")) return { _tag: "Look", ahead: true, wanted: false, inner: inner() }
    if (skip("(?<=")) return { _tag: "Look", ahead: false, wanted: true, inner: inner() }
    if (skip("(?<!")) return { _tag: "Look", ahead: false, wanted: false, inner: inner() }
    const named = /^\(\?<[A-Za-z]\w*>/.exec(rest())?.[0]
    if (named !== undefined && skip(named)) return inner()
    if (source.startsWith("(?", at)) throw new Error(`a group of a kind that is not counted in ${source}`)
    if (skip("(")) return inner()
    const text = atom.exec(rest())?.[0]
    if (text === undefined || /^\\[1-9kB]/.test(text)) throw new Error(`not counted: ${rest()} in ${source}`)
    at += text.length
    return { _tag: "Atom", source: text }
  }
  const sequence = (): Node => {
    const nodes: Array<Node> = []
    while (at < source.length && source[at] !== "|" && source[at] !== ")") {
      const node = one()
      const found = quantifier.exec(rest())
      if (found === null) {
        nodes.push(node)
        continue
      }
      at += found[0].length
      const [sign, least, comma, most] = found
      const bounds =
        least === undefined
          ? { least: sign === "+" ? 1 : 0, most: sign === "?" ? 1 : Number.POSITIVE_INFINITY }
          : {
              least: Number(least),
              most: most !== "" ? Number(most) : comma === "" ? Number(least) : Number.POSITIVE_INFINITY
            }
      nodes.push({ _tag: "Repeat", ...bounds, lazy: skip("?"), inner: node })
    }
    return { _tag: "All", nodes }
  }
  const choice = (): Node => {
    const nodes = [sequence()]
    while (skip("|")) nodes.push(sequence())
    return nodes.length === 1 && nodes[0] !== undefined ? nodes[0] : { _tag: "Any", nodes }
  }
  const node = choice()
  if (at !== source.length) throw new Error(`read up to ${at} only: ${source}`)
  return node
}

const fitter = (source: string, flags: string): ((character: string) => boolean) => {
  const single = new RegExp(`^(?:${source})$`, flags.replace(/[gym]/g, ""))
  const known = new Map<string, boolean>()
  return (character) => {
    const before = known.get(character)
    if (before !== undefined) return before
    const fits = single.test(character)
    known.set(character, fits)
    return fits
  }
}

/** Written backwards for a look behind, which reads from right to left. */
const compile = (node: Node, flags: string, backwards = false): ReadonlyArray<Op> => {
  const ops: Array<Op> = []
  let loops = 0
  const split = (lazy: boolean): { readonly go: () => void; readonly leave: () => void } => {
    const op: Op = { _tag: "Split", first: 0, second: 0 }
    ops.push(op)
    const set = (isFirst: boolean) => () => {
      if (isFirst) op.first = ops.length
      else op.second = ops.length
    }
    return { go: set(!lazy), leave: set(lazy) }
  }
  const write = (one: Node): void => {
    switch (one._tag) {
      case "Atom":
        ops.push({ _tag: "Char", fits: fitter(one.source, flags) })
        return
      case "Assertion":
        ops.push({ _tag: one.kind })
        return
      case "Look":
        ops.push({ ...one, program: compile(one.inner, flags, !one.ahead) })
        return
      case "All":
        for (const part of backwards ? one.nodes.toReversed() : one.nodes) write(part)
        return
      case "Any": {
        const ends: Array<{ _tag: "Jump"; to: number }> = []
        for (const [index, branch] of one.nodes.entries()) {
          if (index === one.nodes.length - 1) write(branch)
          else {
            const { go, leave } = split(false)
            go()
            write(branch)
            const end: Op = { _tag: "Jump", to: 0 }
            ops.push(end)
            ends.push(end)
            leave()
          }
        }
        for (const end of ends) end.to = ops.length
        return
      }
      case "Repeat": {
        for (let round = 0; round < one.least; round++) write(one.inner)
        if (one.most === Number.POSITIVE_INFINITY) {
          const loop = loops++
          const start = ops.length
          const { go, leave } = split(one.lazy)
          go()
          ops.push({ _tag: "Enter", loop })
          write(one.inner)
          ops.push({ _tag: "Progress", loop }, { _tag: "Jump", to: start })
          leave()
          return
        }
        const exits = []
        for (let round = one.least; round < one.most; round++) {
          const { go, leave } = split(one.lazy)
          go()
          exits.push(leave)
          write(one.inner)
        }
        for (const leave of exits) leave()
      }
    }
  }
  write(node)
  ops.push({ _tag: "Match" })
  return ops
}

const isWord = (character: string | undefined): boolean => character !== undefined && /\w/.test(character)

const nowhere = -1

const machine = (units: ReadonlyArray<string>, most: number) => {
  const spent = { steps: 0 }
  /** Where a match from here ends, or nowhere. */
  const run = (program: ReadonlyArray<Op>, from: number, step: 1 | -1): number => {
    const stack: Array<{ readonly pc: number; readonly at: number; readonly entered: ReadonlyArray<number> }> = [
      { pc: 0, at: from, entered: [] }
    ]
    for (let thread = stack.pop(); thread !== undefined; thread = stack.pop()) {
      let { at, entered, pc } = thread
      for (;;) {
        spent.steps += 1
        if (spent.steps > most) return nowhere
        const op = program[pc]
        if (op === undefined || op._tag === "Match") return at
        pc += 1
        if (op._tag === "Split") {
          stack.push({ pc: op.second, at, entered })
          pc = op.first
        } else if (op._tag === "Jump") pc = op.to
        else if (op._tag === "Enter") {
          entered = Object.assign(entered.slice(), { [op.loop]: at })
        } else if (op._tag === "Progress") {
          if (entered[op.loop] === at) break
        } else if (op._tag === "Char") {
          const unit = units[step === 1 ? at : at - 1]
          if (unit === undefined || !op.fits(unit)) break
          at += step
        } else if (op._tag === "Look") {
          if ((run(op.program, at, op.ahead ? 1 : -1) !== nowhere) !== op.wanted) break
        } else if (op._tag === "Start") {
          if (at !== 0) break
        } else if (op._tag === "End") {
          if (at !== units.length) break
        } else if (isWord(units[at - 1]) === isWord(units[at])) break
      }
    }
    return nowhere
  }
  return { run, spent }
}

const alphabetOf = (node: Node, flags: string): ReadonlyArray<string> => {
  const characters = new Set<string>(["\u0001"])
  const visit = (one: Node): void => {
    if (one._tag === "All" || one._tag === "Any") for (const part of one.nodes) visit(part)
    else if (one._tag === "Look" || one._tag === "Repeat") visit(one.inner)
    else if (one._tag === "Atom") {
      const fits = fitter(one.source, flags)
      const fitting = candidates.filter(fits)
      for (const character of [fitting[0], fitting.at(-1), fitting.find((each) => /[a-z0-9]/i.test(each))]) {
        if (character !== undefined) characters.add(character)
      }
    }
  }
  visit(node)
  return [...characters]
}

const ambiguousIn = (node: Node, flags: string): ReadonlyArray<string> => {
  const repeated: Array<(character: string) => boolean> = []
  const visit = (one: Node, again: boolean): void => {
    if (one._tag === "All" || one._tag === "Any") for (const part of one.nodes) visit(part, again)
    else if (one._tag === "Repeat") visit(one.inner, again || one.most > 2)
    else if (one._tag === "Look") visit(one.inner, again)
    else if (one._tag === "Atom" && again) repeated.push(fitter(one.source, flags))
  }
  visit(node, false)
  const countOf = (character: string) => repeated.filter((fits) => fits(character)).length
  const most = Math.max(...candidates.map(countOf))
  return most < 2 ? [] : candidates.filter((character) => countOf(character) === most)
}

const sampleOf = (node: Node, flags: string, dice: Dice): string => {
  switch (node._tag) {
    case "Atom": {
      const [first = "", ...others] = candidates.filter(fitter(node.source, flags))
      return dice.pick([first, ...others])
    }
    case "All":
      return node.nodes.map((part) => sampleOf(part, flags, dice)).join("")
    case "Any":
      return sampleOf(node.nodes[dice.under(node.nodes.length)] ?? node, flags, dice)
    case "Repeat": {
      const rounds = node.least + dice.under(Math.min(node.most - node.least, 2) + 1)
      return Array.from({ length: rounds }, () => sampleOf(node.inner, flags, dice)).join("")
    }
    case "Assertion":
    case "Look":
      return ""
  }
}

const candidates = [
  ...Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)),
  ..."\u0080\u00a0\u00ad\u00e9\u0301\u034f\u200b\u200e\u2028\u3000\ud7ff\ud800\ufdd0\ufeff\ufffd",
  "\u{1f600}",
  "\u{e0001}"
]

export const patternOf = ({ flags, source }: RegExp): Pattern => {
  if (flags.includes("m")) throw new Error(`the flag m is not counted: ${source}`)
  const node = parse(source)
  const program = compile(node, flags)
  return {
    alphabet: alphabetOf(node, flags),
    ambiguous: ambiguousIn(node, flags),
    sample: (dice) => sampleOf(node, flags, dice),
    steps: (text, most) => {
      const units = flags.includes("u") ? [...text] : text.split("")
      const { run, spent } = machine(units, most)
      for (let at = 0; at <= units.length && spent.steps <= most; ) {
        const end = run(program, at, 1)
        // A sticky pattern looks at no later place.
        if (end === nowhere && flags.includes("y")) break
        at = end > at ? end : at + 1
      }
      return spent.steps
    }
  }
}
