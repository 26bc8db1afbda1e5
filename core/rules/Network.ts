/**
 * Whom an address stands for when requests are counted: an IPv4 address itself, an IPv6 address its /64, since one
 * customer has that many addresses to choose from.
 */
export const networkOf = (address: string): string => {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  if (!address.includes(":")) return address
  const bare = address.split("%", 1)[0] ?? address
  const [head = "", tail] = bare.toLowerCase().split("::")
  const before = head === "" ? [] : head.split(":")
  const after = tail === undefined || tail === "" ? [] : tail.split(":")
  const zeros =
    tail === undefined ? [] : Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => "0")
  const groups = [...before, ...zeros, ...after].slice(0, 4)
  return `${groups.map((group) => group.replace(/^0+(?=.)/, "")).join(":")}::/64`
}
