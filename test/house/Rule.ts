import type { Source } from "./Source.ts"

/** A rule of the house. It sees one file at a time and says, a line for each, what in it breaks the rule. */
export interface Rule {
  readonly title: string
  readonly breaches: (source: Source) => ReadonlyArray<string>
}

export const isScript = (path: string) => /\.(?:ts|mjs|js)$/.test(path)

export const room = (path: string): string => path.split("/")[0] ?? ""
