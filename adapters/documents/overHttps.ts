import type { IncomingMessage } from "node:http"
import type { PeerCertificate, SecureContext } from "node:tls"
import { Effect } from "effect"
import type { DocumentFault, DocumentLimits } from "../../core/ports/Documents.ts"
import { type Answer, Body, fault, faultOfHead, type Head, headersOfForm, requestHeaders } from "./Answer.ts"
import { certificatesIn, type FetchOptions } from "./FetchOptions.ts"
import { type Exchanges, makeDocuments } from "./makeDocuments.ts"
import { isPublicAddress } from "./publicAddress.ts"
import type { Target } from "./Target.ts"

// By name, so that a bundler for a platform without them finds nothing of Node here.
const { X509Certificate } = process.getBuiltinModule("node:crypto")
const dns = process.getBuiltinModule("node:dns")
const { request: send } = process.getBuiltinModule("node:https")
const tls = process.getBuiltinModule("node:tls")

type Lookup = (host: string) => Effect.Effect<ReadonlyArray<string>, DocumentFault>

/** The network as it is. Tests have one of their own. */
export interface Network {
  /** All addresses of a name that a stranger said, as DNS has them. */
  readonly publicAddresses: Lookup
  /** Those of a name that the operator said, as this machine knows it: by its own file of hosts too. */
  readonly localAddresses: Lookup
  /** Where a connection to an address that was found good goes. */
  readonly dial: (address: string, port: number) => { readonly host: string; readonly port: number }
}

const unreachable = fault("unreachable")

/** The answers in one family, and none where there is none. */
const answersOf = (ask: (done: (error: Error | null, addresses: ReadonlyArray<string>) => void) => void) =>
  Effect.callback<ReadonlyArray<string>>((resume) =>
    ask((error, addresses) => resume(Effect.succeed(error === null ? addresses : [])))
  )

/**
 * Asks DNS itself, not the machine's resolver: that one would keep a thread for each name server that is slow, and knows
 * names that are no stranger's affair. `servers`: other ones than the machine's.
 */
export const askDns =
  (servers?: ReadonlyArray<string>): Lookup =>
  (host) =>
    Effect.suspend(() => {
      const resolver = new dns.Resolver()
      if (servers !== undefined) resolver.setServers(servers)
      const both = Effect.all(
        [answersOf((done) => resolver.resolve4(host, done)), answersOf((done) => resolver.resolve6(host, done))],
        { concurrency: 2 }
      )
      return Effect.map(
        Effect.onInterrupt(both, () => Effect.sync(() => resolver.cancel())),
        (found) => found.flat()
      )
    })

const localAddresses: Lookup = (host) =>
  answersOf((done) =>
    dns.lookup(host, { all: true }, (error, found) =>
      done(error, error === null ? found.map(({ address }) => address) : [])
    )
  )

export const network: Network = {
  publicAddresses: askDns(),
  localAddresses,
  dial: (host, port) => ({ host, port })
}

/** IPv4 first: many a machine has IPv6 addresses and no way out for them. */
const inOrder = (addresses: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...addresses.filter((address) => !address.includes(":")),
  ...addresses.filter((address) => address.includes(":"))
]

/** So many of a host's addresses are tried, where no connection comes about. */
const mostTried = 4

const mostHeaderBytes = 16 * 1024

/** No connection came about, so another address may do. */
const isNoConnection = (error: unknown): boolean =>
  error instanceof Error && "syscall" in error && error.syscall === "connect"

const headOf = ({ rawHeaders, statusCode = 0 }: IncomingMessage): Head => ({
  status: statusCode,
  // As they came: the platform drops the second of some that are sent twice.
  header: (wanted) => {
    const values = rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === wanted)
    return values.length === 0 ? undefined : values.join(", ")
  }
})

/** Whether a certificate is for a host. Some releases of Node find no IPv6 address in one by themselves. */
const identityFault = ({ host, literal }: Target, certificate: PeerCertificate): Error | undefined => {
  if (!literal) return tls.checkServerIdentity(host, certificate)
  return new X509Certificate(certificate.raw).checkIP(host) === undefined
    ? new Error("the certificate is not for this address")
    : undefined
}

/** A form, or nothing: then a document of these limits comes. */
type Sent = { readonly form: string } | { readonly limits: DocumentLimits }

const nothing = new Uint8Array()

/** One request to one address that was found good; nothing where no connection came about. */
const exchange = (
  target: Target,
  at: ReturnType<Network["dial"]>,
  authorities: SecureContext | undefined,
  sent: Sent
) =>
  Effect.callback<Answer | undefined, DocumentFault>((resume) => {
    const { host, literal, url } = target
    const request = send({
      host: at.host,
      port: at.port,
      method: "form" in sent ? "POST" : "GET",
      path: `${url.pathname}${url.search}`,
      headers: { host: url.host, ...requestHeaders, ...("form" in sent ? headersOfForm(sent.form) : {}) },
      // A connection of its own, which nothing else is sent over, and no proxy of the environment.
      agent: false,
      servername: literal ? "" : host,
      checkServerIdentity: (_, certificate) => identityFault(target, certificate),
      // Whatever the environment says.
      rejectUnauthorized: true,
      minVersion: "TLSv1.2",
      maxHeaderSize: mostHeaderBytes,
      ...(authorities === undefined ? {} : { secureContext: authorities })
    })
    const end = (outcome: Effect.Effect<Answer | undefined, DocumentFault>) => {
      resume(outcome)
      request.destroy()
    }
    request.on("error", (error) => end(isNoConnection(error) ? Effect.succeed(undefined) : Effect.fail(unreachable)))
    request.on("close", () => end(Effect.fail(unreachable)))
    request.on("response", (response) => {
      const head = headOf(response)
      // Of an answer to a form the rest is not read, however long it goes on.
      if ("form" in sent) return end(Effect.succeed({ ...head, body: nothing }))
      const wrong = faultOfHead(head, sent.limits)
      if (wrong !== undefined) return end(Effect.fail(wrong))
      const body = new Body(sent.limits.longest)
      response.on("error", () => end(Effect.fail(unreachable)))
      response.on("data", (part: Uint8Array) => {
        if (!body.add(part)) end(Effect.fail(fault("too_long")))
      })
      response.on("end", () =>
        end(response.complete ? Effect.succeed({ ...head, body: body.whole() }) : Effect.fail(unreachable))
      )
    })
    request.end("form" in sent ? sent.form : undefined)
    return Effect.sync(() => request.destroy())
  })

/** Node before 22.15 does not tell whom it trusts besides. */
const ownAuthorities = () => tls.getCACertificates?.("default") ?? tls.rootCertificates

/** Made once: reading the authorities takes longer than a request. */
const authoritiesOf = (ca: string): SecureContext =>
  tls.createSecureContext({ ca: [...ownAuthorities(), ...certificatesIn(ca)] })

export const exchangesOverHttps = (
  ca: string | undefined,
  { dial, localAddresses, publicAddresses }: Network
): Exchanges => {
  let made: SecureContext | undefined
  const authorities = Effect.try({
    try: () => {
      if (ca !== undefined) made ??= authoritiesOf(ca)
      return made
    },
    catch: () => unreachable
  })
  const ask = Effect.fnUntraced(function* (target: Target, sent: Sent): Effect.fn.Return<Answer, DocumentFault> {
    const { allowed, host, literal, port } = target
    const found = literal ? [host] : yield* allowed ? localAddresses(host) : publicAddresses(host)
    // One that is private makes all of them suspect: who names it hopes that it is the one that is taken.
    if (!allowed && !found.every(isPublicAddress)) return yield* fault("address_refused")
    const trusted = allowed ? yield* authorities : undefined
    for (const address of inOrder(found).slice(0, mostTried)) {
      const answer = yield* exchange(target, dial(address, port), trusted, sent)
      if (answer !== undefined) return answer
    }
    return yield* unreachable
  })
  return {
    get: (target, limits) => ask(target, { limits }),
    post: (target, form) => Effect.map(ask(target, { form }), ({ status }) => status)
  }
}

/** For Node and Bun. */
export const openDocuments = ({ allow, ca }: FetchOptions) => makeDocuments(exchangesOverHttps(ca, network), allow)
