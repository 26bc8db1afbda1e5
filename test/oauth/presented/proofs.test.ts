import { expect, test } from "bun:test"
import { Effect } from "effect"
import { addressOf } from "../../../core/oauth/presented/dpop.ts"
import { SignatureFault } from "../../../core/ports/Signatures.ts"
import { holderOf, tokenProof } from "../../given/dpop.ts"
import { bearing, form, formHeaders, jsonOf, registerClient } from "../../given/flow.ts"
import { inWorld, realSignatures } from "../../given/World.ts"

/* What proofs come to stands in `dpop.test.ts`; here is how the address in one is compared (RFC 9449 §4.3), and the rest. */

const at = "https://api.example/a"

test.each([
  [at, at],
  [`${at}?b=c`, at],
  [`${at}#d`, at],
  [`${at}?b=c#d`, at],
  ["HTTPS://API.EXAMPLE/a", at],
  ["https://api.example:443/a", at],
  ["https://api.example:8443/a", "https://api.example:8443/a"],
  ["http://api.example:80/a", "http://api.example/a"],
  ["https://api.example/b/../a", at],
  ["https://api.example/./a", at],
  ["https://api.example", "https://api.example/"],
  ["https://api.example/A", "https://api.example/A"],
  ["https://api.example/@b/c@d", "https://api.example/@b/c@d"],
  ["https://api.example?b@c", "https://api.example/"],
  // RFC 3986 §6.2.2: what needs no escape has none, and the others are in upper case.
  ["https://api.example/%61", at],
  ["https://api.example/%7e%2D%5f%2E%39", "https://api.example/~-_.9"],
  ["https://api.example/%2f%c3%a4%25", "https://api.example/%2F%C3%A4%25"],
  ["https://api.example/%zz", "https://api.example/%zz"],
  [`https://api.example/${"a".repeat(4076)}`, `https://api.example/${"a".repeat(4076)}`]
])("the address %s", (written, address) => {
  expect(addressOf(written)).toBe(address)
})

test.each([
  "",
  "api.example/a",
  "/a",
  "ftp://api.example/a",
  "https:api.example/a",
  "https:/api.example/a",
  "https:///api.example/a",
  "https:////api.example/a",
  "https://",
  "https://[/a",
  ` ${at}`,
  `${at} `,
  `${at}\n`,
  "https://api.example\\a",
  "https://api.example/ä",
  "https://ada@api.example/a",
  "https://:b@api.example/a",
  "https://@api.example/a",
  "https://:@api.example/a",
  "see https://api.example/a",
  `https://api.example/${"a".repeat(4077)}`
])("%j is no address", (written) => {
  expect(addressOf(written)).toBeUndefined()
})

const holder = await holderOf("ES256")

test.each([
  ["no_adapter", 503, "PortUnavailable no_adapter"],
  ["failed", 503, "PortUnavailable failed"],
  ["no_key", 400, "InvalidDpopProof proof_forged"]
] as const)("a proof that could not be verified is not refused for good: %s", (reason, status, refused) =>
  inWorld(
    function* (world) {
      const client = yield* registerClient(world, { redirect_uris: [], grant_types: ["client_credentials"] })
      const answer = yield* world.send("POST", "/oauth/token", {
        headers: { ...formHeaders, dpop: yield* tokenProof(holder) },
        body: form({ grant_type: "client_credentials", client_id: client.id, client_secret: client.secret })
      })
      const event = world.audit.at(-1)?.event
      expect([answer.status, event?._tag === "Refused" && `${event.refusal} ${event.reason}`]).toEqual([
        status,
        refused
      ])
    },
    { signatures: { ...realSignatures, verify: () => Effect.fail(new SignatureFault({ reason })) } }
  )
)

test("a key of the workspace, and what is no token, are shown by no proof", () =>
  inWorld(
    function* (world) {
      const key = yield* world.services.grants.createKey(world.workspace.id, { name: "script", expiresAt: null })
      const text = world.reveal(key.text)
      expect((yield* world.send("GET", "/rest/companies", { headers: bearing(text) })).status).toBe(200)
      for (const shown of [text, "a b"]) {
        const headers = { authorization: `DPoP ${shown}`, dpop: yield* tokenProof(holder) }
        const answer = yield* world.send("GET", "/rest/companies", { headers })
        expect([answer.status, jsonOf(answer).error]).toEqual([401, "invalid_token"])
        expect(world.audit.at(-1)?.event).toMatchObject({ refusal: "InvalidToken", reason: "malformed" })
      }
    },
    { signatures: realSignatures }
  ))

test.each([
  ["off", [false, false, false, false]],
  ["auth", [true, true, true, false]],
  ["all", [true, true, true, true]]
] as const)("the document says where a nonce may be asked for: %s", (dpopNonce, expected) =>
  inWorld(
    function* (world) {
      const paths = jsonOf(yield* world.send("GET", "/openapi.json")).paths as Record<string, unknown>
      const asks = ["/oauth/token", "/oauth/par", "/oauth/device_authorization", "/oauth/userinfo"].map((path) =>
        /use_dpop_nonce|DPoP-Nonce/i.test(JSON.stringify(paths[path]))
      )
      expect(asks).toEqual([...expected])
    },
    { signatures: realSignatures, policy: { dpopNonce } }
  )
)
