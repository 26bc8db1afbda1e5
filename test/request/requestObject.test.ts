import { describe, expect, test } from "bun:test"
import { type ObjectExpected, objectFault, parametersOf } from "../../core/request/requestObject.ts"
import { ClientId } from "../../core/rules/Id.ts"
import { Instant } from "../../core/rules/Instant.ts"

const issuer = "https://auth.example.com"
const client = ClientId.make("c".repeat(22))
const expected: ObjectExpected = { client, issuer, now: Instant.make(1_900_000_000_000) }
const now = 1_900_000_000
const hour = 3600

const good = { iss: client, client_id: client, aud: issuer, exp: now + 60, nbf: now }

describe("a request object whose signature holds (RFC 9101)", () => {
  const rows: ReadonlyArray<readonly [claims: object, header: object, fault: ReturnType<typeof objectFault>]> = [
    [{}, {}, undefined],
    [{}, { typ: "JWT" }, undefined],
    [{}, { typ: "jwt" }, undefined],
    [{}, { typ: "OAuth-AuthZ-Req+JWT" }, undefined],
    [{}, { typ: "application/oauth-authz-req+jwt" }, undefined],
    [{}, { typ: "" }, "type"],
    [{}, { typ: null }, "type"],
    [{}, { typ: ["jwt"] }, "type"],
    [{}, { typ: "client-authentication+jwt" }, "type"],
    [{ iss: undefined }, {}, "client"],
    [{ client_id: undefined }, {}, "client"],
    [{ iss: "other" }, {}, "client"],
    [{ client_id: "other" }, {}, "client"],
    [{ sub: client }, {}, "subject"],
    [{ sub: "alice" }, {}, undefined],
    [{ aud: undefined }, {}, "audience"],
    [{ aud: `${issuer}/` }, {}, "audience"],
    [{ aud: ["https://other.example"] }, {}, "audience"],
    [{ aud: ["https://other.example", issuer] }, {}, undefined],
    [{ aud: { includes: issuer } }, {}, "audience"],
    [{ exp: undefined }, {}, "expired"],
    [{ exp: String(now + 60) }, {}, "expired"],
    [{ exp: now - 10 }, {}, "expired"],
    [{ exp: now - 9.5 }, {}, undefined],
    [{ exp: now + hour }, {}, undefined],
    [{ exp: now + hour + 0.5 }, {}, "too_long_lived"],
    [{ exp: now + 10 + hour, nbf: now + 10 }, {}, undefined],
    [{ exp: now + 60, nbf: now + 60 - hour }, {}, undefined],
    [{ exp: now + 60, nbf: now + 59.5 - hour }, {}, "too_long_lived"],
    [{ exp: now + hour - 60, nbf: now - hour + 60 }, {}, "too_long_lived"],
    [{ exp: Number.POSITIVE_INFINITY }, {}, "expired"],
    [{ nbf: now + 10 }, {}, undefined],
    [{ nbf: now + 10.5 }, {}, "from_the_future"],
    [{ nbf: undefined }, {}, "from_the_future"],
    [{ exp: now - 9.5, nbf: now - hour - 9.5 }, {}, undefined],
    [{ nbf: now - hour - 10.5 }, {}, "too_old"],
    [{ iat: now + 10 }, {}, undefined],
    [{ iat: now + 10.5 }, {}, "from_the_future"],
    [{ iat: String(now) }, {}, "from_the_future"],
    [{ request: "x" }, {}, "nested"],
    [{ request_uri: "x" }, {}, "nested"]
  ]
  test.each(rows)("with %j under %j is refused as %p", (claims, header, fault) => {
    // As JSON has it: a member that is not there.
    const sent = Object.fromEntries(Object.entries({ ...good, ...claims }).filter(([, value]) => value !== undefined))
    expect(objectFault({ alg: "ES256", ...header }, sent, expected)).toBe(fault)
  })

  test("is read as the body of a form, but for the claims about itself", () => {
    const about = { ...good, iat: now, jti: "one", sub: "alice" }
    expect(parametersOf({ ...about, client_id: client })).toBe(`client_id=${client}`)
    expect(
      parametersOf({
        scope: "api profile",
        resource: ["https://a.example/x", "https://b.example"],
        max_age: 60,
        none: null,
        nothing: [],
        mixed: ["a", 1],
        claims: { id_token: { acr: null } },
        state: "a&b=\ud800"
      })
    ).toBe(
      [
        "scope=api%20profile",
        "resource=https%3A%2F%2Fa.example%2Fx",
        "resource=https%3A%2F%2Fb.example",
        "max_age=60",
        "mixed=%5B%22a%22%2C1%5D",
        "claims=%7B%22id_token%22%3A%7B%22acr%22%3Anull%7D%7D",
        "state=a%26b%3D%EF%BF%BD"
      ].join("&")
    )
  })
})
