import { Effect, Layer, Option, Schema } from "effect"
import type { HttpRequest } from "../../core/http/Http.ts"
import {
  type Profile,
  ResourceOwner,
  type SignedIn,
  type SignInAsked,
  type SignInHints,
  type StandardClaims,
  type UserPlace
} from "../../core/ports/ResourceOwner.ts"
import { StorageUnavailable } from "../../core/ports/Storage.ts"
import { standardClaims } from "../../core/rules/Claims.ts"
import { PlaceId, readUserId, type UserId } from "../../core/rules/Id.ts"
import { Instant } from "../../core/rules/Instant.ts"
import { ScopeName } from "../../core/rules/Scope.ts"
import { digestOf } from "../../core/rules/Secret.ts"
import type { Workspace } from "../../core/workspace/Workspace.ts"
import { nativeOf } from "./nativeRequest.ts"

/** A browser's request, as the host is asked about it. */
export interface HostRequest {
  /** The id of the workspace that it is for; where there is one alone, `main`. */
  readonly workspace: string
  readonly method: string
  readonly path: string
  readonly query: string
  readonly headers: HttpRequest["headers"]
  /** The request as your framework has it, with what your middleware put there: Express's `req`, Hono's context … */
  readonly native: unknown
}

/** A person who is signed in with the host. */
export interface HostPerson {
  /** What applications know the person by, as `sub`: at most 128 characters without spaces. Never given to another. */
  readonly user: string
  /** Tells this session from every other, as the cookie's value does: forms are bound to it. Only its hash is used. */
  readonly session: string
  /** How the account is called on the pages: an email, a name. Default: `user`. */
  readonly label?: string
  /** Owners look after applications and keys on the settings pages. Default: `"member"`. */
  readonly role?: "owner" | "member"
  /**
   * When the person last proved who they are. Without it, an application that asks for a new sign-in is content with
   * another `session` than before, and none can ask for one that is not too old.
   */
  readonly authenticatedAt?: Date
  /** How strongly they proved who they are, in your words: applications may ask for one (`acr_values`, RFC 9470). */
  readonly acr?: string
  /** By which means (RFC 8176): `["pwd", "otp"]`. */
  readonly amr?: ReadonlyArray<string>
}

/** Where a person may let an application act for them: one of several organisations of yours, say. */
interface HostPlace {
  /** What tokens name it by, as `place`: at most 128 characters without spaces. */
  readonly id: string
  /** How people know it. */
  readonly label: string
  /** Tells two of one name apart. */
  readonly detail?: string
  /** The scopes that the person may hand on there. Default: all that an application asks for and may have. */
  readonly scopes?: ReadonlyArray<string>
}

type Now<A> = A | Promise<A>

/** The standard claims of OpenID Connect, and those that the option `claims` names. */
type HostProfile = StandardClaims | (StandardClaims & { readonly [claim: string]: unknown })

/**
 * The people of a host. `signedIn` and `profile` give values, or promises of values; what they throw is answered with 503
 * and logged. `signInAt` and `switchAt` give addresses at once; what they throw is a fault of the server's, 500 and logged.
 */
export interface HostPeople {
  /** Who is at this browser, by your own session; `undefined`: no person. */
  readonly signedIn: (request: HostRequest) => Now<HostPerson | null | undefined>
  /**
   * Your sign-in page, told where to send the browser back to: `/sign-in?return_to=${encodeURIComponent(returnTo)}`.
   * `workspace`: its id, here and below.
   */
  readonly signInAt: (returnTo: string, workspace: string, asked?: SignInAsked, hints?: SignInHints) => string
  /**
   * Where "Not you?" leads, and comes back from in the same way: a page that lets a person sign in who is signed
   * in already. `asked`: for `login` an application asks that the person signs in once more, and for
   * `select_account` that they choose who to be. Default: `signInAt`.
   */
  readonly switchAt?: (returnTo: string, workspace: string, asked?: SignInAsked, hints?: SignInHints) => string
  /**
   * Ends your session of this browser, and gives headers for the answer, such as the `set-cookie` that clears it. With it,
   * applications may send people to be signed out (`/oauth/logout`). What the session's applications are due is done by then.
   */
  readonly signOut?: (request: HostRequest) => Now<ReadonlyArray<readonly [name: string, value: string]> | undefined>
  /**
   * The organisations, teams or accounts of a person, where one person has several: they choose on the consent page, and
   * the grant is for that place for good. With one it is bound without a question, and asked again at the answer, so that
   * a person who left meanwhile gets nothing. Default: grants have no place.
   */
  readonly places?: (user: string, workspace: string) => Now<ReadonlyArray<HostPlace>>
  /**
   * Whom an issuer of `trustedIssuers` means: the `user` of a person of yours, whom you may make where `make` says so;
   * `undefined` where there is none. Without it, the server takes no assertions.
   */
  readonly asserted?: (assertion: HostAssertion, workspace: string) => Now<string | null | undefined>
  /**
   * What applications with the scope `profile` learn; `undefined` once the person is gone. They are told what is named
   * here, and nothing else that the object has. Default: that there is a person with this id.
   */
  readonly profile?: (user: string, workspace: string) => Now<HostProfile | null | undefined>
}

/** Whom a trusted issuer means, in its own words. */
interface HostAssertion {
  readonly issuer: string
  /** The issuer's own name for the person, which it gives to no other. */
  readonly subject: string
  /** Where it says one, and does not say that it is unverified. */
  readonly email?: string
  /** Whether a new person is to be let in. */
  readonly make: boolean
}

/** The host could not say: its own trouble goes to its own log, and the browser is asked to come again. */
const away = (option: string, cause: unknown) =>
  Effect.andThen(
    Effect.logError(`${option} failed`, cause),
    Effect.fail(new StorageUnavailable({ outcome: "not_done", message: `${option} failed`, of: "host" }))
  )

const asked = <A>(option: string, ask: () => A | Promise<A>): Effect.Effect<A, StorageUnavailable> =>
  Effect.tryPromise({ try: async () => ask(), catch: (cause) => cause }).pipe(
    Effect.catch((cause) => away(option, cause))
  )

const readInstant = Schema.decodeUnknownOption(Instant)
const isTexts = Schema.is(Schema.Array(Schema.String))

const signedIn = (person: HostPerson): Effect.Effect<SignedIn, StorageUnavailable> => {
  const user = readUserId(person.user)
  if (Option.isNone(user)) return away("owner.signedIn", "user is not 1 to 128 printable characters without a space")
  if (typeof person.session !== "string" || person.session === "") {
    return away("owner.signedIn", "session is missing: forms have to be bound to one")
  }
  const label: unknown = person.label ?? user.value
  if (typeof label !== "string") return away("owner.signedIn", "label is no text")
  const at: unknown = person.authenticatedAt ?? undefined
  const authenticatedAt = readInstant(at instanceof Date ? at.getTime() : undefined)
  if (at !== undefined && Option.isNone(authenticatedAt)) {
    return away("owner.signedIn", "authenticatedAt is no valid Date")
  }
  const { acr, amr }: { readonly acr?: unknown; readonly amr?: unknown } = person
  if (acr !== undefined && typeof acr !== "string") return away("owner.signedIn", "acr is no text")
  if (amr !== undefined && !isTexts(amr)) return away("owner.signedIn", "amr is no list of texts")
  const role: unknown = person.role ?? "member"
  if (role !== "owner" && role !== "member") return away("owner.signedIn", "role is neither owner nor member")
  return Effect.succeed({
    user: user.value,
    session: sessionOf(person.session),
    label,
    role,
    ...(Option.isNone(authenticatedAt) ? {} : { authenticatedAt: authenticatedAt.value }),
    ...(acr === undefined ? {} : { acr }),
    ...(amr === undefined ? {} : { amr })
  })
}

/** Of a host's row, whose columns are its own affair: what is no claim is not looked at. */
const saidIn = (told: object, own: ReadonlyArray<string>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    [...Object.keys(standardClaims), ...own].map((claim) => [claim, Reflect.get(told, claim) ?? undefined])
  )

/** Claims by which applications know a person: a host that tells them wrongly is told so. */
const common = ["name", "email", "email_verified", "picture"]

const standardReaders = Object.entries(standardClaims).map(
  // Of Schemas of several types each reads its own, and all that is asked of them here is whether they do.
  ([claim, schema]) => [claim, Schema.decodeUnknownOption(schema as Schema.Decoder<unknown>)] as const
)

const Place = Schema.Struct({
  id: PlaceId,
  label: Schema.NonEmptyString,
  detail: Schema.optionalKey(Schema.String),
  scopes: Schema.optionalKey(Schema.Array(ScopeName))
})

const readPlaces = Schema.decodeUnknownOption(
  Schema.Array(Place).check(Schema.makeFilter((places) => new Set(places.map(({ id }) => id)).size === places.length))
)

const placesOf = (told: unknown): Effect.Effect<ReadonlyArray<UserPlace>, StorageUnavailable> =>
  Option.match(readPlaces(told), {
    onNone: () =>
      away("owner.places", "each needs an id of 1 to 128 printable characters without a space, once, and a label"),
    onSome: Effect.succeed
  })

// A host's people may be an object of a class: each function is called as its method.

const placing = (people: HostPeople): Pick<ResourceOwner["Service"], "places"> =>
  people.places === undefined
    ? {}
    : {
        places: ({ id }, user) =>
          Effect.flatMap(
            asked("owner.places", () => people.places?.(user, id)),
            placesOf
          )
      }

/** OpenID Connect Core §5.3.2: a claim without a value is left out, and so is a column that only has the name of one. */
const profileOf = (
  sub: UserId,
  said: Readonly<Record<string, unknown>>,
  own: ReadonlyArray<string>
): Effect.Effect<Profile, StorageUnavailable> => {
  const standard: StandardClaims = Object.fromEntries(
    standardReaders.flatMap(([claim, read]) =>
      Option.match(read(said[claim]), { onNone: () => [], onSome: (value) => [[claim, value]] })
    )
  )
  if (common.some((claim) => said[claim] !== undefined && !Object.hasOwn(standard, claim))) {
    return away("owner.profile", "name, email and picture have to be texts, and email_verified true or false")
  }
  const more = own.flatMap((claim) => (said[claim] === undefined ? [] : [[claim, said[claim]] as const]))
  return Effect.succeed({ ...standard, sub, ...(more.length === 0 ? {} : { more: Object.fromEntries(more) }) })
}

const hostRequest = ({ id: workspace }: Workspace, request: HttpRequest): HostRequest => {
  const { headers, method, path, query } = request
  return { workspace, headers, method, path, query, native: nativeOf(request) }
}

const isHeaders = Schema.is(Schema.Array(Schema.Tuple([Schema.String, Schema.String])))

const signingOut =
  (people: HostPeople): NonNullable<ResourceOwner["Service"]["signOut"]> =>
  (workspace, request) =>
    Effect.flatMap(
      asked("owner.signOut", () => people.signOut?.(hostRequest(workspace, request))),
      (headers = []) =>
        isHeaders(headers) ? Effect.succeed(headers) : away("owner.signOut", "gives no list of headers")
    )

/**
 * What a function of the host's gives that has to answer at once. A promise is a fault, and that is logged; what it fails
 * with is not waited for, and would end a process on Node.
 */
export const givenAtOnce = <A>(option: string, given: A): A => {
  if (!(given instanceof Promise)) return given
  given.catch(() => undefined)
  throw new TypeError(`${option} gives a promise, and has to answer at once`)
}

const addressOf = (option: string, given: unknown): string => {
  const address = givenAtOnce(option, given)
  if (typeof address === "string") return address
  throw new TypeError(`${option} gives no address`)
}

/** A host's own name of a session, as the core knows it. */
export const sessionOf = (session: string): string => digestOf(session)

/** The core's port, over what a host answers by values and promises. `own`: claims beside the standard ones. */
export const hostOwner = (people: HostPeople, own: ReadonlyArray<string> = []): Layer.Layer<ResourceOwner> =>
  Layer.succeed(ResourceOwner, {
    current: (workspace, request) => {
      const told = hostRequest(workspace, request)
      return Effect.flatMap(
        asked("owner.signedIn", () => people.signedIn(told)),
        (person) =>
          person === null || person === undefined
            ? Effect.succeed(Option.none())
            : Effect.map(signedIn(person), Option.some)
      )
    },
    signInAt: ({ id }, returnTo, asked, hints) =>
      addressOf("owner.signInAt", people.signInAt(returnTo, id, asked, hints)),
    switchAt: ({ id }, returnTo, asked, hints) =>
      people.switchAt === undefined
        ? addressOf("owner.signInAt", people.signInAt(returnTo, id, asked, hints))
        : addressOf("owner.switchAt", people.switchAt(returnTo, id, asked, hints)),
    ...placing(people),
    ...(people.signOut === undefined ? {} : { signOut: signingOut(people) }),
    asserted: ({ id }, assertion, make) => {
      if (people.asserted === undefined) return Effect.succeedNone
      return Effect.flatMap(
        asked("owner.asserted", () => people.asserted?.({ ...assertion, make }, id)),
        (told): Effect.Effect<Option.Option<UserId>, StorageUnavailable> => {
          if (told === null || told === undefined) return Effect.succeedNone
          const user = readUserId(told)
          return Option.isSome(user)
            ? Effect.succeed(user)
            : away("owner.asserted", "the user is not 1 to 128 printable characters without a space")
        }
      )
    },
    profile: ({ id }, sub) => {
      if (people.profile === undefined) return Effect.succeedSome<Profile>({ sub })
      const ask = async () => {
        const told = await people.profile?.(sub, id)
        return told === null || told === undefined ? undefined : saidIn(told, own)
      }
      return Effect.flatMap(asked("owner.profile", ask), (told) =>
        told === undefined ? Effect.succeedNone : Effect.map(profileOf(sub, told, own), Option.some)
      )
    }
  })
