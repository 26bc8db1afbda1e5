import { Effect } from "effect"
import type { Dice } from "../../core/testing/Dice.ts"
import type { Sent } from "../given/World.ts"
import { type Document, type JsonSchema, type Operation, variantsOf } from "./Document.ts"
import type { Wallet } from "./Wallet.ts"

const formType = "application/x-www-form-urlencoded"

/** What is done wrong on purpose. */
const ofParameters = ["absent", "broken", "repeated"] as const
const ofBodies = ["of another type", "with no body to speak of"] as const
const ofCallers = ["without credentials", "with other credentials"] as const
export type Mishap = (typeof ofParameters)[number] | (typeof ofBodies)[number] | (typeof ofCallers)[number]

/** What can be wrong with a request for an operation. */
export const mishapsOf = (operation: Operation): ReadonlyArray<Mishap> => {
  const hasBody = operation.requestBody !== undefined
  const hasParameters = hasBody || operation.parameters?.some((parameter) => parameter.in === "query") === true
  return [...(hasParameters ? ofParameters : []), ...(hasBody ? ofBodies : []), ...ofCallers]
}

interface Place {
  readonly in: "query" | "path" | "body"
  readonly name: string
  readonly required: boolean
  readonly schema: JsonSchema
}

export interface Field extends Place {
  readonly value: unknown
}

/** A request that a reader of the document would send, or one mishap away from it. */
export interface Drawn {
  readonly method: string
  readonly target: string
  readonly sent: Sent
  /** What was sent of that which the document names. */
  readonly fields: ReadonlyArray<Field>
  /** What the mishap was about. */
  readonly about: Place | undefined
}

export const bodyOf = ({ requestBody }: Operation) => Object.entries(requestBody?.content ?? {})[0]

const placesIn = (schema: JsonSchema): ReadonlyArray<Place> => {
  // A variant of a body is an object's schema.
  const { properties, required = [] } = schema as {
    readonly properties: Readonly<Record<string, JsonSchema>>
    readonly required?: ReadonlyArray<string>
  }
  return Object.entries(properties).map(([name, schema]) => ({
    in: "body",
    name,
    required: required.includes(name),
    schema
  }))
}

const strange = ["", " ", "%", "x".repeat(3000), "ünï\u0000\u202e", "'\"\\<>", "null", "[]", "\ud800"] as const
const strangeJson = [
  1,
  true,
  {},
  [1],
  [[]],
  ["\u0000"],
  "\u0000",
  "x".repeat(3000),
  [null],
  "javascript:alert(1)"
] as const

const texts: Readonly<Record<string, unknown>> = {
  redirect_uris: ["https://app.example.org/callback"],
  response_types: ["code"],
  contacts: ["ops@example.org"],
  scope: "api profile",
  state: "st&=+ä"
}

/** A value by the schema alone, where no special one is needed. */
const byItself = (dice: Dice, { name, schema }: Place): unknown => {
  if (name === "grant_types") {
    return dice.pick([["authorization_code"], ["client_credentials"], ["authorization_code", "client_credentials"]])
  }
  if (name === "resource_path") return dice.pick(["rest", "unheard-of"])
  if (texts[name] !== undefined) return texts[name]
  if (schema.type === "integer") return 60
  if (schema.type === "boolean") return true
  if (schema.type === "array") return ["some words"]
  if (Array.isArray(schema.enum)) return schema.enum[dice.under(schema.enum.length)]
  return name.endsWith("_uri") ? "https://app.example.org/about" : "some words"
}

/** A parameter that may come more than once (RFC 8707 §2). */
const isList = ({ in: where, name, schema }: Place): boolean =>
  schema.type === "array" && (where === "query" || name === "resource" || name === "audience")

const basic = (id: string, secret: string) => `Basic ${Buffer.from(`${id}:${secret}`).toString("base64")}`

/** The header that one of the ways to call asks for, and whether the body has to say who calls. */
const credentials = Effect.fnUntraced(function* (
  wallet: Wallet,
  requirement: Readonly<Record<string, ReadonlyArray<string>>>
) {
  const [scheme, scopes] = Object.entries(requirement)[0] ?? []
  if (scheme === undefined || scopes === undefined) return { authorization: undefined, inBody: true }
  if (scheme === "clientSecret") {
    const { id, secret } = wallet.client
    // Who has no secret can't use this way, and takes the other.
    return secret === undefined
      ? { authorization: undefined, inBody: true }
      : { authorization: basic(id, secret), inBody: false }
  }
  const token = scheme === "oauth2" ? yield* wallet.tokenFor(scopes) : yield* wallet.valueOf(scheme)
  return { authorization: `Bearer ${token}`, inBody: false }
})

/** Optional parameters without which a request seldom comes to all that it may be refused for. */
const likely = /^code_|^resource$/
/** What is refused unless it is signed, or of a form of its own, and hides whatever comes behind it. */
const seldom =
  /^(request|id_token_hint|claims|dpop_jkt|client_assertion|client_assertion_type|max_age|prompt|request_uri|registration)$/

/** What is refused with most values, of members that a registration has many of. */
const rare =
  /^jwks|^(require|default|backchannel|frontchannel|post_logout)_|_(alg|enc|profile|type|tokens|identifier_uri|login_uri)$|^request_uris$/

const chanceOf = ({ in: where, name }: Place): number => {
  if (likely.test(name)) return 85
  if (seldom.test(name)) return 6
  return where === "body" && rare.test(name) ? 3 : 40
}

const clientFields = ["client_id", "client_secret"]
/** What the document names to say that it is refused. */
const notTaken = ["actor_token", "actor_token_type"]

export const drawRequest = Effect.fnUntraced(function* (
  document: Document,
  operation: Operation,
  wallet: Wallet,
  dice: Dice,
  mishap: Mishap | undefined,
  /** The parameter that a mishap is about, where it is not left to chance. */
  chosen?: string
) {
  const [contentType, body] = bodyOf(operation) ?? []
  const variants = body === undefined ? [] : variantsOf(document, body.schema)
  const variant = variants[dice.under(Math.max(1, variants.length))]
  const inBody = variant === undefined ? [] : placesIn(variant)
  const places = [...(operation.parameters ?? []), ...inBody].filter(({ name }) => !notTaken.includes(name))

  const requirement = operation.security[dice.under(operation.security.length)] ?? {}
  const shown = yield* credentials(wallet, requirement)

  const fields: Array<Field> = []
  for (const place of places) {
    const needed = contentType === formType && clientFields.includes(place.name) ? shown.inBody : place.required
    // Beside the header it is one too many.
    if (place.name === "access_token" && mishap !== "without credentials" && !dice.chance(10)) continue
    const skipped = contentType === formType && clientFields.includes(place.name) && !shown.inBody
    if (skipped || (!needed && !dice.chance(chanceOf(place)))) continue
    const special =
      texts[place.name] === undefined || place.name === "scope" ? yield* wallet.valueOf(place.name) : undefined
    if (special === undefined && clientFields.includes(place.name)) continue
    const value = special ?? byItself(dice, place)
    fields.push({ ...place, value: isList(place) ? [value] : value })
  }

  const candidates = fields.filter(
    ({ in: where, name, required }) =>
      where !== "path" && (chosen === undefined ? mishap !== "absent" || required : name === chosen)
  )
  const about = candidates[dice.under(Math.max(1, candidates.length))]
  const json = contentType === "application/json"
  const strangeValue = () => (json ? strangeJson[dice.under(strangeJson.length)] : strange[dice.under(strange.length)])
  const final: ReadonlyArray<Field> = fields.flatMap((field): ReadonlyArray<Field> => {
    if (field !== about) return [field]
    if (mishap === "absent") return []
    if (mishap === "broken") return [{ ...field, value: isList(field) ? [strangeValue()] : strangeValue() }]
    return mishap === "repeated" ? [field, field] : [field]
  })

  const textOf = (where: Place["in"]) =>
    [
      ...final
        .filter((field) => field.in === where)
        .flatMap(({ name, value }) => [value].flat().map((one) => [name, String(one)] as const)),
      // Nothing that the document does not name makes a difference.
      ...(dice.chance(20) && where !== "path" ? [["unheard_of", "x"] as const] : [])
    ]
      .map(
        ([name, value]) =>
          `${encodeURIComponent(name)}=${encodeURIComponent(value.replace(/\p{Surrogate}/gu, "\ufffd"))}`
      )
      .join("&")

  const written = (): string => {
    if (mishap === "with no body to speak of") return dice.pick(["", "null", "[]", "{", "%%%=%", "\u0000"])
    if (!json) return textOf("body")
    return JSON.stringify(
      Object.fromEntries(final.filter((field) => field.in === "body").map((f) => [f.name, f.value]))
    )
  }
  const narrow = mishap === "with other credentials" ? yield* wallet.tokenFor([dice.pick(["api", "profile"])]) : ""
  const authorization = (): string | undefined => {
    if (mishap === "without credentials") return undefined
    if (mishap !== "with other credentials") return shown.authorization
    // A good token, of one scope only.
    if (dice.chance(40)) return `Bearer ${narrow}`
    return dice.pick([
      "Bearer x",
      "Bearer tsr_at_AAAA",
      "Bearer ",
      "Bearer §",
      "Basic !!!",
      "Negotiate abc",
      basic(wallet.client.id, "wrong"),
      basic("nobody", "wrong"),
      `Bearer ${wallet.client.registrationToken}`,
      `Bearer ${wallet.client.secret ?? "none"}`
    ])
  }
  const isBound = dice.chance(9)
  const shownNow = isBound ? authorization()?.replace(/^Bearer /, "DPoP ") : authorization()
  const typeNow =
    mishap === "of another type"
      ? dice.pick([
          "text/plain",
          "application/xml",
          "multipart/form-data; boundary=x",
          "",
          json ? formType : "application/json"
        ])
      : dice.chance(20) && contentType !== undefined
        ? `${contentType}; charset=UTF-8`
        : contentType

  const path = final
    .filter((field) => field.in === "path")
    .reduce((path, { name, value }) => path.replace(`{${name}}`, encodeURIComponent(String(value))), operation.path)
  const query = textOf("query")
  return {
    method: operation.method,
    target: query === "" || operation.method !== "GET" ? path : `${path}?${query}`,
    sent: {
      headers: {
        ...(typeNow === undefined || typeNow === "" ? {} : { "content-type": typeNow }),
        ...(shownNow === undefined ? {} : { authorization: shownNow }),
        ...(isBound ? { dpop: "nonsense" } : {}),
        ...(dice.chance(25) ? { "if-none-match": "*" } : {})
      },
      ...(contentType === undefined ? {} : { body: written() }),
      ...(dice.chance(75) ? { as: "alice" } : {}),
      peer: "192.0.2.7"
    },
    fields: final,
    about
  } satisfies Drawn
})
