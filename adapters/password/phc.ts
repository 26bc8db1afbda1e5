import { Option } from "effect"
import type { Cost } from "./Argon2id.ts"

/** A hash with everything that it takes to compute it again. */
export interface Phc {
  readonly cost: Cost
  readonly salt: Uint8Array
  readonly tag: Uint8Array
}

/** PHC strings hold base64 without its padding. */
const toBase64 = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes)).replace(/=+$/, "")

const fromBase64 = (text: string): Uint8Array => Uint8Array.from(atob(text), (character) => character.charCodeAt(0))

const form =
  /^\$argon2id\$v=19\$m=(?<memory>[1-9]\d{0,6}),t=(?<passes>[1-9]\d{0,2}),p=1\$(?<salt>[A-Za-z0-9+/]{11,86})\$(?<tag>[A-Za-z0-9+/]{16,86})$/

export const writePhc = ({ cost, salt, tag }: Phc): string =>
  `$argon2id$v=19$m=${cost.memory},t=${cost.passes},p=${cost.lanes}$${toBase64(salt)}$${toBase64(tag)}`

/** Nothing where it is not an Argon2id hash of one lane, or one that would cost absurdly much to verify. */
export const readPhc = (text: string): Option.Option<Phc> => {
  const { memory, passes, salt, tag } = form.exec(text)?.groups ?? {}
  if (salt === undefined || tag === undefined || salt.length % 4 === 1 || tag.length % 4 === 1) return Option.none()
  return Option.some({
    cost: { memory: Number(memory), passes: Number(passes), lanes: 1 },
    salt: fromBase64(salt),
    tag: fromBase64(tag)
  })
}
