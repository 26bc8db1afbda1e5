import { type Kind, kinds, type Listing, type RecordKey } from "../../core/ports/Storage.ts"
import { fromKeyText, toKeyText } from "../records/KeyText.ts"

/**
 * Records are dealt out over this many shards. All keys of a shard are in one hash slot, so that a record and the
 * index of its shard change in one step; the shards are spread evenly over the slots, so that a cluster can be cut
 * anywhere. Part of the stored layout: another number finds none of the records.
 */
export const shardCount = 256

const slotCount = 16384
const slotsPerShard = slotCount / shardCount

/** Where a record is: the key that holds it and the key of its shard's index. Both are in the same hash slot. */
interface Place {
  /** The record's name, also the member that stands for it in the index. ASCII. */
  readonly path: string
  readonly record: string
  readonly shard: string
}

/** `workspace/kind/id`, each part percent-encoded like `escape` does. */
export const pathOf = ({ workspace, kind, id }: RecordKey): string => `${encoded(workspace)}/${kind}/${encoded(id)}`

export const keyAt = (path: string): RecordKey | undefined => {
  const [workspace, kind, id] = path.split("/")
  const known = kinds.find((name) => name === kind)
  return workspace === undefined || id === undefined || known === undefined
    ? undefined
    : { workspace: decoded(workspace), kind: known, id: decoded(id) }
}

export const kindAt = (path: string): string | undefined => path.split("/")[1]

export const placeOf = (prefix: string, path: string): Place => {
  const shard = shardKey(prefix, Math.floor(hashSlot(path) / slotsPerShard))
  return { path, record: `${shard}:${path}`, shard }
}

export const shardKey = (prefix: string, shard: number): string => `${prefix}:{${tags[shard]}}`

/** The list of one owner. In whatever hash slot its name gives, so rarely in that of its records. */
export const ownerKey = (prefix: string, { workspace, kind, owner }: Pick<Listing, "workspace" | "kind" | "owner">) =>
  `${prefix}:owner:${encoded(workspace)}/${kind satisfies Kind}/${encoded(owner)}`

// Lone surrogates are why this is not encodeURIComponent, which throws on them.
export const encoded = (part: string): string =>
  /^[\w.~:@-]*$/.test(part)
    ? part
    : part.replace(/[^\w.~:@-]/g, (unit) => {
        const code = unit.charCodeAt(0)
        return code < 256 ? `%${code.toString(16).padStart(2, "0")}` : `%u${code.toString(16).padStart(4, "0")}`
      })

const decoded = (part: string): string =>
  part.replace(/%u([0-9a-f]{4})|%([0-9a-f]{2})/g, (_, wide?: string, narrow?: string) =>
    String.fromCharCode(Number.parseInt(wide ?? narrow ?? "", 16))
  )

/** CRC-16/XMODEM, the hash of Redis Cluster. */
const crcTable = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1
  return crc
})

/** Of ASCII text without braces. */
const hashSlot = (text: string): number => {
  let crc = 0
  for (let at = 0; at < text.length; at++) {
    crc = ((crc << 8) ^ (crcTable[((crc >> 8) ^ text.charCodeAt(at)) & 0xff] ?? 0)) & 0xffff
  }
  return crc % slotCount
}

/** For each shard the smallest number that, as a hash tag, lands in the shard's part of the slots. */
const tags: ReadonlyArray<number> = (() => {
  const found = new Map<number, number>()
  for (let tag = 0; found.size < shardCount; tag++) {
    const shard = Math.floor(hashSlot(`${tag}`) / slotsPerShard)
    if (!found.has(shard)) found.set(shard, tag)
  }
  return Array.from({ length: shardCount }, (_, shard) => found.get(shard) ?? 0)
})()

/**
 * A line in an owner's list: the record's id, written so that Redis, which sorts by bytes, sorts as the port wants
 * (by UTF-16 code units), then the entry. Each attempt to insert has an entry of its own, so striking one's own line
 * can never strike somebody else's. An entry begins with its time of birth: a line without a record may belong to an
 * insert that is still on its way, and is struck only when it is too old for that.
 */
export const lineOf = (id: string, entry: string): string => `${toKeyText(id)}\0${entry}`

export interface Line {
  readonly text: string
  readonly id: string
  readonly entry: string
}

export const parseLine = (text: string): Line => {
  const end = text.lastIndexOf("\0")
  return { text, id: fromKeyText(text.slice(0, end)), entry: text.slice(end + 1) }
}

/** The least line of any id after this one. */
export const afterId = (id: string): string => `${toKeyText(id)}\x01`

export const bornAt = (entry: string): number => Number.parseInt(entry, 36)

/** Entries of one process: `birth.process.number`. */
export const makeEntries = (process: string): ((now: number) => string) => {
  let count = 0
  return (now) => `${Math.floor(now).toString(36)}.${process}.${(count++).toString(36)}`
}
