import { Effect, Layer, Option, Schema } from "effect"
import type { HttpRequest } from "../../core/http/Http.ts"
import { Person } from "../../core/oauth/endpoints/userinfo.ts"
import {
  type Profile,
  ResourceOwner,
  type SignedIn,
  type SignInAsked,
  type UserPlace
} from "../../core/ports/ResourceOwner.ts"
import { StorageUnavailable } from "../../core/ports/Storage.ts"
import { PlaceId, UserId } from "../../core/rules/Id.ts"
import { Instant } from "../../core/rules/Instant.ts"
import { ScopeName } from "../../core/rules/Scope.ts"
import { digestOf } from "../../core/rules/Secret.ts"
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

/** Somebody who is signed in with the host. */
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
}

/** Where a person may let an application act for them: one of several organisations of yours, say. */
export interface HostPlace {
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

/**
 * The people of a host. `signedIn` and `profile` give values, or promises of values; what they throw is answered with 503
 * and logged. `signInAt` and `switchAt` give addresses at once; what they throw is a fault of the server's, 500 and logged.
 */
export interface HostPeople {
  /** Who is at this browser, by your own session; `undefined` for nobody. */
  readonly signedIn: (request: HostRequest) => Now<HostPerson | null | undefined>
  /**
   * Your sign-in page, told where to send the browser back to: `/sign-in?return_to=${encodeURIComponent(returnTo)}`.
   * `workspace`: its id, here and below.
   */
  readonly signInAt: (returnTo: string, workspace: string, asked?: SignInAsked) => string
  /**
   * Where "Not you?" leads, and comes back from in the same way: a page that lets somebody sign in though they are signed
   * in already. `asked`: for `login` an application asks that whoever is there signs in once more, and for
   * `select_account` that they choose who to be. Default: `signInAt`.
   */
  readonly switchAt?: (returnTo: string, workspace: string, asked?: SignInAsked) => string
  /**
   * The organisations, teams or accounts of a person, where one person has several: they choose on the consent page, and
   * the grant is for that place for good. With one it is bound without a question, and asked again at the answer, so that
   * whoever left meanwhile gets nothing. Default: grants have no place.
   */
  readonly places?: (user: string, workspace: string) => Now<ReadonlyArray<HostPlace>>
  /**
   * What applications with the scope `profile` learn; `undefined` once the person is gone. They are told what is named
   * here, and nothing else that the object has. Default: that there is somebody with this id.
   */
  readonly profile?: (user: string, workspace: string) => Now<Omit<Profile, "sub"> | null | undefined>
}

/** The host could not say: its own trouble goes to its own log, and the browser is asked to come again. */
const away = (option: string, cause: unknown) =>
  Effect.andThen(
    Effect.logError(`${option} failed`, cause),
    Effect.fail(new StorageUnavailable({ outcome: "not_done", message: `${option} failed` }))
  )

const asked = <A>(option: string, ask: () => A | Promise<A>): Effect.Effect<A, StorageUnavailable> =>
  Effect.tryPromise({ try: async () => ask(), catch: (cause) => cause }).pipe(
    Effect.catch((cause) => away(option, cause))
  )

const readInstant = Schema.decodeUnknownOption(Instant)

const readUser = Schema.decodeUnknownOption(UserId)

const signedIn = (person: HostPerson): Effect.Effect<SignedIn, StorageUnavailable> => {
  const user = readUser(person.user)
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
  return Effect.succeed({
    user: user.value,
    session: digestOf(person.session),
    label,
    role: person.role ?? "member",
    ...(Option.isNone(authenticatedAt) ? {} : { authenticatedAt: authenticatedAt.value })
  })
}

const claims = Object.keys(Person.fields)

/** Of a host's row, whose columns are its own affair. OpenID Connect Core §5.3.2: a claim without a value is left out. */
const claimsOf = (told: object): object =>
  Object.fromEntries(
    claims
      .map((claim): [string, unknown] => [claim, Reflect.get(told, claim)])
      .filter(([, value]) => value !== null && value !== undefined)
  )

const readPerson = Schema.decodeUnknownOption(Person)

const profileOf = (sub: UserId, told: object): Effect.Effect<Profile, StorageUnavailable> =>
  Option.match(readPerson({ ...told, sub }), {
    onNone: () => away("owner.profile", "name, email and picture have to be texts, and email_verified true or false"),
    onSome: (person) => Effect.succeed({ ...person, sub })
  })

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

const placing = ({ places }: HostPeople): Pick<ResourceOwner["Service"], "places"> =>
  places === undefined
    ? {}
    : {
        places: ({ id }, user) =>
          Effect.flatMap(
            asked("owner.places", () => places(user, id)),
            placesOf
          )
      }

/** The core's port, over what a host answers by values and promises. */
export const hostOwner = (people: HostPeople): Layer.Layer<ResourceOwner> =>
  Layer.succeed(ResourceOwner, {
    current: ({ id: workspace }, request) => {
      const { headers, method, path, query } = request
      const native = nativeOf(request)
      return Effect.flatMap(
        asked("owner.signedIn", () => people.signedIn({ workspace, headers, method, path, query, native })),
        (person) =>
          person === null || person === undefined
            ? Effect.succeed(Option.none())
            : Effect.map(signedIn(person), Option.some)
      )
    },
    signInAt: ({ id }, returnTo, asked) => people.signInAt(returnTo, id, asked),
    switchAt: ({ id }, returnTo, asked) => (people.switchAt ?? people.signInAt)(returnTo, id, asked),
    ...placing(people),
    profile: ({ id }, sub) => {
      const { profile } = people
      if (profile === undefined) return Effect.succeedSome<Profile>({ sub })
      const ask = async () => {
        const told = await profile(sub, id)
        return told === null || told === undefined ? undefined : claimsOf(told)
      }
      return Effect.flatMap(asked("owner.profile", ask), (told) =>
        told === undefined ? Effect.succeedNone : Effect.map(profileOf(sub, told), Option.some)
      )
    }
  })
