/** A file of the repository, as the house's rules see it. */
export interface Source {
  /** From the top of the repository, with `/`. */
  readonly path: string
  readonly text: string
}

/** A rule that the linter cannot state. It sees one file at a time and says, a line for each, what breaks it. */
export interface Rule {
  readonly title: string
  readonly breaches: (source: Source) => ReadonlyArray<string>
}

export const isScript = (path: string) => /\.(?:ts|mjs|js)$/.test(path)

export const room = (path: string): string => path.split("/")[0] ?? ""
