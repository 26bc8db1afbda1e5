import { Effect, Layer, Option, Schema } from "effect"
import { Person } from "../../core/openapi/contract/userinfo.ts"
import { type Profile, ResourceOwner, type SignedIn } from "../../core/ports/ResourceOwner.ts"
import { StorageUnavailable } from "../../core/ports/Storage.ts"
import { UserId } from "../../core/rules/Id.ts"
import { digestOf } from "../../core/rules/Secret.ts"
import type { HostPeople, HostPerson } from "./HostPeople.ts"
import { nativeOf } from "./nativeRequest.ts"

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

const readUser = Schema.decodeUnknownOption(UserId)

const signedIn = (person: HostPerson): Effect.Effect<SignedIn, StorageUnavailable> => {
  const user = readUser(person.user)
  if (Option.isNone(user)) return away("owner.signedIn", "user is not 1 to 128 printable characters without a space")
  if (typeof person.session !== "string" || person.session === "") {
    return away("owner.signedIn", "session is missing: forms have to be bound to one")
  }
  const label: unknown = person.label ?? user.value
  if (typeof label !== "string") return away("owner.signedIn", "label is no text")
  return Effect.succeed({
    user: user.value,
    session: digestOf(person.session),
    label,
    role: person.role ?? "member"
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

/** The core's port, over what a host answers by values and promises. */
export const hostOwner = (people: HostPeople): Layer.Layer<ResourceOwner> =>
  Layer.succeed(ResourceOwner, {
    current: (_workspace, request) => {
      const { headers, method, path, query } = request
      const native = nativeOf(request)
      return Effect.flatMap(
        asked("owner.signedIn", () => people.signedIn({ headers, method, path, query, native })),
        (person) =>
          person === null || person === undefined
            ? Effect.succeed(Option.none())
            : Effect.map(signedIn(person), Option.some)
      )
    },
    signInAt: (_workspace, returnTo) => people.signInAt(returnTo),
    switchAt: (_workspace, returnTo) => (people.switchAt ?? people.signInAt)(returnTo),
    profile: (_workspace, sub) => {
      const { profile } = people
      if (profile === undefined) return Effect.succeedSome<Profile>({ sub })
      const ask = async () => {
        const told = await profile(sub)
        return told === null || told === undefined ? undefined : claimsOf(told)
      }
      return Effect.flatMap(asked("owner.profile", ask), (told) =>
        told === undefined ? Effect.succeedNone : Effect.map(profileOf(sub, told), Option.some)
      )
    }
  })
