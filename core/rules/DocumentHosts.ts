import { Schema } from "effect"

const hostPattern = /^(?:\*\.)?[a-z0-9-]+(?:\.[a-z0-9-]+)*(?::[0-9]{1,5})?$|^\[[0-9a-f:.]+\](?::[0-9]{1,5})?$/

/** A host as addresses have it, with a port where that is not 443. */
export const isDocumentHost = (text: string): boolean => text.length <= 260 && hostPattern.test(text)

/** As addresses have it, whatever an owner types: a port that goes without saying would be one of no address. */
export const documentHostTyped = (text: string): string => text.trim().toLowerCase().replace(/:443$/, "")

export const documentHostExpected = "hosts as addresses have them, such as claude.ai, localhost:9000 or *.example.com"

/** A record holds them all. */
export const mostHosts = 1000

/**
 * From which hosts metadata documents of clients are taken: `any`, or these; `*.example.com` is every host below that one.
 */
export const DocumentHosts = Schema.Union([
  Schema.Literal("any"),
  Schema.Array(Schema.String.check(Schema.makeFilter(isDocumentHost, { expected: documentHostExpected }))).check(
    Schema.isMaxLength(mostHosts)
  )
])
export type DocumentHosts = typeof DocumentHosts.Type

/** Whether one of the entries is of this host, at its port. */
const isAmong = (hosts: ReadonlyArray<string>, host: string): boolean =>
  hosts.some((one) => one === host || (one.startsWith("*.") && host.endsWith(one.slice(1))))

/** What both lists take; where nothing is said, all is. Of two entries that overlap, one is a part of the other. */
export const hostsOfBoth = (one: DocumentHosts = "any", other: DocumentHosts = "any"): DocumentHosts => {
  if (one === "any") return other
  if (other === "any") return one
  return [...new Set([...one.filter((host) => isAmong(other, host)), ...other.filter((host) => isAmong(one, host))])]
}

/** Whether a ban is of this host. One that names no port is of all of them: who has the host has those. */
export const isBanned = (banned: ReadonlyArray<string>, host: string): boolean =>
  isAmong(banned, host) || isAmong(banned, host.replace(/:[0-9]+$/, ""))

/** Whether documents of a host are taken; where nothing is said, they are. */
export const takesHost = (hosts: DocumentHosts | undefined, host: string): boolean =>
  hosts === undefined || hosts === "any" || isAmong(hosts, host)
