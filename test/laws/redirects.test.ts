import { expect } from "bun:test"
import { Effect } from "effect"
import { hostileRedirectUri, redirectUri } from "../../core/testing/Arbitraries.ts"
import type { Dice } from "../../core/testing/Dice.ts"
import { samplesOf } from "../../core/testing/forAll.ts"
import { readConsentForm } from "../../core/testing/play/ConsentForm.ts"
import { challengeOf } from "../../core/testing/play/Pkce.ts"
import { headerOf, locationOf } from "../../core/testing/play/reading.ts"
import { scene } from "./cast.ts"
import { law } from "./law.ts"

/** Written apart from the core's own, by taking both URIs to pieces. */
const mayBeSentTo = (registered: ReadonlyArray<string>, presented: string): boolean =>
  registered.some((uri) => {
    if (uri === presented) return true
    const own = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost))(:\d+)?($|[/?].*)/s.exec(uri)
    const theirs = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost))(:\d{1,5})?($|[/?].*)/s.exec(presented)
    return own !== null && theirs !== null && own[1] === theirs[1] && (own[3] ?? "") === (theirs[3] ?? "")
  })

const odd = [
  "/",
  "\\",
  "@",
  "#",
  "?",
  "&",
  ".",
  "%",
  ":",
  "\t",
  "\n",
  "\r\n",
  " ",
  "\u0000",
  "。",
  "é",
  "*",
  "%2e",
  "%2f",
  "%00",
  "x"
] as const

const replaced = (text: string, at: number, length: number, by: string): string =>
  text.slice(0, at) + by + text.slice(at + length)

/** A URI near a registered one, which an attacker might try to pass for it. */
const twisted = (dice: Dice, uri: string, others: ReadonlyArray<string>): string => {
  const at = dice.under(uri.length + 1)
  const host = /^[a-z]+:\/\/([^/?]*)/.exec(uri)?.[1] ?? ""
  return dice.pick([
    () => uri,
    () => uri + dice.pick(odd),
    () => `${uri}${dice.pick(odd)}evil.example`,
    () => dice.pick(odd) + uri,
    () => replaced(uri, at, 0, dice.pick(odd)),
    () => replaced(uri, at, 1, dice.pick(odd)),
    () => replaced(uri, at, 1, ""),
    () => replaced(uri, at, 1, (uri[at] ?? "").toUpperCase()),
    () => uri.slice(0, at),
    () => (host === "" ? `${uri}x` : uri.replace(host, `${host}.evil.example`)),
    () => (host === "" ? `${uri}x` : uri.replace(host, `evil.example/${host}`)),
    () => (host === "" ? `${uri}x` : uri.replace(host, `${host}@evil.example`)),
    () => (host === "" ? `${uri}x` : uri.replace(host, `evil.example\\@${host}`)),
    () => uri.replace(/^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost))(:\d+)?/, `$1:${dice.under(70_000)}`),
    () => uri.replace(/^(https:\/\/[^/?]*?)(:\d+)?(?=[/?])/, `$1:${1 + dice.under(9999)}`),
    () => uri.replace("127.0.0.1", "localhost").replace("[::1]", "127.0.0.1"),
    () => uri.replace("https:", "http:"),
    () => encodeURIComponent(uri),
    () => `${uri}/../${uri}`,
    () => others[dice.under(others.length)] ?? uri
  ])()
}

law(
  "a redirect is only ever sent to a registered URI of that client, and for all else there is no Location",
  (dice, seed) =>
    scene(seed, {}, (cast) =>
      Effect.gen(function* () {
        const uris = yield* samplesOf(redirectUri, seed, 4)
        const hostile = yield* samplesOf(hostileRedirectUri, seed, 3)
        const own = [...new Set(uris.slice(0, 1 + dice.under(2)))]
        const others = [...uris.slice(2), ...hostile]
        const client = yield* cast.client(dice.pick(["public", "post"]), own)
        yield* cast.client("post", uris.slice(2))
        // Of a client that nobody let in, no request leads a browser on by itself.
        if (dice.chance(50)) yield* cast.redeem(yield* cast.code(client), client)

        for (let attempt = 4; attempt > 0; attempt--) {
          const right = own[dice.under(own.length)] ?? ""
          const presented = dice.chance(40) ? right : twisted(dice, right, others)
          const isFine = mayBeSentTo(own, presented)
          const id = dice.chance(90) ? cast.text(`client#${client}`) : "nobody"
          const request: Array<readonly [string, string]> = [
            ["response_type", dice.chance(80) ? "code" : dice.pick(["token", ""])],
            ["client_id", id],
            ["redirect_uri", presented],
            ["code_challenge", challengeOf("a verifier")],
            ["code_challenge_method", dice.chance(80) ? "S256" : "plain"],
            ["scope", dice.chance(20) ? "nonsense" : dice.pick(["api", "profile api"])],
            ["state", "a state"]
          ]
          if (dice.chance(10)) request.push(["redirect_uri", dice.pick([presented, "https://evil.example/"])])
          if (dice.chance(10)) request.push(["client_id", id])
          const isTrusted = isFine && id !== "nobody" && request.length === 7
          const isHere = dice.chance(80)
          const headers: Record<string, string> = isHere ? { cookie: "person=ann" } : {}
          const shown = yield* cast.ask("GET", "/oauth/authorize", { query: request, headers })
          const location = locationOf(shown)?.text ?? null
          const label = JSON.stringify({ own, presented, status: shown.status, location })
          expect([label, shown.status < 500]).toEqual([label, true])
          if (!isTrusted) expect([label, location, shown.status === 200]).toEqual([label, null, false])
          if (location !== null) {
            const isReturn = location.startsWith(presented + (presented.includes("?") ? "&" : "?"))
            expect([label, isReturn || (!isHere && location.startsWith("/login?"))]).toEqual([label, true])
          }
          expect([label, headerOf(shown, "refresh")]).toEqual([label, null])

          const form = shown.status === 200 ? readConsentForm(shown.body) : null
          if (form === null) continue
          // The request travels through the page, under seal: what comes beside it says nothing, and a change breaks it.
          const elsewhere = twisted(dice, presented, others)
          const beside = { redirect_uri: elsewhere, request: `redirect_uri=${encodeURIComponent(elsewhere)}` }
          const sealed = form.fields.ticket ?? ""
          const at = dice.under(sealed.length)
          const wasChanged = dice.chance(50)
          const changed = `${sealed.slice(0, at)}${sealed[at] === "A" ? "B" : "A"}${sealed.slice(at + 1)}`
          const answer = yield* cast.ask("POST", form.action, {
            form: {
              ...beside,
              ...form.fields,
              ticket: wasChanged ? changed : sealed,
              decision: dice.pick(["approve", "deny"])
            },
            headers
          })
          const target = locationOf(answer)?.text ?? null
          if (wasChanged) expect([elsewhere, target]).toEqual([elsewhere, null])
          else expect([presented, target?.startsWith(presented)]).toEqual([presented, true])
        }
      })
    )
)
