import { Result } from "effect"

/** What an operator says of the fetches. */
export interface FetchOptions {
  /** Hosts of a private network that are let in. Where no address can be checked, on Workers, the only ones. */
  readonly allow: AllowList
  /** Certificates as PEM: who vouches for them, beside the runtime's own authorities. None without `hasSockets`. */
  readonly ca: string | undefined
}

/** `host:port` of each, as the platform writes a host. */
export type AllowList = ReadonlySet<string>

/**
 * Whether an address can be checked before it is gone to, and a connection have authorities of its own: on Bun, and on
 * Node from 20.16. Workers have these modules too, and decide by themselves where a connection goes.
 */
export const hasSockets = (): boolean =>
  typeof globalThis.process?.getBuiltinModule === "function" && globalThis.navigator?.userAgent !== "Cloudflare-Workers"

export const fetchesNothingPrivate: FetchOptions = { allow: new Set(), ca: undefined }

/** Where documents are fetched from, if nothing else is said. */
export const usualPorts: ReadonlyArray<number> = [443, 8443]

export const allowListExpected = "hosts or host:port, as keys.internal or [fd00::1]:9443"

const placesOf = (entry: string): ReadonlyArray<string> | undefined => {
  if (!/^[^\s/?#@\\%*]*[^\s/?#@\\%*:]$/.test(entry) || !URL.canParse(`https://${entry}/`)) return undefined
  const { hostname } = new URL(`https://${entry}/`)
  if (hostname.endsWith(".")) return undefined
  const port = /:(\d+)$/.exec(entry)?.[1]
  return port === undefined ? usualPorts.map((usual) => `${hostname}:${usual}`) : [`${hostname}:${Number(port)}`]
}

/** Fails with the first entry that is none. */
export const readAllowList = (entries: ReadonlyArray<string>): Result.Result<AllowList, string> => {
  const places = new Set<string>()
  for (const entry of entries) {
    const read = placesOf(entry)
    if (read === undefined) return Result.fail(entry)
    for (const place of read) places.add(place)
  }
  return Result.succeed(places)
}

const certificate = /-----BEGIN CERTIFICATE-----[\dA-Za-z+/=\s]+-----END CERTIFICATE-----/g

/** The certificates in a PEM file, without what else stands in it. None: it is no such file. */
export const certificatesIn = (pem: string): ReadonlyArray<string> => pem.match(certificate) ?? []
