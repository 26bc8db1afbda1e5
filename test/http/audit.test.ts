import { expect, test } from "bun:test"
import { Effect, Logger, References } from "effect"
import { refused } from "../../core/http/audit.ts"
import type { Call } from "../../core/http/Route.ts"
import type { AuditEntry } from "../../core/ports/Audit.ts"
import { StorageUnavailable } from "../../core/ports/Storage.ts"
import { Instant } from "../../core/rules/Instant.ts"
import {
  InvalidGrant,
  InvalidToken,
  OwnersOnly,
  type Refusal,
  RequestNotSupported,
  TooManyRequests
} from "../../core/rules/Refusal.ts"
import { requestOf, theWorkspace } from "../given/World.ts"

const call: Call = {
  request: requestOf("POST", "/oauth/token", {}),
  workspace: theWorkspace,
  path: "/oauth/token",
  endpoint: "/oauth/token",
  now: Instant.make(7),
  requestId: "r1"
}

/** What an operator has of a refusal: the audit stream, and the lines of the log with their levels. */
const noted = (fault: Refusal | StorageUnavailable) => {
  const audit: Array<AuditEntry> = []
  const log: Array<readonly [string, unknown]> = []
  const logger = Logger.make(({ logLevel, message }) => {
    log.push([logLevel, Array.isArray(message) ? message[1] : message])
  })
  Effect.runSync(
    refused({ record: (entry) => Effect.sync(() => void audit.push(entry)) }, call, fault).pipe(
      Effect.provide(Logger.layer([logger])),
      Effect.provideService(References.MinimumLogLevel, "All")
    )
  )
  return { audit, log }
}

test.each<readonly [Refusal, reason: string | null]>([
  [new InvalidToken({ reason: "expired" }), "expired"],
  [new InvalidGrant({ reason: "revoked" }), "revoked"],
  [new TooManyRequests({ limit: "account", retryAfterSeconds: 3 }), "account"],
  [new OwnersOnly(), null],
  [new RequestNotSupported({ parameter: "request" }), null]
])("a refusal is in the log and in the audit stream with its reason, by the request's id: %p", (fault, reason) => {
  const refusal = fault._tag
  expect(noted(fault)).toEqual({
    audit: [
      {
        at: Instant.make(7),
        workspace: theWorkspace.id,
        requestId: "r1",
        event: { _tag: "Refused", endpoint: "/oauth/token", refusal, reason }
      }
    ],
    log: [["Info", { requestId: "r1", endpoint: "/oauth/token", refusal, reason }]]
  })
})

test("one that ended a grant tells that first", () => {
  const { audit } = noted(new InvalidGrant({ reason: "refresh_reused", ended: "AbCdEfGh" }))
  expect(audit.map(({ event }) => event)).toEqual([
    { _tag: "GrantRevoked", grant: "AbCdEfGh", why: "refresh_reused" },
    { _tag: "Refused", endpoint: "/oauth/token", refusal: "InvalidGrant", reason: "refresh_reused" }
  ])
})

test("a store that did not answer is an error in the log, and no refusal of a caller", () => {
  expect(noted(new StorageUnavailable({ outcome: "unknown", message: "gone fishing" }))).toEqual({
    audit: [],
    log: [
      [
        "Error",
        { requestId: "r1", endpoint: "/oauth/token", refusal: "StorageUnavailable", reason: "unknown: gone fishing" }
      ]
    ]
  })
})
