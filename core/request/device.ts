import { Effect, Result } from "effect"
import type { DevicePoll } from "../engine/Grants.ts"
import type { Records } from "../engine/Records.ts"
import type { Call, Services } from "../http/Route.ts"
import { allowances, type Limiter } from "../ports/Limiter.ts"
import { StorageUnavailable } from "../ports/Storage.ts"
import { hasPassed, later } from "../rules/Instant.ts"
import { InvalidGrant, InvalidUserCode, SlowDown } from "../rules/Refusal.ts"
import { readUserCode, type UserCode, userCodeEntropy, userCodeOf } from "../rules/UserCode.ts"
import { deviceSecretLength, idOfUserCode, idsOfUserCode, openDeviceCode, sealDeviceCode } from "../token/DeviceCode.ts"
import type { Keys } from "../token/KeyRing.ts"
import { type AuthorizationRequest, polled, type Waiting } from "./AuthorizationRequest.ts"
import { type CheckedRequest, waitingOf } from "./readRequest.ts"

/** RFC 8628 §3.2: what a device is told, and waits with. */
export interface DeviceWaits {
  readonly deviceCode: string
  readonly userCode: UserCode
  readonly expiresInSeconds: number
}

/** A code that waits already is drawn again: among 25 billion, twice in a row is a broken source of randomness. */
const draws = 4

const codesTaken = new StorageUnavailable({ outcome: "not_done", message: "fresh codes of devices were taken" })

/** RFC 8628 §3.2: keeps what a device asks for under its user code, until a person answers. */
export const beginDevice = Effect.fnUntraced(function* (
  services: Services,
  { now, workspace }: Call,
  request: Omit<CheckedRequest, "to">
): Effect.fn.Return<DeviceWaits, StorageUnavailable> {
  const { entropy, policy, requests } = services
  const sealer = services.keys.current()
  const expiresAt = later(now, policy.deviceTtl)
  for (let drawn = 0; drawn < draws; drawn++) {
    const userCode = userCodeOf(entropy.bytes(userCodeEntropy))
    const id = idOfUserCode(sealer, workspace, userCode)
    const { secret, text } = sealDeviceCode(sealer, workspace, id, entropy.bytes(deviceSecretLength))
    const waiting = { ...waitingOf(services, { ...request, to: { _tag: "Device", secret } }, expiresAt), id }
    const taken = yield* requests.insert(workspace.id, waiting, "device").pipe(
      Effect.as(false),
      Effect.catchTag("Conflict", () => Effect.succeed(true))
    )
    if (!taken) return { deviceCode: text, userCode, expiresInSeconds: Math.floor(policy.deviceTtl / 1000) }
  }
  return yield* codesTaken
})

/** RFC 8628 §3.3: the request of the device that shows this code, where it still waits. */
export const findDevice = Effect.fnUntraced(function* (
  { keys, requests }: Pick<Services, "keys" | "requests">,
  { now, workspace }: Call,
  entered: string
): Effect.fn.Return<Waiting, InvalidUserCode | StorageUnavailable> {
  const code = readUserCode(entered)
  if (code === undefined) return yield* new InvalidUserCode({ reason: "malformed" })
  for (const id of idsOfUserCode(keys.current(), workspace, code)) {
    const found = (yield* requests.get(workspace.id, id))?.value
    if (found === undefined) continue
    if (found._tag !== "Waiting") return yield* new InvalidUserCode({ reason: "answered" })
    if (hasPassed(found.expiresAt, now)) return yield* new InvalidUserCode({ reason: "expired" })
    if (found.to._tag === "Device") return { ...found, to: { ...found.to, code } }
  }
  return yield* new InvalidUserCode({ reason: "unknown" })
})

/** What a poll takes: no more than the keys, the record, and its pace. */
interface Polling {
  readonly keys: Keys["Service"]
  readonly limiter: Limiter["Service"]
  readonly requests: Records<AuthorizationRequest>
}

/**
 * RFC 8628 §3.5. Whose share a poll takes is told by the code's secret: a guess of a user code slows no device down.
 */
export const makeDevicePoll =
  ({ keys, limiter, requests }: Polling): DevicePoll =>
  (workspace, by, code, now) => {
    const opened = openDeviceCode(keys.current(), workspace, code)
    if (Result.isFailure(opened)) return Effect.fail(new InvalidGrant({ reason: opened.failure }))
    const { id, secret } = opened.success
    const paced = Effect.catchTag(
      limiter.take({ allowance: allowances.devicePoll, workspace: workspace.id, of: `${by.client.id} ${secret}` }),
      "TooManyRequests",
      () => Effect.fail(new SlowDown())
    )
    return Effect.flatMapEager(paced, () =>
      Effect.flatMapEager(requests.get(workspace.id, id), (kept) =>
        Effect.fromResult(polled(kept?.value, { client: by.client.id, now, secret }))
      )
    )
  }
