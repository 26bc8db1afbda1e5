import { describe, expect, test } from "bun:test"
import { Effect, Result } from "effect"
import { Base64 } from "effect/encoding"
import { authenticate } from "../../core/client/authenticate.ts"
import type { Client } from "../../core/client/Client.ts"
import { formType, sentForm } from "../../core/http/form.ts"
import type { AuthRequest, ClientAuth } from "../../core/oauth/clients/ClientAuth.ts"
import { none } from "../../core/oauth/clients/none.ts"
import { secretBasic } from "../../core/oauth/clients/secretBasic.ts"
import { secretPost } from "../../core/oauth/clients/secretPost.ts"
import { ClientKeys } from "../../core/ports/ClientKeys.ts"
import { Documents } from "../../core/ports/Documents.ts"
import { Signatures } from "../../core/ports/Signatures.ts"
import { InvalidClient, PortUnavailable } from "../../core/rules/Refusal.ts"
import { digestOf } from "../../core/rules/Secret.ts"
import { theWorkspace } from "../given/World.ts"
import { client, t0 } from "../grant/given.ts"

const open = client()
const confidential = (over: Partial<Client> = {}): Client =>
  client({ credential: { _tag: "Secret", digest: digestOf("s3cret"), method: "client_secret_basic" }, ...over })

const ports = {
  policy: { profile: "standard" as const },
  signatures: Signatures.none,
  clientKeys: ClientKeys.none,
  documents: Documents.none,
  once: { take: () => Effect.succeed(true) }
}

const request = (body: Readonly<Record<string, string>>, authorization = ""): AuthRequest => {
  const headers = new Map([["content-type", formType]])
  const sent = {
    method: "POST",
    path: "/oauth/token",
    query: "",
    headers: { get: (name: string) => headers.get(name) ?? null },
    body: new URLSearchParams(body).toString()
  }
  const call = { request: sent, workspace: theWorkspace, endpoint: "/oauth/token", now: t0, requestId: "r" }
  return { call, sent: Result.getOrThrow(sentForm(sent)), authorization, named: open.id }
}

const methods = ["client_secret_basic", "client_secret_post"] as const
type Secret = (typeof methods)[number]

const showing = (method: Secret, secret: string): readonly [ClientAuth, AuthRequest] =>
  method === "client_secret_basic"
    ? [secretBasic, request({}, `Basic ${Base64.encode(`${open.id}:${secret}`)}`)]
    : [secretPost, request({ client_id: open.id, client_secret: secret })]

/** What a row makes of a request, held against a client. */
const judged = (row: ClientAuth, shown: AuthRequest, of: Client | undefined) => {
  const claim = row.claim(shown)
  if (claim === undefined) throw new Error("nothing is shown")
  return Effect.runSync(Result.getOrThrow(claim).prove(of, shown, ports))
}

const show = (method: Secret, secret: string, of: Client | undefined) => judged(...showing(method, secret), of)
const naming = (of: Client | undefined) => judged(none, request({ client_id: open.id }), of)

const refusal = (reason: InvalidClient["reason"], triedHeader: boolean) =>
  Result.fail(new InvalidClient({ reason, triedHeader }))

describe("a confidential client (RFC 6749 §2.3.1)", () => {
  test("is itself with its secret, by the header or by the body, whichever it registered", () => {
    for (const method of methods) {
      expect(Result.getOrThrow(show(method, "s3cret", confidential())).client).toEqual(confidential())
    }
  })

  test("is not with another secret, and is told so by the scheme of the header if it tried that", () => {
    for (const wrong of ["S3cret", "s3cret ", "s3cre", "x"]) {
      expect(show("client_secret_post", wrong, confidential())).toEqual(refusal("bad_secret", false))
      expect(show("client_secret_basic", wrong, confidential())).toEqual(refusal("bad_secret", true))
    }
  })

  test("is not without a secret", () => {
    expect(naming(confidential())).toEqual(refusal("wrong_method", false))
    expect(show("client_secret_basic", "", confidential())).toEqual(refusal("wrong_method", true))
  })

  test("whose secret is the empty text's digest is not opened by showing nothing", () => {
    const blank = confidential({ credential: { _tag: "Secret", digest: digestOf(""), method: "client_secret_post" } })
    expect(show("client_secret_basic", "", blank)).toEqual(refusal("wrong_method", true))
    expect(naming(blank)).toEqual(refusal("wrong_method", false))
  })
})

describe("a public client", () => {
  test("names itself, and has no secret to show", () => {
    expect(Result.getOrThrow(naming(open)).client).toEqual(open)
    expect(show("client_secret_post", "x", open)).toEqual(refusal("wrong_method", false))
    expect(show("client_secret_basic", "x", open)).toEqual(refusal("wrong_method", true))
    expect(Result.getOrThrow(show("client_secret_basic", "", open)).client).toEqual(open)
  })
})

describe("a client that is not there, or may not", () => {
  test("is unknown, whatever it shows", () => {
    expect(show("client_secret_post", "x", undefined)).toEqual(refusal("unknown", false))
    for (const secret of ["", "x"]) {
      expect(show("client_secret_basic", secret, undefined)).toEqual(refusal("unknown", true))
    }
    expect(naming(undefined)).toEqual(refusal("unknown", false))
  })

  test("is told that it is disabled only once it has shown to be itself", () => {
    const off = confidential({ disabled: true })
    expect(show("client_secret_post", "s3cret", off)).toEqual(refusal("disabled", false))
    expect(show("client_secret_post", "x", off)).toEqual(refusal("bad_secret", false))
    expect(naming(client({ disabled: true }))).toEqual(refusal("disabled", false))
  })

  test("is refused by the wrong method alone where its record is none that the row can read", () => {
    const odd: ReadonlyArray<Client["credential"]> = [
      { _tag: "Secret" },
      { _tag: "Secret", digest: digestOf("s3cret") },
      { _tag: "Secret", digest: digestOf("s3cret"), method: "none" },
      { _tag: "Secret", digest: "x", method: "client_secret_post" },
      { _tag: "Key", method: "private_key_jwt", digest: digestOf("s3cret") }
    ]
    for (const credential of odd) {
      expect(show("client_secret_post", "s3cret", client({ credential }))).toEqual(refusal("wrong_method", false))
      expect(show("client_secret_basic", "s3cret", client({ credential }))).toEqual(refusal("wrong_method", true))
      expect(naming(client({ credential }))).toEqual(refusal("wrong_method", false))
    }
  })
})

test("what cannot be checked says nothing about a client, but that there is none", () => {
  const away = Result.fail(new PortUnavailable({ port: "client_keys", reason: "unreachable" }))
  expect(authenticate(client(), true, away, false)).toEqual(away)
  expect(authenticate(undefined, false, away, false)).toEqual(refusal("unknown", false))
  expect(authenticate(client(), false, away, false)).toEqual(refusal("wrong_method", false))
})
