import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { exportJWK, generateKeyPair, SignJWT } from "jose"
import { assertionType } from "../../core/oauth/clients/assertion.ts"
import { DocumentsWeb } from "../given/documentsWeb.ts"
import {
  authorizeTarget,
  bearing,
  challenge,
  decide,
  form,
  formHeaders,
  header,
  jsonHeaders,
  jsonOf,
  type TestClient,
  text,
  verifier
} from "../given/flow.ts"
import { inWorld, realSignatures, t0, type World } from "../given/World.ts"
import { type Program, programs } from "./programs.ts"

type Fields = Readonly<Record<string, string>>

/** The fields of a row, with the addresses that it learns on its way. */
const filled = (fields: Fields = {}, { issuer, resource }: { readonly issuer: string; readonly resource: string }) =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      value.replace("{resource}", resource).replace("{issuer}", issuer)
    ])
  )

/** As a program learns it that was refused: by the metadata that the refusal leads to. */
const discovered = Effect.fnUntraced(function* (world: World) {
  const refused = yield* world.send("GET", "/rest/companies")
  const [, at = ""] = /resource_metadata="([^"]+)"/.exec(header(refused, "www-authenticate") ?? "") ?? []
  const metadata = jsonOf(yield* world.send("GET", new URL(at).pathname))
  const [issuer] = metadata.authorization_servers as ReadonlyArray<string>
  return { issuer: text(issuer), resource: text(metadata.resource) }
})

interface Registered extends TestClient {
  readonly method: string
  readonly told: Readonly<Record<string, unknown>>
}

/** What it finds out before it goes by its document. */
const broughtBy = Effect.fnUntraced(function* (world: World, { client_id }: NonNullable<Program["document"]>) {
  const metadata = jsonOf(yield* world.send("GET", "/.well-known/oauth-authorization-server"))
  expect(metadata).toMatchObject({
    client_id_metadata_document_supported: true,
    token_endpoint_auth_methods_supported: expect.arrayContaining(["none"])
  })
  const client: Registered = {
    id: client_id,
    secret: undefined,
    redirectUri: "",
    registrationUri: "",
    registrationToken: "",
    method: "none",
    told: {}
  }
  return client
})

const registered = Effect.fnUntraced(function* (world: World, { headers, registers }: Program) {
  const answer = yield* world.send("POST", "/oauth/register", {
    headers: { ...jsonHeaders, ...headers },
    body: JSON.stringify(registers)
  })
  expect([answer.status, answer.status === 201 ? "" : answer.body]).toEqual([201, ""])
  const told = jsonOf(answer)
  const client: Registered = {
    id: text(told.client_id),
    secret: told.client_secret === undefined ? undefined : text(told.client_secret),
    redirectUri: "",
    registrationUri: text(told.registration_client_uri),
    registrationToken: text(told.registration_access_token),
    method: text(told.token_endpoint_auth_method),
    told
  }
  expect(client.registrationUri).toBe(`${world.workspace.issuer}/oauth/register/${client.id}`)
  const kept = yield* world.send("GET", new URL(client.registrationUri).pathname, {
    headers: bearing(client.registrationToken)
  })
  expect(jsonOf(kept)).toMatchObject({ client_id: client.id, redirect_uris: client.told.redirect_uris })
  return client
})

const rsa = await generateKeyPair("RS256")
const jwks = { keys: [{ ...(await exportJWK(rsa.publicKey)), kid: "cimd-20260428030119", alg: "RS256", use: "sig" }] }

const assertion = (id: string, { issuer }: { readonly issuer: string }) =>
  new SignJWT({ iss: id, sub: id, aud: issuer, jti: crypto.randomUUID(), iat: t0 / 1000, exp: t0 / 1000 + 300 })
    .setProtectedHeader({ alg: "RS256", kid: "cimd-20260428030119" })
    .sign(rsa.privateKey)

const shown = ({ id, method, secret = "" }: Registered, { proves }: Program): { fields: Fields; headers: Fields } => {
  if (method === "none") return { fields: { client_id: id }, headers: {} }
  return proves === "post" || (proves === undefined && method === "client_secret_post")
    ? { fields: { client_id: id, client_secret: secret }, headers: {} }
    : { fields: {}, headers: { authorization: `Basic ${btoa(`${id}:${secret}`)}` } }
}

const playProgram = Effect.fnUntraced(function* (world: World, program: Program) {
  const addresses = yield* discovered(world)
  const { document } = program
  const client = document === undefined ? yield* registered(world, program) : yield* broughtBy(world, document)

  const asked = { redirect_uri: program.returnsTo, state: "st", ...filled(program.authorize, addresses) }
  const page = yield* world.send("GET", authorizeTarget(client, { ...asked, code_challenge: challenge }), {
    as: "alice"
  })
  if (document !== undefined) expect(page.body).toContain(new URL(document.client_id).host)
  const back = header(yield* decide(world, page, "approve"), "location") ?? ""
  expect(back.startsWith(program.returnsTo)).toBe(true)
  const { searchParams } = new URL(back)
  expect([searchParams.get("state"), searchParams.get("iss")]).toEqual([asked.state, addresses.issuer])

  const proof = shown(client, program)
  const signed = () =>
    program.proves === "signed"
      ? Effect.map(
          Effect.promise(() => assertion(client.id, addresses)),
          (client_assertion): Fields => ({ client_assertion_type: assertionType, client_assertion })
        )
      : Effect.succeed<Fields>({})
  const tokens = Effect.fnUntraced(function* (fields: Fields) {
    const answer = yield* world.send("POST", "/oauth/token", {
      headers: { ...formHeaders, ...program.headers, ...proof.headers },
      body: form({ ...proof.fields, ...(yield* signed()), ...fields })
    })
    expect([answer.status, answer.status === 200 ? "" : answer.body]).toEqual([200, ""])
    // A page of another origin has to be able to read it.
    if (program.headers?.origin !== undefined) expect(header(answer, "access-control-allow-origin")).toBe("*")
    return jsonOf(answer)
  })
  const opens = (of: Readonly<Record<string, unknown>>) =>
    Effect.map(
      world.send("GET", "/rest/companies", { headers: bearing(text(of.access_token)) }),
      ({ status }) => status
    )

  const first = yield* tokens({
    grant_type: "authorization_code",
    code: text(searchParams.get("code")),
    redirect_uri: program.returnsTo,
    code_verifier: verifier,
    ...filled(program.redeem, addresses)
  })
  expect([first.scope, yield* opens(first)]).toEqual([program.gets, 200])

  const renew = (before: Readonly<Record<string, unknown>>) =>
    tokens({
      grant_type: "refresh_token",
      refresh_token: text(before.refresh_token),
      ...filled(program.refresh, addresses)
    })
  const second = yield* renew(first)
  const third = yield* renew(second)
  expect([third.scope, yield* opens(third)]).toEqual([program.gets, 200])
  expect(new Set([first, second, third].map(({ refresh_token }) => refresh_token)).size).toBe(3)
})

describe("a program that is known to come gets in", () => {
  for (const program of programs) {
    const { document, unsigned = false } = program
    const web = new DocumentsWeb()
    web.pages.set("https://chatgpt.com/oauth/jwks.json", { body: jwks })
    if (document !== undefined) web.pages.set(document.client_id, { body: document })
    test(program.name, () =>
      inWorld((world) => playProgram(world, program), {
        documents: web.layer(),
        ...(unsigned ? {} : { signatures: realSignatures })
      })
    )
  }
})
