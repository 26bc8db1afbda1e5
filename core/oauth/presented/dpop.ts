import { Effect, Result } from "effect"
import { LruMap } from "../../cache/LruMap.ts"
import type { Members } from "../../codec/Json.ts"
import { millisIn, readJws, type UnverifiedJws } from "../../codec/Jws.ts"
import { isKeyText } from "../../grant/apiKey.ts"
import type { HttpRequest } from "../../http/Http.ts"
import { adapterFault, type Signatures } from "../../ports/Signatures.ts"
import { type Instant, later, leeway, type Millis, minute } from "../../rules/Instant.ts"
import { type Algorithm, fitsAlgorithm, type PublicKey, readPublicKey, thumbprint } from "../../rules/Jwk.ts"
import { InvalidDpopProof, InvalidToken } from "../../rules/Refusal.ts"
import { hashOf, isBearerToken, isDigestOf } from "../../rules/Secret.ts"
import type { Place } from "../../token/KeyRing.ts"
import { originOf } from "../../workspace/Workspace.ts"
import type { Presentation, PresentationPorts, Proof } from "./Presentation.ts"

const scheme = "DPoP"

/** RFC 9449 §4.2. FAPI 2.0 §5.4.1 takes no RS256, and no client needs it for a key that it makes for this. */
export const proofAlgorithms = ["EdDSA", "Ed25519", "ES256", "PS256"] as const satisfies ReadonlyArray<Algorithm>

const isProofAlgorithm = (alg: unknown): alg is Algorithm => proofAlgorithms.some((one) => one === alg)

/** RFC 9449 §11.1: how old a proof may be. The server remembers each for as long as it would be taken. */
const longestAge: Millis = minute

const longestJti = 256

/** What a proof has to be for. */
export interface Expected {
  readonly method: string
  /** The address of the request as its caller knows it: never of its `Host`, which is a stranger's. */
  readonly address: string
  readonly now: Instant
  /** The token that it came with; `undefined` at the token endpoint. */
  readonly token?: string
}

/** The key that a proof names as its own. */
interface SaidKey {
  readonly key: PublicKey
  readonly algorithm: Algorithm
  readonly thumbprint: string
}

/** What a proof says that is for this request. Only its signature is left to make it true. */
export interface Said extends SaidKey {
  readonly jti: string
  /** From then on it is refused for its age, also where a clock is behind. */
  readonly until: Instant
}

type Reason = InvalidDpopProof["reason"]

/** RFC 9449 §4.2, RFC 7638: the key stands in the proof itself, which is what makes it the caller's. */
const keyIn = ({ alg, jwk, kid }: Members): Result.Result<SaidKey, Reason> => {
  if (!isProofAlgorithm(alg)) return Result.fail("proof_alg")
  const key = readPublicKey(jwk)
  if (Result.isFailure(key) || !fitsAlgorithm(key.success, alg)) return Result.fail("proof_key")
  const { kid: _, ...material } = key.success
  // A name that the header gives its key says nothing here: there is one key.
  return Result.succeed({
    algorithm: alg,
    key: typeof kid === "string" ? { ...material, kid } : material,
    thumbprint: thumbprint(key.success)
  })
}

/** The header of a proof that was read before: a caller sends the same with each. */
interface KnownHeader {
  readonly header: Members
  readonly signed: SaidKey
}

const headersKept = 1000
/** With an RSA key of 4096 bits. */
const longestKeptHeader = 1024

/** By their text, so nothing makes them wrong. */
const knownHeaders = new LruMap<string, KnownHeader>(headersKept)

/** The key of a header that this very text stands for. */
const signedIn = ({ header, text }: UnverifiedJws): Result.Result<SaidKey, Reason> => {
  const part = text.slice(0, text.indexOf("."))
  const known = knownHeaders.get(part)
  if (known !== undefined) return Result.succeed(known.signed)
  const signed = keyIn(header)
  if (Result.isSuccess(signed) && part.length <= longestKeptHeader) {
    knownHeaders.set(part, { header, signed: signed.success })
  }
  return signed
}

/** RFC 3986 §6.2.2: an escape is in upper case, and what needs none has none. */
const escapes = (path: string): string =>
  path.replace(/%[0-9a-f]{2}/gi, (octet) => {
    const character = String.fromCharCode(Number.parseInt(octet.slice(1), 16))
    return /[A-Za-z0-9\-._~]/.test(character) ? character : octet.toUpperCase()
  })

const longestAddress = 4096

/** `URL` reads more than the RFC has: spaces around, backslashes, slashes too few or too many. And no user is in it. */
const isWritten = (text: string): boolean =>
  text.length <= longestAddress && /^https?:\/\/(?!\/|[^/?#]*@)[\x21-\x5b\x5d-\x7e]+$/i.test(text)

/** RFC 9449 §4.3: as it is compared, normalised and without query and fragment. `undefined`: no address of the web. */
export const addressOf = (text: string): string | undefined => {
  if (!isWritten(text) || !URL.canParse(text)) return undefined
  const { origin, pathname } = new URL(text)
  return origin + escapes(pathname)
}

/** Most callers write it as the server does, and reading both costs as much as all other claims. */
const isSameAddress = (htu: string, expected: string): boolean => {
  if (htu === expected) return isWritten(htu)
  const address = addressOf(htu)
  return address !== undefined && address === addressOf(expected)
}

/** When the proof was made, if it may be taken now. `nbf` and `exp` are not the RFC's, and may only narrow it. */
const madeAt = (claims: Members, now: Instant): number | undefined => {
  const { exp, nbf } = claims
  const at = millisIn(claims, "iat")
  if (at === undefined || at <= now - longestAge || at > now + leeway) return undefined
  if (nbf !== undefined && !((millisIn(claims, "nbf") ?? Number.NaN) <= now + leeway)) return undefined
  if (exp !== undefined && !((millisIn(claims, "exp") ?? Number.NaN) > now - leeway)) return undefined
  return at
}

/** RFC 9449 §4.3: all that can be said of a proof without its signature, which costs more than the rest. */
export const checkProof = (jws: UnverifiedJws, expected: Expected): Result.Result<Said, Reason> => {
  const { claims, header } = jws
  if (header.typ !== "dpop+jwt") return Result.fail("proof_typ")
  // RFC 7515 §4.1.11, RFC 7797: no extension is understood here.
  if (header.crit !== undefined || header.b64 !== undefined) return Result.fail("proof_malformed")
  const signed = signedIn(jws)
  if (Result.isFailure(signed)) return Result.fail(signed.failure)
  const { ath, htm, htu, jti } = claims
  if (typeof jti !== "string" || jti === "" || jti.length > longestJti) return Result.fail("proof_jti")
  if (htm !== expected.method) return Result.fail("proof_htm")
  if (typeof htu !== "string" || !isSameAddress(htu, expected.address)) return Result.fail("proof_htu")
  const at = madeAt(claims, expected.now)
  if (at === undefined) return Result.fail("proof_iat")
  const { token } = expected
  if (token !== undefined && !(typeof ath === "string" && isDigestOf(hashOf(token), ath)))
    return Result.fail("proof_ath")
  // Half a second may stand in `iat`, and an instant is whole.
  const until = later(expected.now, Math.ceil(at - expected.now) + longestAge + leeway)
  return Result.succeed({ ...signed.success, jti, until })
}

const refusal = (reason: Reason) => new InvalidDpopProof({ reason })

const verified = (jws: UnverifiedJws, { algorithm, key }: Said, signatures: Signatures["Service"]): Proof["holds"] =>
  Effect.suspend(() => signatures.verify(jws, [key], [algorithm])).pipe(
    Effect.asVoid,
    Effect.catchTag("SignatureFault", (fault) => Effect.fail(adapterFault(fault) ?? refusal("proof_forged")))
  )

/** The proof of a request's header; `undefined` where there is none. */
const readProof = (
  { headers }: HttpRequest,
  expected: Expected,
  { nonces, signatures }: PresentationPorts,
  place: Place | undefined
): ReturnType<NonNullable<Presentation["proves"]>> => {
  const text = headers.get("dpop")
  if (text === null || text === undefined) return undefined
  // RFC 9449 §4.3: two headers reach this as one, with a comma between them, which no proof has.
  if (text.includes(",")) return Result.fail(refusal("proof_repeated"))
  const jws = readJws(text.trim(), (part) => knownHeaders.get(part)?.header)
  if (jws === undefined) return Result.fail(refusal("proof_malformed"))
  const said = checkProof(jws, expected)
  if (Result.isFailure(said)) return Result.fail(refusal(said.failure))
  const at = expected.token === undefined ? "auth" : "resource"
  const { nonce } = jws.claims
  const tells = place === undefined || nonces === undefined ? nothing : nonces.judge(at, place, nonce, expected.now)
  if (Result.isFailure(tells)) return Result.fail(tells.failure)
  const binding = { thumbprint: said.success.thumbprint }
  return Result.succeed({
    binding,
    holds: verified(jws, said.success, signatures),
    // Each key has names of its own, so that no caller uses up another's.
    single: {
      purpose: "dpop-proof",
      value: `${binding.thumbprint} ${said.success.jti}`,
      until: said.success.until,
      refusal: replayed
    },
    tells: tells.success
  })
}

const nothing = Result.succeed([])

const replayed = refusal("proof_replayed")

/** RFC 9110 §11.1: the scheme's name is the same in whatever case. */
const shownText = ({ headers }: HttpRequest): string | undefined => {
  const authorization = headers.get("authorization")
  return authorization?.slice(0, scheme.length + 1).toLowerCase() === "dpop "
    ? authorization.slice(scheme.length + 1).trim()
    : undefined
}

/** RFC 9449: a token that is bound to a key, beside a proof that the caller has it. */
export const dpop: Presentation = {
  name: "dpop",
  scheme,
  shows: "token",
  signs: true,
  carries: (binding) => binding !== null,
  read: (request, base, now, ports, place) => {
    const text = shownText(request)
    if (text === undefined) return undefined
    // A key of the workspace is bound to nothing.
    if (!isBearerToken(text) || isKeyText(text)) return Effect.fail(new InvalidToken({ reason: "malformed" }))
    // The path is put behind the origin, never resolved against it: two slashes at its start are no other host.
    const address = originOf(base) + request.path
    const proof = readProof(request, { method: request.method, address, now, token: text }, ports, place)
    if (proof === undefined) return Effect.fail(refusal("proof_missing"))
    return Result.isFailure(proof)
      ? Effect.fail(proof.failure)
      : Effect.succeed({ text, binding: proof.success.binding, proof: proof.success })
  },
  proves: (request, address, now, ports, place) =>
    readProof(request, { method: request.method, address, now }, ports, place),
  challenge: (parameters) => `${scheme} ${[algs, ...parameters].join(", ")}`,
  metadata: { dpop_signing_alg_values_supported: proofAlgorithms }
}

/** RFC 9449 §7.1. */
const algs = `algs="${proofAlgorithms.join(" ")}"`
