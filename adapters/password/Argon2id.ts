import { Option } from "effect"
import { endsIn } from "../../core/codec/Sha256.ts"

/** What Argon2id costs (RFC 9106 §3.1): KiB of memory, passes over it, lanes. */
export interface Cost {
  readonly memory: number
  readonly passes: number
  readonly lanes: 1
}

/** OWASP's Password Storage Cheat Sheet: 19 MiB, two passes, one lane. */
export const standardCost: Cost = { memory: 19_456, passes: 2, lanes: 1 }

export const saltLength = 16
export const tagLength = 32

/** One implementation. All read and write the same PHC strings. */
export interface Argon2id {
  readonly name: "bun" | "node" | "noble"
  readonly hash: (password: Uint8Array<ArrayBuffer>, cost: Cost, salt: Uint8Array) => Promise<string>
  readonly verify: (password: Uint8Array<ArrayBuffer>, hash: string) => Promise<boolean>
}

/** A hash with the parameters to compute it again. */
interface Phc {
  readonly cost: Cost
  readonly salt: Uint8Array
  readonly tag: Uint8Array
}

/** PHC strings hold base64 without its padding. */
const toBase64 = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes)).replaceAll("=", "")

const fromBase64 = (text: string): Uint8Array => Uint8Array.from(atob(text), (character) => character.charCodeAt(0))

const form =
  /^\$argon2id\$v=19\$m=(?<memory>[1-9]\d{0,6}),t=(?<passes>[1-9]\d{0,2}),p=1\$(?<salt>[A-Za-z0-9+/]{11,86})\$(?<tag>[A-Za-z0-9+/]{16,86})$/

export const writePhc = ({ cost, salt, tag }: Phc): string =>
  `$argon2id$v=19$m=${cost.memory},t=${cost.passes},p=${cost.lanes}$${toBase64(salt)}$${toBase64(tag)}`

/** None for a hash that is not Argon2id with one lane, or whose cost is out of range. */
export const readPhc = (text: string): Option.Option<Phc> => {
  const { memory, passes, salt, tag } = form.exec(text)?.groups ?? {}
  if (salt === undefined || tag === undefined || salt.length % 4 === 1 || tag.length % 4 === 1) return Option.none()
  return Option.some({
    cost: { memory: Number(memory), passes: Number(passes), lanes: 1 },
    salt: fromBase64(salt),
    tag: fromBase64(tag)
  })
}

/** The bare function that libraries offer. */
type Derive = (password: Uint8Array, salt: Uint8Array, cost: Cost, tagLength: number) => Promise<Uint8Array>

/** An implementation from a bare Argon2id function. */
export const derived = (name: Argon2id["name"], derive: Derive): Argon2id => ({
  name,
  hash: async (password, cost, salt) => writePhc({ cost, salt, tag: await derive(password, salt, cost, tagLength) }),
  verify: async (password, hash) => {
    const stored = Option.getOrUndefined(readPhc(hash))
    if (stored === undefined) return false
    // Both have the same length, so `endsIn` compares them whole, in constant time.
    return endsIn(await derive(password, stored.salt, stored.cost, stored.tag.length), stored.tag)
  }
})
