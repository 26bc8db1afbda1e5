import { isIP } from "node:net"
import { plainAddress, type TrustedProxies } from "./TrustedProxies.ts"

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
  for (const hop of forwardedFor.split(",").reverse()) {
    if (!proxies.has(peer)) break
    const address = plainAddress(withoutPort(hop.trim()))
    if (isIP(address) === 0) break
    peer = address
  }
  return peer
}
