import { BlockList, isIP } from "node:net"
import { Result } from "effect"

/** Which peers are believed about the address of a caller behind them. */
export interface TrustedProxies {
  readonly has: (address: string) => boolean
  /** Told where the one who connected sent `X-Forwarded-For`, and is not believed. */
  readonly onUntrusted?: () => void
}

export const noProxies: TrustedProxies = { has: () => false }

export const trustedProxiesExpected = "addresses and networks, separated by commas: 10.0.0.0/8, ::1"

const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i

/** One form for one address: an IPv4 peer of a socket that listens on IPv6 is still an IPv4 address. */
const plainAddress = (address: string): string => mapped.exec(address)?.[1] ?? address

const familyOf = (address: string): "ipv4" | "ipv6" => (isIP(address) === 6 ? "ipv6" : "ipv4")

const network = /^([^/]+)(?:\/(\d{1,3}))?$/

export const parseTrustedProxies = (text: string): Result.Result<TrustedProxies, string> => {
  const list = new BlockList()
  for (const part of text.split(",")) {
    const [, address = "", prefix] = network.exec(part.trim()) ?? []
    const version = isIP(address)
    if (version === 0 || Number(prefix ?? 0) > (version === 4 ? 32 : 128)) return Result.fail(trustedProxiesExpected)
    if (prefix === undefined) list.addAddress(address, familyOf(address))
    else list.addSubnet(address, Number(prefix), familyOf(address))
  }
  return Result.succeed({ has: (address) => isIP(address) !== 0 && list.check(address, familyOf(address)) })
}

/** Some proxies add the port: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
const withoutPort = (hop: string): string => {
  const [, bracketed] = /^\[([^\]]+)\](?::\d+)?$/.exec(hop) ?? []
  if (bracketed !== undefined) return bracketed
  const [, address] = /^([\d.]+):\d+$/.exec(hop) ?? []
  return address ?? hop
}

/**
 * Who is at the other end. `X-Forwarded-For` is read from its end, where our own proxies write, and only as far as each
 * who wrote is trusted: what a stranger put in front of it is never looked at.
 */
export const peerOf = (
  socketPeer: string | undefined,
  forwardedFor: string | null | undefined,
  proxies: TrustedProxies
): string | undefined => {
  if (socketPeer === undefined) return undefined
  let peer = plainAddress(socketPeer)
  if (forwardedFor === null || forwardedFor === undefined) return peer
  if (!proxies.has(peer)) {
    proxies.onUntrusted?.()
    return peer
  }
  for (const hop of forwardedFor.split(",").reverse()) {
    if (!proxies.has(peer)) break
    const address = plainAddress(withoutPort(hop.trim()))
    if (isIP(address) === 0) break
    peer = address
  }
  return peer
}
