import { Option, Schema } from "effect"
import { openId } from "./Scope.ts"

const Text = Schema.String

/** OpenID Connect Core §5.1.1. */
export const Address = Schema.Struct({
  formatted: Schema.optionalKey(Text),
  street_address: Schema.optionalKey(Text),
  locality: Schema.optionalKey(Text),
  region: Schema.optionalKey(Text),
  postal_code: Schema.optionalKey(Text),
  country: Schema.optionalKey(Text)
})
export type Address = typeof Address.Type

/** What may be told of a person (OpenID Connect Core §5.1). */
export const standardClaims = {
  name: Text,
  given_name: Text,
  family_name: Text,
  middle_name: Text,
  nickname: Text,
  preferred_username: Text,
  profile: Text,
  picture: Text,
  website: Text,
  gender: Text,
  birthdate: Text,
  zoneinfo: Text,
  locale: Text,
  /** In seconds since 1970. */
  updated_at: Schema.Finite,
  email: Text,
  email_verified: Schema.Boolean,
  address: Address,
  phone_number: Text,
  phone_number_verified: Schema.Boolean
} as const
export type StandardClaim = keyof typeof standardClaims

export const isStandardClaim = (name: string): name is StandardClaim => Object.hasOwn(standardClaims, name)

/** What a scope lets an application learn of a person. */
export interface ClaimScope {
  readonly scope: string
  readonly claims: ReadonlyArray<string>
  /** Of a grant without `openid`, instead of `claims`. */
  readonly plainly?: ReadonlyArray<string>
}

/** OpenID Connect Core §5.4. A host adds rows of its own. */
export const claimScopes: ReadonlyArray<ClaimScope> = [
  {
    scope: "profile",
    claims: [
      "name",
      "given_name",
      "family_name",
      "middle_name",
      "nickname",
      "preferred_username",
      "profile",
      "picture",
      "website",
      "gender",
      "birthdate",
      "zoneinfo",
      "locale",
      "updated_at"
    ],
    // It was there before `openid`, and people approved it as "your name and email".
    plainly: ["name", "email", "email_verified", "picture"]
  },
  { scope: "email", claims: ["email", "email_verified"] },
  { scope: "address", claims: ["address"] },
  { scope: "phone", claims: ["phone_number", "phone_number_verified"] }
]

/** Whether a grant of these scopes covers a claim. */
export const claimsWithin = (
  rows: ReadonlyArray<ClaimScope>,
  scope: ReadonlyArray<string>
): ((claim: string) => boolean) => {
  const signsIn = scope.includes(openId)
  const covering = rows.filter((row) => scope.includes(row.scope))
  return (claim) => covering.some(({ claims, plainly }) => (signsIn ? claims : (plainly ?? claims)).includes(claim))
}

interface Known extends Readonly<Partial<Record<StandardClaim, unknown>>> {
  readonly sub: string
  /** Claims of a host's own. A standard one replaces one of its name. */
  readonly more?: Readonly<Record<string, unknown>>
}

/** Who a person is, and of what is known of them the claims that may be told. */
export const toldClaims = (
  { more, ...standard }: Known,
  isTold: (claim: string) => boolean
): Readonly<Record<string, unknown>> => {
  const told: Record<string, unknown> = { sub: standard.sub }
  const all: Readonly<Record<string, unknown>> = more === undefined ? standard : { ...more, ...standard }
  for (const name of Object.keys(all)) {
    const value = all[name]
    if (value !== undefined && isTold(name)) told[name] = value
  }
  return told
}

/** The `claims` of an authorization request (OpenID Connect Core §5.5). */
export interface ClaimsAsked {
  readonly userinfo: ReadonlyArray<string>
  readonly idToken: ReadonlyArray<string>
  /** The person whom the ID token has to name, or several of whom it may, where the request asks for any. */
  readonly sub: string | ReadonlyArray<string> | undefined
  /** Strengths without any of which the request is to fail. */
  readonly acr: ReadonlyArray<string> | undefined
}

const Asked = Schema.NullOr(
  Schema.Struct({
    essential: Schema.optionalKey(Schema.Boolean),
    value: Schema.optionalKey(Schema.Unknown),
    values: Schema.optionalKey(Schema.Array(Schema.Unknown))
  })
)

const AskedByName = Schema.Record(Schema.String, Asked)

const readParameter = Schema.decodeUnknownOption(
  Schema.fromJsonString(
    Schema.Struct({ userinfo: Schema.optionalKey(AskedByName), id_token: Schema.optionalKey(AskedByName) })
  )
)

const isText = (value: unknown): value is string => typeof value === "string"

type Asking = Readonly<Record<string, typeof Asked.Type>>

const textsOf = (asked: Asking, name: string): ReadonlyArray<string> => valuesOf(asked[name]).filter(isText)

/** Of several, any does (§5.5.1). What the ID token is asked for counts, and userinfo's where it is asked for none. */
const subOf = (idToken: Asking, userinfo: Asking): ClaimsAsked["sub"] => {
  const named = textsOf(idToken, "sub")
  const [first, ...more] = named.length > 0 ? named : textsOf(userinfo, "sub")
  return first === undefined || more.length === 0 ? first : [first, ...more]
}

const valuesOf = (asked: typeof Asked.Type | undefined): ReadonlyArray<unknown> =>
  asked === undefined || asked === null ? [] : (asked.values ?? (asked.value === undefined ? [] : [asked.value]))

/** `undefined` where the text is none. Unknown claims are ignored (§5.5.1). */
export const readClaims = (text: string): ClaimsAsked | undefined =>
  Option.getOrUndefined(
    Option.map(readParameter(text), ({ id_token: idToken = {}, userinfo = {} }): ClaimsAsked => {
      const acr = textsOf(idToken, "acr")
      return {
        userinfo: Object.keys(userinfo),
        idToken: Object.keys(idToken),
        sub: subOf(idToken, userinfo),
        acr: idToken.acr?.essential === true && acr.length > 0 ? acr : undefined
      }
    })
  )

/** The scopes that cover claims which a request names one by one. */
export const scopesOfClaims = (rows: ReadonlyArray<ClaimScope>, claims: ReadonlyArray<string>): ReadonlyArray<string> =>
  rows.filter((row) => row.claims.some((claim) => claims.includes(claim))).map(({ scope }) => scope)
