import { allParts } from "../parts/all.ts"
import type { Report } from "./Report.ts"

/** The parts that a run was without, so that it says nothing of them. */
export const leftOut = ({ parts }: Report): ReadonlyArray<string> =>
  allParts.map(({ name }) => name).filter((name) => !parts.includes(name))
