import { sha256 } from "@noble/hashes/sha2.js"
import { Effect } from "effect"
import { base64Url } from "../../codec/Base64Url.ts"
import type { HttpResponse } from "../../http/Http.ts"
import type { Expectation, Identity, Readable, Worth } from "../model/Expectation.ts"
import { predict } from "../model/predict.ts"
import { beginning, type State } from "../model/State.ts"
import { byeAddress, deviceTtl, pollInterval, pushedTtl, type World } from "../model/World.ts"
import type { Ref, Step } from "../script/Command.ts"
import type { Player } from "./Player.ts"
import { jktOf, signedText } from "./proofs.ts"
import { accessTokenType } from "./requestOf.ts"
import { nameOf } from "./SystemUnderTest.ts"

const noStore: ReadonlyArray<readonly [string, string]> = [["cache-control", "no-store"]]

const json = (status: number, body: object): HttpResponse => ({
  status,
  headers: [...noStore, ["content-type", "application/json"]],
  body: JSON.stringify(body)
})

const bare = (status: number, ...headers: ReadonlyArray<readonly [string, string]>): HttpResponse => ({
  status,
  headers,
  body: ""
})

const html = (status: number, body: string): HttpResponse => ({
  status,
  headers: [["content-type", "text/html"]],
  body
})

const idTokenOf = ({ authTime, client, issuer, nonce, now, tellsName, user }: Identity, access: string): string =>
  signedText(
    { typ: "JWT", alg: "RS256" },
    {
      iss: issuer,
      sub: user,
      aud: `client-${client}`,
      iat: now,
      exp: now + 1,
      at_hash: base64Url(sha256(new TextEncoder().encode(access)).slice(0, 16)),
      sid: `session of ${user} at ${client}`,
      ...(nonce === null ? {} : { nonce }),
      ...(tellsName ? { name: nameOf(user) } : {}),
      ...(authTime === null ? {} : { auth_time: authTime })
    }
  )

/** RFC 8693 §4.1. */
const actOf = ([last, ...before]: ReadonlyArray<Ref>): object =>
  last === undefined ? {} : { act: { sub: `client-${last}`, ...actOf(before) } }

const toldOf = ({ actors, boundTo, client, issuer, place, resource, scope, user }: Worth): object => ({
  scope: scope.join(" "),
  client_id: `client-${client}`,
  ...(user === null ? {} : { sub: user }),
  ...actOf(actors),
  ...(place === null ? {} : { place }),
  aud: resource?.split(" ") ?? issuer,
  ...(boundTo === null ? {} : { cnf: { jkt: jktOf(boundTo) } })
})

const accessOf = (readable: Readable | null, { id }: Step): string =>
  readable === null
    ? `access-${id}`
    : signedText(
        { typ: "at+jwt", alg: "ES256" },
        {
          iss: readable.issuer,
          sub: readable.user ?? `client-${readable.client}`,
          iat: Math.floor(readable.issuedAt / 1000),
          exp: Math.floor(readable.expiresAt / 1000),
          jti: `${id}`,
          ...toldOf({ ...readable, user: null })
        }
      )

/** An answer that is as expected, with texts that follow from the names. */
const actedOut = (expect: Expectation, step: Step, state: State): HttpResponse | null => {
  switch (expect._tag) {
    case "Registered": {
      const secret = expect.hasSecret ? { client_secret: `secret-${step.id}` } : {}
      return json(201, {
        client_id: `client-${step.id}`,
        ...secret,
        registration_access_token: `registration-${step.id}`,
        registration_client_uri: `/oauth/register/client-${step.id}`,
        grant_types: expect.grants
      })
    }
    case "Refused":
      return json(expect.status[0] ?? 400, { error: expect.error[0] })
    case "Pushed":
      return json(201, { request_uri: `request-${step.id}`, expires_in: pushedTtl / 1000 })
    case "Away":
      return bare(503, ["retry-after", "30"])
    case "Published":
      return json(200, { client_id: `client-${step.id}` })
    case "Attested":
      return json(200, { assertion: `assertion-${step.id}` })
    case "Answered":
      return json(200, { outcome: expect.outcome })
    case "DeviceWaits": {
      const page = `${expect.issuer}/device`
      return json(200, {
        device_code: `device-code-${step.id}`,
        user_code: `CODE-${step.id}`,
        verification_uri: page,
        verification_uri_complete: `${page}?user_code=CODE-${step.id}`,
        expires_in: deviceTtl / 1000,
        interval: pollInterval / 1000
      })
    }
    case "ConsentPage":
      return html(
        200,
        `<form method="post" action="/consent"><input type="hidden" name="ticket" value="ticket-${step.id}"></form>`
      )
    case "ConsentAgain":
      return html(
        400,
        '<form method="post" action="/consent"><input type="hidden" name="ticket" value="ticket"></form>'
      )
    case "SentToSignIn":
      return bare(302, ["location", "/login?return_to=there"])
    case "AsksToSignOut":
      return html(200, '<form method="post" action="/oauth/logout"><input type="hidden" name="csrf" value="x"></form>')
    case "SignedOut": {
      const query = expect.back === null ? null : expect.back.state
      return expect.back === null
        ? html(200, "<p>Bye.</p>")
        : bare(303, ["location", query === null ? byeAddress : `${byeAddress}&state=${encodeURIComponent(query)}`])
    }
    case "Page":
      return html(400, "<p>No.</p>")
    case "SentBack": {
      const parameters = new URLSearchParams([
        ...(expect.error === null ? [["code", `code-${step.id}`]] : [["error", expect.error[0] ?? ""]]),
        ...(expect.state === null ? [] : [["state", expect.state]]),
        ["iss", expect.issuer]
      ])
      return bare(302, ["location", `${expect.to}${expect.to.includes("?") ? "&" : "?"}${parameters}`])
    }
    case "Tokens": {
      const refresh = state.refresh.get(step.id)
      return json(200, {
        token_type: expect.boundTo === null ? "Bearer" : "DPoP",
        access_token: accessOf(expect.readable, step),
        expires_in: expect.expiresIn,
        scope: expect.scope.join(" "),
        ...(expect.identity === null ? {} : { id_token: idTokenOf(expect.identity, accessOf(expect.readable, step)) }),
        ...(step._tag === "Exchange" ? { issued_token_type: accessTokenType } : {}),
        ...(expect.refresh === "none" || refresh === undefined
          ? {}
          : { refresh_token: `refresh-${refresh.grant}-${refresh.generation}-${refresh.key}` })
      })
    }
    case "Unknown":
      return json(200, { active: false })
    case "Known":
      return json(200, { active: true, ...toldOf(expect) })
    case "Done":
      return bare(expect.status)
    case "Admitted":
      return json(200, {
        ...(expect.user === null ? {} : { sub: expect.user }),
        ...(expect.tellsName === true ? { name: nameOf(expect.user ?? "") } : {}),
        ...(expect.worth === null ? {} : toldOf(expect.worth))
      })
    case "Turned away":
      return bare(expect.status, [
        "www-authenticate",
        expect.error === null ? "Bearer" : `Bearer error="${expect.error[0]}"`
      ])
    case "Forbidden":
      return bare(403, ["www-authenticate", 'Bearer error="insufficient_scope", scope="x"'])
    case "Silence":
      return null
  }
}

/**
 * Plays the model's own part, with some of its rows forgotten: a system with a known fault, to see that the fault is
 * found. It never suffers trouble, and where several answers fit, it gives the first.
 */
export const referenceServer = (world: World, without: ReadonlySet<string>): Player => {
  let state = beginning(world.startsAt)
  return {
    play: (step) =>
      Effect.sync(() => {
        const [outcome] = predict({ world, state, without }, step)
        if (outcome === undefined) return bare(400)
        state = outcome.next
        return actedOut(outcome.expect, step, state)
      }),
    trouble: () => Effect.void,
    calm: Effect.succeed(false),
    shuffle: () => Effect.void
  }
}
