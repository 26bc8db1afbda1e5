import { type Kind, kinds, type Listing, type RecordKey } from "../../core/ports/Storage.ts"
import { fromKeyText, toKeyText } from "../records/KeyText.ts"

/**
 * Records are spread over this many shards. All keys of a shard are in one hash slot, so that a record and its index
 * change in one script; the shards are spread evenly over the slots, so that a cluster can be split anywhere. Part of
 * the stored layout: with another number no record is found.
 */
export const shardCount = 256

const slotCount = 16384
const slotsPerShard = slotCount / shardCount

/** The keys of a record and of its shard's index, in the same hash slot. */
interface Place {
  /** The record's name, and its member of the index. ASCII. */
  readonly path: string
  readonly record: string
  readonly shard: string
}

/** `workspace/kind/id`, each part percent-encoded. */
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

/** An owner's list. Its hash slot is rarely that of the records. */
export const ownerKey = (prefix: string, { workspace, kind, owner }: Pick<Listing, "workspace" | "kind" | "owner">) =>
  `${prefix}:owner:${encoded(workspace)}/${kind satisfies Kind}/${encoded(owner)}`

// Not encodeURIComponent, which throws on lone surrogates.
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

/** CRC-16/XMODEM, as Redis Cluster hashes keys. */
const crcTable = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1
  return crc
})

/** For ASCII without braces. */
const hashSlot = (text: string): number => {
  let crc = 0
  for (let at = 0; at < text.length; at++) {
    crc = ((crc << 8) ^ (crcTable[((crc >> 8) ^ text.charCodeAt(at)) & 0xff] ?? 0)) & 0xffff
  }
  return crc % slotCount
}

/** For each shard the smallest number whose hash slot, as a tag, is in the shard. */
const tags: ReadonlyArray<number> = (() => {
  const found = new Map<number, number>()
  for (let tag = 0; found.size < shardCount; tag++) {
    const shard = Math.floor(hashSlot(`${tag}`) / slotsPerShard)
    if (!found.has(shard)) found.set(shard, tag)
  }
  return Array.from({ length: shardCount }, (_, shard) => found.get(shard) ?? 0)
})()

/**
 * A line in an owner's list: the id, encoded so that Redis' order of bytes is the port's order of UTF-16 code units,
 * then the entry. Each insert attempt has its own entry, so it can only strike its own line. An entry begins with its
 * time: a line without a record may belong to an insert under way, and is struck only when it is old.
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

/** Lower bound of all lines of later ids. */
export const afterId = (id: string): string => `${toKeyText(id)}\x01`

export const bornAt = (entry: string): number => Number.parseInt(entry, 36)

/** Unique entries: `birth.process.number`. */
export const makeEntries = (process: string): ((now: number) => string) => {
  let count = 0
  return (now) => `${Math.floor(now).toString(36)}.${process}.${(count++).toString(36)}`
}
