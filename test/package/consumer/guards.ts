import type { Mount } from "tessera"
import * as ofBun from "tessera/bun"
import * as ofFetch from "tessera/fetch"
import type {
  ApiKeyCaller,
  Caller,
  Checked,
  Guard,
  IntrospectionFailure,
  Needs,
  UserCaller,
  WorkspaceCaller
} from "tessera/guard"
import { principalOf, remoteGuard } from "tessera/guard"
import * as ofHono from "tessera/hono"

const needs: Needs = { scopes: ["api"] }

export const failures: Array<IntrospectionFailure> = []

export const guard: Guard = remoteGuard({
  issuer: "https://auth.example.com",
  apiKey: "a key of the workspace's",
  resource: "https://api.example.com",
  onFailure: (failure) => failures.push(failure)
})

// A project that writes declarations has to find a name for the type of each of these.
export const onBun = ofBun.guard(guard, needs, () => new Response())
export const onFetch = ofFetch.guard(guard, needs, () => new Response())
export const onHono = ofHono.guard(guard, needs)

/** Compiles only where the two types are the same. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const same = <A, B>(_: Same<A, B>): void => undefined

// The principal's type is narrowed to the kinds that the route is for, and is any of the three without them.
const people = { scopes: ["api"], callers: ["User"] } as const
export const ofPeople = ofFetch.guard(guard, people, (_request, principal) => {
  same<typeof principal, UserCaller>(true)
  return new Response(principal.user)
})
export const ofScripts = ofBun.guard(guard, { scopes: [], callers: ["Workspace", "ApiKey"] }, (_request, principal) => {
  same<typeof principal, WorkspaceCaller | ApiKeyCaller>(true)
  return new Response()
})
export const ofAny = ofFetch.guard(guard, needs, (_request, principal) => {
  same<typeof principal, Caller>(true)
  return new Response()
})
const ofUser = (_request: Request, { user }: UserCaller) => new Response(user)
/** A platform's own request, such as `BunRequest` and `NextRequest`. */
interface RoutedRequest extends Request {
  readonly params: { readonly id: string }
}
export const ofRoute = ofBun.guard(guard, people, (request: RoutedRequest) => new Response(request.params.id))

export const ofUsers = ofFetch.guard(guard, people, ofUser)
// @ts-expect-error: a handler for people does not compile behind a guard that admits any caller
export const ofUsersAndMore = ofFetch.guard(guard, { scopes: ["api"] }, ofUser)
// @ts-expect-error: nor does an answer that is said to be about people
export const checked: Promise<Checked<Response, "User">> = guard.guard(new Request("https://api.example.com"), {
  scopes: ["api"]
})
export const userOf = async (request: Request): Promise<string | undefined> => {
  const checked = await guard.guard(request, people)
  return checked._tag === "Admitted" ? checked.principal.user : principalOf(request, ["User"])?.user
}
export const honoOfPeople = ofHono.guard(guard, people)
same<Parameters<Parameters<typeof honoOfPeople>[0]["set"]>[1], UserCaller>(true)
same<ofHono.GuardVariables<"User">["principal"], UserCaller>(true)

export const mounts = (auth: Mount) => ({
  bun: ofBun.mount(auth),
  fetch: ofFetch.mount(auth),
  hono: ofHono.mount(auth)
})
