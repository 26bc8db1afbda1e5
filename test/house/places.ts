import type { Rule } from "./Rule.ts"

/** What may lie at the top beside dotfiles. */
const top = [
  "package.json",
  "package-lock.json",
  "tsconfig.json",
  "README.md",
  "CHANGELOG.md",
  "LICENSE",
  "core/",
  "adapters/",
  "runtimes/",
  "test/",
  "benchmarks/"
]

export const topLevel: Rule = {
  title: "the top level holds what the design names and nothing else",
  breaches: ({ path }) => {
    const [first = "", ...below] = path.split("/")
    const entry = below.length > 0 ? `${first}/` : first
    return first.startsWith(".") || top.includes(entry) ? [] : [`${entry} has no place at the top`]
  }
}

const kinds = /^(?:utils?|helpers?|types|interfaces|services|commons?|misc|shared|lib)$/

export const concepts: Rule = {
  title: "a folder is a concept, never a kind of code",
  breaches: ({ path }) =>
    /^(?:core|adapters|runtimes)\//.test(path)
      ? path
          .split("/")
          .slice(1, -1)
          .filter((folder) => kinds.test(folder))
          .map((folder) => `${folder}/ says what kind of code it holds, not what it is about`)
      : []
}

/** Paths of a developer's machine. */
const machine = /(?<![\w.:-])\/(?:root|home\/\w+|Users\/\w+|work\/(?:main|shared)|tmp\/(?:wt|lab))\b/g

export const portable: Rule = {
  title: "no path of one machine is written down",
  breaches: ({ text }) => [...text.matchAll(machine)].map((match) => `${match[0]} is a path of one machine`)
}
