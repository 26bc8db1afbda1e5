import { describe, expect, test } from "bun:test"
import { Result } from "effect"
import { authenticate, type Presented } from "../../core/client/authenticate.ts"
import type { Client } from "../../core/client/Client.ts"
import { InvalidClient } from "../../core/rules/Refusal.ts"
import { digestOf, hashOf } from "../../core/rules/Secret.ts"
import { client } from "../grant/given.ts"

const open = client()
const confidential = (over: Partial<Client> = {}): Client =>
  client({ credential: { _tag: "Secret", digest: digestOf("s3cret"), method: "client_secret_basic" }, ...over })

const show = (method: Presented["method"], secret?: string): Presented => ({
  id: open.id,
  method,
  hash: secret === undefined ? undefined : hashOf(secret)
})
const refusal = (reason: InvalidClient["reason"], triedHeader: boolean) =>
  Result.fail(new InvalidClient({ reason, triedHeader }))

describe("a confidential client (RFC 6749 §2.3.1)", () => {
  test("is itself with its secret, by the header or by the body, whichever it registered", () => {
    for (const method of ["client_secret_basic", "client_secret_post"] as const) {
      const shown = authenticate(show(method, "s3cret"), confidential())
      expect(Result.getOrThrow(shown).client).toEqual(confidential())
    }
  })

  test("is not with another secret, and whoever tried the header is told so", () => {
    for (const wrong of ["S3cret", "s3cret ", "s3cre", "x"]) {
      expect(authenticate(show("client_secret_post", wrong), confidential())).toEqual(refusal("bad_secret", false))
      expect(authenticate(show("client_secret_basic", wrong), confidential())).toEqual(refusal("bad_secret", true))
    }
  })

  test("is not without a secret", () => {
    expect(authenticate(show("none"), confidential())).toEqual(refusal("wrong_method", false))
    expect(authenticate(show("client_secret_basic"), confidential())).toEqual(refusal("wrong_method", true))
  })

  test("whose secret is the empty text's digest is not opened by showing nothing", () => {
    const blank = confidential({ credential: { _tag: "Secret", digest: digestOf(""), method: "client_secret_post" } })
    expect(authenticate(show("client_secret_post"), blank)).toEqual(refusal("wrong_method", false))
  })
})

describe("a public client", () => {
  test("names itself, and has no secret to show", () => {
    expect(Result.getOrThrow(authenticate(show("none"), open)).client).toEqual(open)
    for (const method of ["client_secret_basic", "client_secret_post"] as const) {
      const triedHeader = method === "client_secret_basic"
      for (const secret of ["x", ""]) {
        expect(authenticate(show(method, secret), open)).toEqual(refusal("wrong_method", triedHeader))
      }
    }
  })
})

describe("a client that is not there, or may not", () => {
  test("is unknown, whatever it shows, even the secret that nobody has", () => {
    for (const secret of [undefined, "", "x"]) {
      expect(authenticate(show("client_secret_post", secret), undefined)).toEqual(refusal("unknown", false))
    }
    expect(authenticate(show("client_secret_basic", "x"), undefined)).toEqual(refusal("unknown", true))
    expect(authenticate(show("none"), undefined)).toEqual(refusal("unknown", false))
  })

  test("is told that it is switched off only once it has shown to be itself", () => {
    const off = confidential({ disabled: true })
    expect(authenticate(show("client_secret_post", "s3cret"), off)).toEqual(refusal("disabled", false))
    expect(authenticate(show("client_secret_post", "x"), off)).toEqual(refusal("bad_secret", false))
    expect(authenticate(show("none"), client({ disabled: true }))).toEqual(refusal("disabled", false))
  })
})
