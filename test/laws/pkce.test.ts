import { Effect, Schema } from "effect"
import { malformedVerifier, pkcePair } from "../../core/testing/Arbitraries.ts"
import { all, map, ofSchema, oneOf } from "../../core/testing/forAll.ts"
import { readConsentForm } from "../../core/testing/play/ConsentForm.ts"
import { challengeOf } from "../../core/testing/play/Pkce.ts"
import { jsonOf, locationOf } from "../../core/testing/play/reading.ts"
import { type Cast, scene } from "./cast.ts"
import { lawOf } from "./law.ts"

const redirect = "https://app.example/cb"
const cookie = { cookie: "person=ann" }

type Fields = Readonly<Record<string, string>>

/** What the link of a page tells the client of, which no person has let in yet. */
const toldOn = (page: string): URLSearchParams => {
  const [, href = redirect] = /href="(https:\/\/app\.example\/[^"]*)"/.exec(page) ?? []
  return new URL(href.replaceAll("&amp;", "&")).searchParams
}

/** What the authorization endpoint comes to for a request with these PKCE parameters: a code, or an error. */
const authorized = Effect.fnUntraced(function* (cast: Cast, client: string, pkce: Fields) {
  const query = { response_type: "code", client_id: client, redirect_uri: redirect, ...pkce }
  const shown = yield* cast.ask("GET", "/oauth/authorize", { query, headers: cookie })
  const form = shown.status === 200 ? readConsentForm(shown.body) : null
  const answer =
    form === null
      ? shown
      : yield* cast.ask("POST", form.action, { form: { ...form.fields, decision: "approve" }, headers: cookie })
  const parameters = locationOf(answer)?.parameters ?? toldOn(answer.body)
  return { code: parameters?.get("code") ?? null, error: parameters?.get("error") ?? null }
})

const redeemed = (cast: Cast, client: string, secret: string, code: string, verifier: string | null) =>
  cast.ask("POST", "/oauth/token", {
    form: {
      grant_type: "authorization_code",
      client_id: client,
      ...(secret === "" ? {} : { client_secret: secret }),
      code,
      redirect_uri: redirect,
      ...(verifier === null ? {} : { code_verifier: verifier })
    }
  })

/** A scene with a client of either kind, in which something must hold. */
const withClient = (
  kind: "public" | "post",
  holds: (cast: Cast, client: string, secret: string) => Effect.Effect<boolean>
): Effect.Effect<boolean> =>
  Effect.gen(function* () {
    let held = false
    yield* scene(1, {}, (cast) =>
      Effect.gen(function* () {
        const ref = yield* cast.client(kind)
        held = yield* holds(cast, cast.text(`client#${ref}`), cast.text(`secret#${ref}`))
      })
    )
    return held
  })

const kinds = ofSchema(Schema.Literals(["public", "post"]))

/** The right verifier, and what an attacker might show without it. */
const shown = map(
  all([
    pkcePair,
    pkcePair,
    ofSchema(Schema.Literals(["right", "other", "challenge", "cut", "longer", "case", "none"]))
  ]),
  ([pair, other, how]) => {
    const { verifier, challenge } = pair
    switch (how) {
      case "right":
        return { pair, presented: verifier }
      case "other":
        return { pair, presented: other.verifier }
      case "challenge":
        return { pair, presented: challenge }
      case "cut":
        return { pair, presented: verifier.slice(0, -1) }
      case "longer":
        return { pair, presented: `${verifier}A` }
      case "case":
        return { pair, presented: verifier === verifier.toUpperCase() ? other.verifier : verifier.toUpperCase() }
      case "none":
        return { pair, presented: null }
    }
  }
)

lawOf("no verifier but the right one redeems", all([kinds, shown]), ([kind, { pair, presented }]) =>
  withClient(kind, (cast, client, secret) =>
    Effect.gen(function* () {
      const { code } = yield* authorized(cast, client, {
        code_challenge: pair.challenge,
        code_challenge_method: "S256"
      })
      if (code === null) return false
      const answer = yield* redeemed(cast, client, secret, code, presented)
      if (presented === pair.verifier) return answer.status === 200
      const error = jsonOf(answer)?.error
      const isRefused = answer.status === 400 && (error === "invalid_grant" || error === "invalid_request")
      // A failed guess costs the rightful client nothing.
      return isRefused && (yield* redeemed(cast, client, secret, code, pair.verifier)).status === 200
    })
  )
)

lawOf(
  "a verifier outside the rules is refused, even where its hash would fit",
  all([kinds, malformedVerifier]),
  ([kind, verifier]) =>
    withClient(kind, (cast, client, secret) =>
      Effect.gen(function* () {
        const pkce = { code_challenge: challengeOf(verifier), code_challenge_method: "S256" }
        const { code } = yield* authorized(cast, client, pkce)
        return code !== null && (yield* redeemed(cast, client, secret, code, verifier)).status === 400
      })
    )
)

/** Challenges that must not be taken, by any client. */
const badPkce = oneOf<Fields>(
  map(malformedVerifier, (text) => ({ code_challenge: text, code_challenge_method: "S256" })),
  map(pkcePair, ({ verifier }) => ({ code_challenge: verifier, code_challenge_method: "plain" })),
  map(pkcePair, ({ challenge }) => ({ code_challenge: challenge })),
  map(pkcePair, ({ challenge }) => ({ code_challenge: challenge, code_challenge_method: "s256" })),
  map(pkcePair, () => ({ code_challenge_method: "S256" }))
)

lawOf("there is no way down to a weaker challenge", all([kinds, badPkce]), ([kind, pkce]) =>
  withClient(kind, (cast, client) =>
    Effect.map(authorized(cast, client, pkce), ({ code, error }) => code === null && error === "invalid_request")
  )
)

lawOf(
  "a verifier for a code that had no challenge is refused, and a public client gets no such code",
  pkcePair,
  ({ verifier }) =>
    Effect.gen(function* () {
      const confidential = yield* withClient("post", (cast, client, secret) =>
        Effect.gen(function* () {
          const { code } = yield* authorized(cast, client, {})
          if (code === null) return false
          const guess = yield* redeemed(cast, client, secret, code, verifier)
          return guess.status === 400 && (yield* redeemed(cast, client, secret, code, null)).status === 200
        })
      )
      const open = yield* withClient("public", (cast, client) =>
        Effect.map(authorized(cast, client, {}), ({ code, error }) => code === null && error === "invalid_request")
      )
      return confidential && open
    })
)
