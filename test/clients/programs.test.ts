import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
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
import { inWorld, type World } from "../given/World.ts"
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
  return client
})

const shown = ({ id, method, secret = "" }: Registered, { proves }: Program): { fields: Fields; headers: Fields } => {
  if (method === "none") return { fields: { client_id: id }, headers: {} }
  return proves === "post" || (proves === undefined && method === "client_secret_post")
    ? { fields: { client_id: id, client_secret: secret }, headers: {} }
    : { fields: {}, headers: { authorization: `Basic ${btoa(`${id}:${secret}`)}` } }
}

const playProgram = Effect.fnUntraced(function* (world: World, program: Program) {
  const addresses = yield* discovered(world)
  const client = yield* registered(world, program)
  expect(client.registrationUri).toBe(`${addresses.issuer}/oauth/register/${client.id}`)
  const kept = yield* world.send("GET", new URL(client.registrationUri).pathname, {
    headers: bearing(client.registrationToken)
  })
  expect(jsonOf(kept)).toMatchObject({ client_id: client.id, redirect_uris: client.told.redirect_uris })

  const asked = { redirect_uri: program.returnsTo, state: "st", ...filled(program.authorize, addresses) }
  const page = yield* world.send("GET", authorizeTarget(client, { ...asked, code_challenge: challenge }), {
    as: "alice"
  })
  const back = header(yield* decide(world, page, "approve"), "location") ?? ""
  expect(back.startsWith(program.returnsTo)).toBe(true)
  const { searchParams } = new URL(back)
  expect([searchParams.get("state"), searchParams.get("iss")]).toEqual([asked.state, addresses.issuer])

  const proof = shown(client, program)
  const tokens = (fields: Fields) =>
    Effect.map(
      world.send("POST", "/oauth/token", {
        headers: { ...formHeaders, ...program.headers, ...proof.headers },
        body: form({ ...proof.fields, ...fields })
      }),
      (answer) => {
        expect([answer.status, answer.status === 200 ? "" : answer.body]).toEqual([200, ""])
        // A page of another origin has to be able to read it.
        if (program.headers?.origin !== undefined) expect(header(answer, "access-control-allow-origin")).toBe("*")
        return jsonOf(answer)
      }
    )
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

describe("whoever is known to come gets in", () => {
  for (const program of programs) test(program.name, () => inWorld((world) => playProgram(world, program)))
})
