import { Effect, Option, Result, Schema } from "effect"
import { type Client, isKnown, isStranger, knownAs } from "../../client/Client.ts"
import { readClientKey } from "../../client/ClientIdentifier.ts"
import { postLogoutRedirectUris } from "../../client/openIdMembers.ts"
import type { Hinted } from "../../engine/IdTokens.ts"
import type { EndingSessions } from "../../engine/Logouts.ts"
import { sidOf } from "../../grant/Authentication.ts"
import { takeOfAddress } from "../../http/addressLimit.ts"
import { seeOther } from "../../http/answer.ts"
import { noteOf } from "../../http/audit.ts"
import { fieldFor, isCsrfField } from "../../http/csrf.ts"
import { commonErrorPage } from "../../http/faults.ts"
import { readerOf, repeatedParameter, sentForm, sentQuery } from "../../http/form.ts"
import type { HeaderPairs, HttpResponse } from "../../http/Http.ts"
import {
  bound,
  type Call,
  type Contract,
  type Endpoint,
  type HandlerOf,
  type Sample,
  type Services
} from "../../http/Route.ts"
import { addressOf, fitsSignIn, wellFormed } from "../../http/returnUrl.ts"
import { pageNotFound, placeInWords } from "../../pages/CommonErrors.ts"
import { clientName, returnAddress } from "../../pages/Consent.ts"
import { endSessionPage, type SessionEndedPage, sessionEndedPage } from "../../pages/EndSession.ts"
import { allowances } from "../../ports/Limiter.ts"
import type { SignedIn } from "../../ports/ResourceOwner.ts"
import { Signatures } from "../../ports/Signatures.ts"
import { StorageUnavailable } from "../../ports/Storage.ts"
import { grantMark } from "../../rules/Id.ts"
import { type RedirectTarget, withQuery } from "../../rules/RedirectUri.ts"
import { Contended, InvalidRequest, TooManyRequests, UntrustedRequest } from "../../rules/Refusal.ts"
import { offersOpenId } from "../../rules/Scope.ts"
import { hasSessionPaths, pagesPath } from "../../workspace/SessionPath.ts"
import { basePath, logoutPath as path, scopesOf } from "../../workspace/Workspace.ts"
import { addressMember, whereOpenId } from "./metadata.ts"

/** OpenID Connect RP-Initiated Logout §2. What only wishes, `logout_hint` and `ui_locales`, changes nothing. */
const Asked = Schema.Struct({
  id_token_hint: Schema.optionalKey(Schema.String),
  client_id: Schema.optionalKey(Schema.String),
  post_logout_redirect_uri: Schema.optionalKey(Schema.String),
  state: Schema.optionalKey(Schema.String),
  logout_hint: Schema.optionalKey(Schema.String),
  ui_locales: Schema.optionalKey(Schema.String)
})
type Asked = typeof Asked.Type

/** The form of the page that asks is the same request, from the session that it was drawn for. */
const Form = Schema.Struct({
  ...Asked.fields,
  csrf: Schema.optionalKey(Schema.String.annotate({ description: "Of the server's own page alone." }))
}).annotate({ identifier: "LogoutForm" })

const readAsked = readerOf(Asked.fields)
const readForm = readerOf(Form.fields)

const shared = {
  heading: "OAuth",
  callers: [{ shows: "nothing" }],
  faults: [InvalidRequest, UntrustedRequest, TooManyRequests, Contended, StorageUnavailable]
} as const

/** A workspace may have scopes of its own, so each is asked whether people sign in by OpenID Connect. */
const isOffered = ({ policy }: Services, { workspace }: Call): boolean => offersOpenId(scopesOf(policy, workspace))

const notOffered = (pages: Services["pages"], call: Pick<Call, "requestId" | "workspace">): HttpResponse =>
  commonErrorPage(pages, call, pageNotFound(`${basePath(call.workspace.issuer)}/`))

/** A session that ends with the answer, which has the browser forget it. */
const forgotten: HeaderPairs = [["set-cookie", ""]]
const signedOutHere = "Asks the person, or tells that they are signed out."
const signedOutThere = "Signed out, and back to the application."
const endedLike =
  (headers: HeaderPairs): Sample =>
  ({ pages, workspace }) =>
    pages.show(workspace, 200, (place) => sessionEndedPage(place, {}), headers)

const answers = [
  { description: signedOutHere, like: endedLike([]) },
  { description: signedOutHere, like: endedLike(forgotten) },
  { description: signedOutThere, like: () => seeOther("/") },
  { description: signedOutThere, like: () => seeOther("/", forgotten) },
  {
    description: "This workspace has no sign-in by OpenID Connect.",
    like: ({ pages, workspace }) => notOffered(pages, { workspace, requestId: "" })
  }
] as const satisfies Contract["answers"]

const contract = {
  id: "logout",
  summary: "Sign a person out",
  description: "OpenID Connect RP-Initiated Logout.",
  query: Asked,
  answers,
  ...shared
} as const satisfies Contract

const byPostContract = {
  id: "logoutByPost",
  summary: "Sign a person out, by a form",
  description: "OpenID Connect RP-Initiated Logout §2: the same request as a form.",
  form: Form,
  answers,
  ...shared
} as const satisfies Contract

const hintMalformed = new InvalidRequest({
  reason: "id_token_hint",
  message: "The id_token_hint has to be an ID token that this server gave to the client that asks."
})

/** Who asks, and where the browser goes after: both as far as they hold. */
interface Known {
  readonly client: Client | undefined
  readonly hinted: Hinted | undefined
  readonly target: string | undefined
}

/** Everything is read before anything ends: a request that is wrong signs no person out. */
const known = Effect.fnUntraced(function* (services: Services, { now, workspace }: Call, asked: Asked) {
  const { client_id: named, id_token_hint: hint, post_logout_redirect_uri: uri } = asked
  // The signature comes before anything that a hint says.
  const hinted = hint === undefined ? undefined : yield* services.idTokens.hinted(workspace, hint, now)
  if (hint !== undefined && hinted === undefined) return yield* hintMalformed
  if (hinted !== undefined && named !== undefined && hinted.client !== named) return yield* hintMalformed
  const identifier = hinted?.client ?? named
  const key = Option.getOrUndefined(readClientKey(identifier))
  const found = key === undefined ? undefined : yield* services.clients.find(workspace.id, key, now)
  // One that was deleted, and whose identifier says all of it, is found as one whose time is over.
  const client = found !== undefined && isKnown(found, now) ? found : undefined
  const refuse = (reason: UntrustedRequest["reason"]) =>
    new UntrustedRequest({
      reason,
      ...(identifier === undefined ? {} : { clientId: identifier }),
      ...(uri === undefined ? {} : { redirectUri: uri })
    })
  if (named !== undefined && client === undefined) return yield* refuse("client_unknown")
  if (client?.disabled === true) return yield* refuse("client_disabled")
  // RP-Initiated Logout §3: character for character, even the port of a loopback address.
  const isRegistered =
    uri === undefined ||
    (client !== undefined && postLogoutRedirectUris.of(client)?.some((one) => one === uri) === true)
  if (!isRegistered) return yield* refuse("redirect_uri_not_registered")
  // Equal to one that was registered, which is a redirect URI.
  return { client, hinted, target: uri === undefined ? undefined : backTo(uri as RedirectTarget, asked.state) }
})

const backTo = (uri: RedirectTarget, state: string | undefined): string =>
  state === undefined ? uri : withQuery(uri, `state=${encodeURIComponent(wellFormed(state))}`)

const nameOf = (client: Client): string => clientName(knownAs(client))

/** All that applications may know a session by. */
const namesOf = ({ before = [], name, session }: SignedIn): ReadonlyArray<string> =>
  name === undefined ? [session, ...before] : [session, name, ...before]

/** Whether the hint is of this very session: only its client, and the person, could have it. */
const isOfSession = ({ workspace: { issuer } }: Call, { client, hinted }: Known, signedIn: SignedIn) =>
  client !== undefined &&
  hinted !== undefined &&
  hinted.user === signedIn.user &&
  namesOf(signedIn).some((session) => sidOf(issuer, client.id, session) === hinted.sid)

/** A browser that only looks ahead, or draws a picture or a frame, follows no click. */
const isNavigation = ({ request: { headers } }: Call): boolean =>
  (headers.get("sec-fetch-dest") ?? "document") === "document" &&
  !/prefetch|prerender/.test(`${headers.get("sec-purpose") ?? ""} ${headers.get("purpose") ?? ""}`)

/** A link, for the person to follow. What a stranger calls itself is no reason to: then it is the host that is told. */
const wayBack = ({ client, target }: Known): Pick<SessionEndedPage, "back"> => {
  if (client === undefined || target === undefined) return {}
  const application = isStranger(client) ? placeInWords(returnAddress(target)) : nameOf(client)
  return { back: { application, address: target } }
}

/**
 * RP-Initiated Logout §3: without a hint, something else has to say that the address is for real. That a stranger
 * registered it says nothing: it could be a sign-in page that looks like ours.
 */
const signedOut = (services: Services, call: Call, found: Known, headers: HeaderPairs): HttpResponse => {
  const { client, hinted, target } = found
  return target !== undefined && client !== undefined && (hinted !== undefined || !isStranger(client))
    ? seeOther(target, headers)
    : services.pages.show(call.workspace, 200, (place) => sessionEndedPage(place, wayBack(found)), headers)
}

/** No person is signed in, as far as this request shows. */
const nobody = (services: Services, call: Call, found: Known): HttpResponse => {
  const { workspace } = call
  const { hinted } = found
  const seeks =
    services.owner.hasSessionPaths === true && hasSessionPaths(workspace) && workspace.sessionPath === undefined
  // An unknown client sends no browser on by a link of ours.
  if (hinted !== undefined && !seeks) return signedOut(services, call, found, [])
  const sought = addressOf(basePath(workspace.issuer) + path, call.request.query)
  return services.pages.show(workspace, 200, (place) =>
    sessionEndedPage(place, {
      ...wayBack(found),
      ...(seeks ? { session: { sought } } : {})
    })
  )
}

const ended = Effect.fnUntraced(function* (services: Services, call: Call, found: Known, signedIn: SignedIn) {
  const { user } = signedIn
  const { workspace } = call
  const ending: EndingSessions = {
    user,
    sessions: namesOf(signedIn),
    why: "by_user",
    ended: (id) => noteOf(services, call, { _tag: "GrantRevoked", grant: grantMark(id), why: "by_user", by: user })
  }
  const over = Effect.suspend(
    () => services.owner.signOut?.(workspace, call.request, signedIn) ?? Effect.succeed<HeaderPairs>([])
  )
  const headers = yield* services.logouts.endWith(workspace, ending, over)
  yield* noteOf(services, call, { _tag: "SignedOut", account: user })
  return signedOut(services, call, found, headers)
})

const asks = (services: Services, call: Call, asked: Asked, { client }: Known, { label, session }: SignedIn) =>
  services.pages.show(call.workspace, 200, (place) =>
    endSessionPage(place, {
      account: label,
      ...(client === undefined ? {} : { application: nameOf(client) }),
      fields: { ...asked, csrf: fieldFor(services, call, session) }
    })
  )

const answered = Effect.fnUntraced(function* (services: Services, call: Call, asked: Asked, csrf: string) {
  yield* takeOfAddress(services.limiter, call, allowances.authorize)
  const signedIn = Option.getOrUndefined(yield* services.owner.current(call.workspace, call.request))
  if (signedIn === undefined && call.request.method === "POST") return yield* byQuery(call, asked)
  const found: Known = yield* known(services, call, asked)
  if (signedIn === undefined) return nobody(services, call, found)
  const isOwnForm =
    call.request.method === "POST" && isCsrfField(services.keys.current(), call.workspace, signedIn.session, csrf)
  return isOwnForm || (isNavigation(call) && isOfSession(call, found, signedIn))
    ? yield* ended(services, call, found, signedIn)
    : asks(services, call, asked, found, signedIn)
})

/** A form of another site comes without the session's cookie, which is `SameSite=Lax`: the navigation that follows has it. */
const byQuery = (call: Call, asked: Asked): Effect.Effect<HttpResponse, InvalidRequest> => {
  const query = Object.entries(asked)
    .map(([name, value]) => `${name}=${encodeURIComponent(wellFormed(value))}`)
    .join("&")
  const to = addressOf(pagesPath(call.workspace) + path, query)
  return fitsSignIn(to) ? Effect.succeed(seeOther(to)) : Effect.fail(tooLong)
}

const tooLong = new InvalidRequest({
  reason: "request_too_long",
  message: "The request is longer than 12 KiB, as it is encoded in an address."
})

const handler =
  (services: Services): HandlerOf<typeof contract> =>
  (call) => {
    if (!isOffered(services, call)) return Effect.succeed(notOffered(services.pages, call))
    const { repeated, sent } = sentQuery(call.request.query)
    if (repeated.size > 0) return Effect.fail(repeatedParameter(repeated))
    return Effect.flatMap(Effect.fromResult(readAsked(sent)), (asked) => answered(services, call, asked, ""))
  }

const byPostHandler =
  (services: Services): HandlerOf<typeof byPostContract> =>
  (call) => {
    if (!isOffered(services, call)) return Effect.succeed(notOffered(services.pages, call))
    const sent = Result.flatMap(sentForm(call.request), readForm)
    return Effect.flatMap(Effect.fromResult(sent), ({ csrf = "", ...asked }) => answered(services, call, asked, csrf))
  }

const yes = whereOpenId({ schema: Schema.Boolean, value: () => true })

/** OpenID Connect RP-Initiated Logout, and what follows from it (Back-Channel Logout §2.1). */
export const logoutEndpoint: Endpoint = {
  path,
  match: "exact",
  methods: { GET: bound(contract, handler), POST: bound(byPostContract, byPostHandler) },
  errors: "page",
  cors: false,
  present: ({ owner, signatures }) => signatures !== Signatures.none && owner.signOut !== undefined,
  metadata: {
    members: {
      end_session_endpoint: whereOpenId(addressMember(path)),
      backchannel_logout_supported: yes,
      backchannel_logout_session_supported: yes
    }
  }
}
