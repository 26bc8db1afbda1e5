import { Effect, Option, Result } from "effect"
import { takeOfAddress } from "../../http/addressLimit.ts"
import { seeOther } from "../../http/answer.ts"
import { refused } from "../../http/audit.ts"
import { fieldFor, requireOwn } from "../../http/csrf.ts"
import { readForm, readParameters } from "../../http/form.ts"
import type { HttpResponse } from "../../http/Http.ts"
import { type Call, type Endpoint, type Handler, page, pageEndpoint, type Services } from "../../http/Route.ts"
import { addressOf, returnUrlOf, returnUrlOfPage } from "../../http/returnUrl.ts"
import { deviceCodePage, devicePage } from "../../pages/Device.ts"
import { allowances } from "../../ports/Limiter.ts"
import type { SignedIn } from "../../ports/ResourceOwner.ts"
import { findDevice } from "../../request/device.ts"
import { queryAgain } from "../../request/pushed.ts"
import { InvalidRequest } from "../../rules/Refusal.ts"
import { groupedCode, readUserCode } from "../../rules/UserCode.ts"
import { userCodeParameter } from "../../token/DeviceCode.ts"
import { inSession } from "../../workspace/SessionPath.ts"
import { authorizeAt, basePath, devicePath, endpointUrl } from "../../workspace/Workspace.ts"
import { servesDevices } from "./deviceAuthorization.ts"

const codePath = `${devicePath}/code`

/** One answer for every code that leads nowhere: guessing tells nothing but that. */
const noSuchCode = "No device waits with this code. Look at it again, or start anew on the device."

const codeQuery = (code: string): string => `${userCodeParameter}=${code}`

/** A code as people read it; what is none stays as it came, so that it can be put right. */
const tidied = (entered: string | undefined): string | undefined => {
  const code = entered === undefined ? undefined : readUserCode(entered)
  return code === undefined ? entered?.slice(0, 32) : groupedCode(code)
}

const draw = (
  services: Services,
  call: Call,
  { label, session }: SignedIn,
  entered: string | undefined,
  problem?: string
): HttpResponse => {
  const { owner, pages } = services
  const { workspace } = call
  const code = entered === undefined ? undefined : readUserCode(entered)
  const here = addressOf(
    basePath(workspace.issuer) + devicePath,
    code === undefined ? "" : codeQuery(groupedCode(code))
  )
  return pages.show(workspace, problem === undefined ? 200 : 400, (place) =>
    devicePage(place, {
      entered: tidied(entered),
      account: label,
      switchAccount: (owner.switchAt ?? owner.signInAt)(workspace, here),
      csrf: fieldFor(services, call, session),
      ...(problem === undefined ? {} : { problem }),
      ...(code === undefined || problem !== undefined
        ? {}
        : { shownAt: `${place.base}${codePath}?${codeQuery(groupedCode(code))}` })
    })
  )
}

/** Only a person who is signed in enters a code: each guess is an account's. */
const deviceHandler = (services: Services): Handler =>
  Effect.fnUntraced(function* (call) {
    const here = yield* services.owner.current(call.workspace, call.request)
    if (Option.isNone(here)) return seeOther(services.owner.signInAt(call.workspace, returnUrlOf(call)))
    const { parameters } = readParameters(call.request.query)
    return draw(services, call, here.value, parameters.get(userCodeParameter))
  })

/** RFC 8628 §5.1: of the account, of its address, and of all. */
const takeGuess = Effect.fnUntraced(function* (services: Services, call: Call, { user }: SignedIn) {
  const { id: workspace } = call.workspace
  yield* services.limiter.take({ allowance: allowances.userCode, workspace, of: user })
  yield* takeOfAddress(services.limiter, call, allowances.userCodeFrom)
  yield* services.limiter.take({ allowance: allowances.userCodeInAll, workspace, of: "all" })
})

/** RFC 8628 §3.3. A code leads to the consent page, which asks for itself: also where a link brought the code (§5.4). */
const deviceFormHandler = (services: Services): Handler =>
  Effect.fnUntraced(function* (call) {
    const form = yield* Effect.fromResult(readForm(call.request))
    const { workspace } = call
    const here = yield* services.owner.current(workspace, call.request)
    if (Option.isNone(here)) return seeOther(services.owner.signInAt(workspace, returnUrlOfPage(call)))
    yield* requireOwn(services, call, here.value.session, form)
    yield* takeGuess(services, call, here.value)
    const entered = form.get(userCodeParameter) ?? ""
    const found = yield* Effect.result(findDevice(services, call, entered))
    if (Result.isSuccess(found)) {
      const query = queryAgain(services.keys.current(), workspace, found.success)
      return seeOther(inSession(workspace, addressOf(authorizeAt(workspace), query)))
    }
    if (found.failure._tag !== "InvalidUserCode") return yield* found.failure
    yield* refused(services.audit, call, found.failure)
    return draw(services, call, here.value, entered, noSuchCode)
  })

/** Drawn of the address alone: it neither looks for the code nor says whether there is such a one. */
const deviceCodeHandler =
  (services: Services): Handler =>
  (call) => {
    const { workspace } = call
    const code = readUserCode(readParameters(call.request.query).parameters.get(userCodeParameter) ?? "")
    if (code === undefined) {
      const message = `The parameter ${userCodeParameter} is no code of a device.`
      return Effect.fail(new InvalidRequest({ reason: "malformed_parameter", message }))
    }
    const verificationUri = endpointUrl(workspace, devicePath)
    const userCode = groupedCode(code)
    return Effect.succeed(
      services.pages.show(workspace, 200, (place) =>
        deviceCodePage(place, {
          userCode,
          verificationUri,
          verificationUriComplete: `${verificationUri}?${codeQuery(userCode)}`
        })
      )
    )
  }

export const deviceEndpoint: Endpoint = {
  ...pageEndpoint(devicePath, { GET: page(deviceHandler), POST: page(deviceFormHandler) }),
  present: servesDevices
}

export const deviceCodeEndpoint: Endpoint = {
  ...pageEndpoint(codePath, { GET: page(deviceCodeHandler) }),
  storeless: true,
  present: servesDevices
}
