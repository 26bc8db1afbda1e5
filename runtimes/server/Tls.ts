import { createPrivateKey, X509Certificate } from "node:crypto"
import { readFileSync } from "node:fs"
import { type Duration, Effect, Option, Result, Schedule, type Scope } from "effect"
import { certificatesIn } from "../../adapters/documents/FetchOptions.ts"
import { optional } from "./Variable.ts"

/** What the server shows of itself (RFC 8446), as PEM. */
export interface TlsIdentity {
  readonly cert: string
  readonly key: string
}

/** The suites that RFC 9325 §4.2 recommends under TLS 1.2, and FAPI 2.0 §5.2.2 allows. Those of TLS 1.3 are the platform's. */
export const tlsSuites = [
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
  "ECDHE-ECDSA-AES256-GCM-SHA384",
  "ECDHE-RSA-AES256-GCM-SHA384"
].join(":")

/** Files with an identity, which are read anew while the server runs. */
export interface TlsFiles {
  readonly identity: TlsIdentity
  /** How late a new pair is noticed. */
  readonly every: Duration.Input
  readonly read: () => Result.Result<TlsIdentity, string>
}

/** Nothing where the file cannot be read. */
export const textOf = (path: string): string | undefined => {
  try {
    return readFileSync(path, "utf8")
  } catch {
    return undefined
  }
}

export const certificateOf = (pem: string): X509Certificate | undefined => {
  try {
    return new X509Certificate(pem)
  } catch {
    return undefined
  }
}

const isPair = (certificate: X509Certificate, key: string): boolean => {
  try {
    return certificate.checkPrivateKey(createPrivateKey(key))
  } catch {
    return false
  }
}

/** RFC 9325 §4.5. With a much shorter one, platforms start and then complete no handshake. */
const leastRsaBits = 2048

const isTooShort = ({ publicKey: { asymmetricKeyDetails: details } }: X509Certificate): boolean =>
  details?.modulusLength !== undefined && details.modulusLength < leastRsaBits

/** Each certificate of a chain; `undefined` where one cannot be read, as of a file that is written just now. */
const chainIn = (pem: string): ReadonlyArray<X509Certificate> | undefined => {
  const chain = certificatesIn(pem)
    .map(certificateOf)
    .filter((one) => one !== undefined)
  return chain.length > 0 && chain.length === pem.split("-----BEGIN CERTIFICATE-----").length - 1 ? chain : undefined
}

/** A chain, whose first certificate is the key's; or what is wrong, which names no path and holds no secret. */
const readIdentity = (certPath: string, keyPath: string): Result.Result<TlsIdentity, string> => {
  const cert = textOf(certPath) ?? ""
  const key = textOf(keyPath)
  const [own] = chainIn(cert) ?? []
  if (own === undefined)
    return Result.fail("TLS_CERT: expected a readable PEM file of whole certificates that begins with the server's")
  if (isTooShort(own)) return Result.fail(`TLS_CERT: expected an RSA key of ${leastRsaBits} bits or more`)
  if (key === undefined) return Result.fail("TLS_KEY: expected a readable PEM file with the private key")
  return isPair(own, key)
    ? Result.succeed({ cert, key })
    : Result.fail("TLS_KEY: expected the unencrypted private key of the first certificate of TLS_CERT")
}

export const tlsVariables = {
  tlsCert: optional<string>({ name: "TLS_CERT", expected: "the path of a PEM file", read: Option.some }),
  tlsKey: optional<string>({ name: "TLS_KEY", expected: "the path of a PEM file", read: Option.some })
}

/** `undefined` where TLS ends elsewhere; otherwise what is wrong, for the operator. */
export const tlsFilesOf = (
  cert: Option.Option<string>,
  key: Option.Option<string>,
  issuer: string
): Result.Result<TlsFiles | undefined, string> => {
  if (Option.isNone(cert) && Option.isNone(key)) return Result.succeed(undefined)
  if (Option.isNone(cert)) return Result.fail("TLS_CERT: expected the certificate's file, because TLS_KEY is set")
  if (Option.isNone(key)) return Result.fail("TLS_KEY: expected the key's file, because TLS_CERT is set")
  if (!issuer.startsWith("https:")) return Result.fail("BASE_URL: expected an https URL, because TLS_CERT is set")
  const read = () => readIdentity(cert.value, key.value)
  return Result.map(read(), (identity) => ({ identity, read, every: "10 seconds" }))
}

/** Shows what the files hold from now on; a pair that is not whole yet, or not sound, is passed over until it is. */
export const followTls = (
  { every, identity, read }: TlsFiles,
  show: (identity: TlsIdentity) => void
): Effect.Effect<void, never, Scope.Scope> => {
  let shown = identity
  const look = Effect.suspend(() => {
    const found = read()
    if (Result.isFailure(found)) return Effect.logWarning("the new certificate is not shown", { why: found.failure })
    const { cert, key } = found.success
    if (cert === shown.cert && key === shown.key) return Effect.void
    return Effect.andThen(
      Effect.sync(() => {
        show(found.success)
        // Where the platform would not take it, it is tried again.
        shown = found.success
      }),
      Effect.logInfo("a new certificate is shown")
    )
  })
  const looking = Effect.ignoreCause(look, { log: "Warn" }).pipe(Effect.delay(every), Effect.repeat(Schedule.forever))
  return Effect.asVoid(Effect.forkScoped(looking))
}
