import { Effect, Schema } from "effect"
import { isBoundTo } from "../../grant/Binding.ts"
import { secretJson, type Written } from "../../http/answer.ts"
import { sentForm, severalOf } from "../../http/form.ts"
import { bound, type Contract, type Endpoint, type HandlerOf, type Services } from "../../http/Route.ts"
import { StorageUnavailable } from "../../ports/Storage.ts"
import { beginDevice } from "../../request/device.ts"
import { deviceFields, readDeviceRequest } from "../../request/readRequest.ts"
import {
  InvalidClient,
  InvalidDpopProof,
  InvalidRequest,
  InvalidScope,
  InvalidTarget,
  PortUnavailable,
  TooManyRequests,
  UnauthorizedClient,
  UseDpopNonce
} from "../../rules/Refusal.ts"
import { groupedCode } from "../../rules/UserCode.ts"
import { userCodeParameter } from "../../token/DeviceCode.ts"
import { deviceAuthorizationPath, devicePath, endpointUrl } from "../../workspace/Workspace.ts"
import { authenticateUnspent, spendProof, withClientFields } from "../clients/authenticateClient.ts"
import { deviceCode } from "../grants/deviceCode.ts"
import { proofReader, withProofFaults } from "../presented/proofs.ts"
import { otherKey, takePush } from "./par.ts"

/** RFC 8628 §3.2. */
const DeviceAnswer = Schema.Struct({
  device_code: Schema.String.annotate({ description: "For the token endpoint. The device keeps it to itself." }),
  user_code: Schema.String.annotate({ description: "For the person, who enters it on another device." }),
  verification_uri: Schema.String.annotate({ description: "Where the person enters it." }),
  verification_uri_complete: Schema.String.annotate({ description: "The same with the code in it, for a QR code." }),
  expires_in: Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)).annotate({
    description: "Seconds from now in which the person has to answer, and the device to ask."
  }),
  interval: Schema.Int.annotate({ description: "Seconds that the device waits between two requests for tokens." })
}).annotate({ identifier: "DeviceAuthorization" })
type DeviceAnswer = typeof DeviceAnswer.Type

const deviceContract = {
  id: "authorizeDevice",
  heading: "OAuth",
  summary: "Ask a person who has another device",
  description:
    "RFC 8628: for programs without a browser. The person opens `verification_uri` elsewhere and enters `user_code`; meanwhile the program asks the token endpoint for tokens by `device_code`.",
  form: Schema.Struct(deviceFields).annotate({ identifier: "DeviceAuthorizationRequest" }),
  callers: [{ shows: "clientSecret" }, { shows: "nothing" }],
  answers: [{ description: "Codes for both devices.", like: () => secretJson(200, {}), body: DeviceAnswer }],
  faults: [
    InvalidRequest,
    InvalidClient,
    UnauthorizedClient,
    InvalidScope,
    InvalidTarget,
    InvalidDpopProof,
    UseDpopNonce,
    TooManyRequests,
    PortUnavailable,
    StorageUnavailable
  ]
} as const satisfies Contract

const several = severalOf(deviceContract.form.fields)

/** RFC 8628 §3.5: what `allowances.devicePoll` allows, and a second for the way. */
const interval = 5

/** RFC 8628 §3.1. */
const deviceAuthorizationHandler = (services: Services): HandlerOf<typeof deviceContract> => {
  const readProof = proofReader(services)
  return Effect.fnUntraced(function* (call) {
    const sent = yield* Effect.fromResult(sentForm(call.request, several))
    const proof = yield* Effect.fromResult(readProof(call))
    const by = yield* authenticateUnspent(services, call, sent)
    const spending = spendProof(services, call, by)
    if (spending !== undefined) yield* spending
    yield* takePush(services, call, by)
    const workspace = yield* services.openings.current(call.workspace, call.now)
    const read = yield* Effect.fromResult(readDeviceRequest(services, workspace, by.client, sent))
    if (proof !== undefined) {
      if (read.binding !== undefined && !isBoundTo(read.binding, proof.binding)) return yield* otherKey
      yield* proof.holds
      yield* services.once.spend(call.workspace.id, proof.single, call.requestId)
    }
    const asked = proof === undefined ? read : { ...read, binding: proof.binding }
    const { deviceCode, expiresInSeconds, userCode } = yield* beginDevice(services, call, asked)
    const page = endpointUrl(call.workspace, devicePath)
    const answer = {
      device_code: deviceCode,
      user_code: groupedCode(userCode),
      verification_uri: page,
      verification_uri_complete: `${page}?${userCodeParameter}=${groupedCode(userCode)}`,
      expires_in: expiresInSeconds,
      interval
    } satisfies Written<DeviceAnswer>
    return secretJson(200, answer, proof?.tells)
  })
}

/** Devices are served where their grant type is. */
export const servesDevices: NonNullable<Endpoint["present"]> = ({ grantTypes }) => grantTypes.has(deviceCode.name)

/** RFC 8628. */
export const deviceAuthorizationEndpoint: Endpoint = {
  path: deviceAuthorizationPath,
  match: "exact",
  methods: {
    POST: bound(
      (services) => withProofFaults(services, "auth", withClientFields(services, deviceContract)),
      deviceAuthorizationHandler
    )
  },
  errors: "oauth",
  cors: true,
  present: servesDevices,
  metadata: { name: "device_authorization_endpoint" }
}
