import { Effect } from "effect"
import * as Memory from "../../adapters/memory/Memory.ts"
import type { HttpResponse } from "../../core/http/Http.ts"
import { StorageScan } from "../../core/ports/Storage.ts"
import { defaultWorld, type World } from "../../core/testing/model/World.ts"
import { type Act, type Improvisation, improvise } from "../../core/testing/play/improvise.ts"
import { type InProcess, inProcess } from "../../core/testing/play/inProcess.ts"
import { jsonOf, locationOf } from "../../core/testing/play/reading.ts"
import { headersOf } from "../../core/testing/play/requestOf.ts"
import type { Authorize, ClientKind, Presented, Redeem, Ref, Refresh } from "../../core/testing/script/Command.ts"

type Fields = Readonly<Record<string, string>>

export interface Asking {
  readonly form?: Fields | ReadonlyArray<readonly [string, string]>
  readonly query?: Fields | ReadonlyArray<readonly [string, string]>
  readonly headers?: Fields
  readonly body?: string
}

/** The core with its store, and short words for what laws do with it all the time. */
export interface Cast extends InProcess, Improvisation {
  readonly world: World
  readonly client: (kind?: ClientKind, redirects?: ReadonlyArray<string>) => Effect.Effect<Ref>
  /** The number of the approval that gave a code. */
  readonly code: (client: Ref, asked?: Partial<Authorize>) => Effect.Effect<Ref>
  readonly redeem: (code: Ref, by: Ref, how?: Partial<Redeem>) => Effect.Effect<Act>
  readonly refresh: (token: Ref, by: Ref, how?: Partial<Refresh>) => Effect.Effect<Act>
  readonly isAdmitted: (access: Ref) => Effect.Effect<boolean>
  readonly isActive: (token: Presented, by: Ref) => Effect.Effect<boolean>
  /** A request as any client could send it, to the first workspace. */
  readonly ask: (method: string, path: string, asking?: Asking) => Effect.Effect<HttpResponse>
  readonly scan: StorageScan["Service"]
}

const encoded = (fields: Asking["form"]): string =>
  fields === undefined
    ? ""
    : new URLSearchParams(Array.isArray(fields) ? fields.map(([a, b]) => [a, b]) : Object.entries(fields)).toString()

/** A scene in a world of its own. */
export const scene = (
  seed: number,
  settings: Partial<World>,
  body: (cast: Cast) => Effect.Effect<void>
): Effect.Effect<void> =>
  Effect.gen(function* () {
    const world: World = { ...defaultWorld, ...settings, seed }
    const process = yield* inProcess(world)
    const improvisation = improvise(process.system, world)
    yield* body({
      ...process,
      ...improvisation,
      world,
      scan: yield* StorageScan,
      ...words(process, improvisation, world)
    })
  }).pipe(Effect.provide(Memory.layer, { local: true }))

const words = (process: InProcess, { act }: Improvisation, world: World) => {
  const client: Cast["client"] = (kind = "post", redirects = kind === "service" ? [] : ["https://app.example/cb"]) =>
    Effect.map(act({ _tag: "Register", workspace: 0, kind, redirects, odd: null }), ({ ref }) => ref)

  const code: Cast["code"] = Effect.fnUntraced(function* (by, asked = {}) {
    const page = yield* act({
      _tag: "Authorize",
      client: by,
      user: "ann",
      redirect: 0,
      twist: "as registered",
      scope: null,
      challenge: "S256",
      resource: "none",
      responseType: "code",
      state: null,
      twice: null,
      ...asked
    })
    const decision = yield* act({ _tag: "Decide", page: page.ref, decision: "approve", by: "viewer" })
    if (!locationOf(decision.response)?.parameters.has("code")) {
      throw new Error(`no code was given: ${decision.response.status} ${decision.response.body}`)
    }
    return decision.ref
  })

  const redeem: Cast["redeem"] = (from, by, how = {}) =>
    act({
      _tag: "Redeem",
      code: from,
      by,
      proof: "post",
      verifier: "right",
      redirect: "same",
      resource: "none",
      ...how
    })

  const refresh: Cast["refresh"] = (ref, by, how = {}) =>
    act({ _tag: "Refresh", token: { kind: "refresh", ref }, by, proof: "post", scope: null, resource: "none", ...how })

  const isAdmitted: Cast["isAdmitted"] = (ref) =>
    Effect.map(
      act({ _tag: "Check", token: { kind: "access", ref }, at: "companies", workspace: 0 }),
      ({ response }) => response.status === 200
    )

  const isActive: Cast["isActive"] = (token, by) =>
    Effect.map(
      act({ _tag: "Introspect", token, by, proof: "post" }),
      ({ response }) => jsonOf(response)?.active === true
    )

  const ask: Cast["ask"] = (method, path, asking = {}) =>
    process.system.request({
      method,
      path,
      query: encoded(asking.query),
      headers: headersOf([
        ["host", new URL(world.issuers[0]).host],
        ...(asking.form === undefined ? [] : [["content-type", "application/x-www-form-urlencoded"] as const]),
        ...Object.entries(asking.headers ?? {})
      ]),
      body: asking.body ?? encoded(asking.form)
    })

  return { client, code, redeem, refresh, isAdmitted, isActive, ask }
}
