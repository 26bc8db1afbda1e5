import { createHash } from "node:crypto"
import type { Json, StoredRecord } from "../../core/ports/Storage.ts"

const isList = (value: Json): value is ReadonlyArray<Json> => Array.isArray(value)

/** One text for one value: stores may keep the members of an object in any order. */
const canonical = (value: Json): string => {
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  if (isList(value)) return `[${value.map(canonical).join(",")}]`
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join(",")}}`
}

/** All of a record but its version, which each store counts for itself. */
export const textOf = ({ workspace, kind, id, owner, expiresAt, body }: StoredRecord): string =>
  canonical([workspace, kind, id, owner, expiresAt, body])

export const sameContent = (a: StoredRecord, b: StoredRecord): boolean => textOf(a) === textOf(b)

/** How many records, and a digest of them all that does not depend on the order in which they came. */
export interface Tally {
  readonly count: number
  readonly digest: string
}

const digestBits = 256

/** Adds up the SHA-256 of every record: stores give their records in orders of their own. */
export class Tallying {
  #count = 0
  #sum = 0n

  add(record: StoredRecord): void {
    this.#count += 1
    const digest = createHash("sha256").update(textOf(record)).digest("hex")
    this.#sum = BigInt.asUintN(digestBits, this.#sum + BigInt(`0x${digest}`))
  }

  get tally(): Tally {
    return { count: this.#count, digest: this.#sum.toString(16).padStart(digestBits / 4, "0") }
  }
}
