/**
 * Which addresses are of the public network, by IANA's registries of special-purpose addresses.
 * What is no address at all is not public either.
 */

type Block = readonly [base: string, bits: number]

const special: ReadonlyArray<Block> = [
  ["0.0.0.0", 8], // this network, the unspecified address
  ["10.0.0.0", 8], // private
  ["100.64.0.0", 10], // carrier-grade NAT, and a cloud's metadata service
  ["127.0.0.0", 8], // loopback
  ["168.63.129.16", 32], // a cloud's own services, which each of its machines reaches
  ["169.254.0.0", 16], // link-local, and most metadata services
  ["172.16.0.0", 12], // private
  ["192.0.0.0", 24], // IETF protocols
  ["192.0.2.0", 24], // documentation
  ["192.88.99.0", 24], // 6to4 relays
  ["192.168.0.0", 16], // private
  ["198.18.0.0", 15], // benchmarks
  ["198.51.100.0", 24], // documentation
  ["203.0.113.0", 24], // documentation
  ["224.0.0.0", 4], // multicast
  ["240.0.0.0", 4] // reserved, broadcast
]

/** Within 2000::/3, the only part of IPv6 that is given out. */
const specialInGlobalUnicast: ReadonlyArray<Block> = [
  ["2001::", 23], // IETF protocols: Teredo, benchmarks, ORCHID
  ["2001:db8::", 32], // documentation
  ["2002::", 16], // 6to4, which holds an IPv4 address
  ["3fff::", 20] // documentation
]

/** NAT64: a translator makes an IPv4 address of the last 32 bits. */
const nat64: Block = ["64:ff9b::", 96]

const groupsOf4 = (text: string): ReadonlyArray<number> | undefined => {
  const parts = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text)?.slice(1).map(Number)
  return parts?.every((part) => part <= 255) === true ? parts : undefined
}

/** Eight groups of 16 bits. The platform's parser of URLs knows each way of writing them. */
const groupsOf6 = (text: string): ReadonlyArray<number> | undefined => {
  const url = `http://[${text}]/`
  if (!/^[\da-f:.]+$/i.test(text) || !URL.canParse(url)) return undefined
  const [head = "", tail] = new URL(url).hostname.slice(1, -1).split("::")
  const groups = (part: string) => (part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16)))
  const [before, after] = [groups(head), groups(tail ?? "")]
  return [...before, ...Array.from({ length: 8 - before.length - after.length }, () => 0), ...after]
}

const bitsOf = (groups: ReadonlyArray<number>, width: number): string =>
  groups.map((group) => group.toString(2).padStart(width, "0")).join("")

const bits4 = (text: string): string | undefined => {
  const groups = groupsOf4(text)
  return groups === undefined ? undefined : bitsOf(groups, 8)
}

const bits6 = (text: string): string | undefined => {
  const groups = groupsOf6(text)
  return groups === undefined ? undefined : bitsOf(groups, 16)
}

const prefixOf =
  (read: (text: string) => string | undefined) =>
  ([base, bits]: Block): string =>
    (read(base) ?? "").slice(0, bits)

const special4 = special.map(prefixOf(bits4))
const special6 = specialInGlobalUnicast.map(prefixOf(bits6))
const translated = prefixOf(bits6)(nat64)
const globalUnicast = "001"

const isPublic4 = (bits: string): boolean => !special4.some((prefix) => bits.startsWith(prefix))

/** Mapped and compatible IPv4 addresses are outside of what is given out, so they need no look of their own. */
const isPublic6 = (bits: string): boolean =>
  bits.startsWith(translated)
    ? isPublic4(bits.slice(96))
    : bits.startsWith(globalUnicast) && !special6.some((prefix) => bits.startsWith(prefix))

export const isPublicAddress = (address: string): boolean => {
  const four = bits4(address)
  if (four !== undefined) return isPublic4(four)
  const six = bits6(address)
  return six !== undefined && isPublic6(six)
}
