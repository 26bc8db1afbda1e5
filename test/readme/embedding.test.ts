import { describe, expect, test } from "bun:test"
import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Redacted, type Scope } from "effect"
import { newSealKey } from "../../runtimes/server/SealKeyFile.ts"
import { companiesStatus, locationOf, postToken, register, Visitor } from "../given/serverVisitor.ts"
import { freePort } from "../harness/freePort.ts"
import { node, node22 } from "../harness/given.ts"
import { pollUntil } from "../harness/pollUntil.ts"
import { plainEnvironment, runProgram } from "../harness/runProgram.ts"
import { throwawayFolder } from "../harness/throwawayFolder.ts"
import { startChild } from "../runtimes/given/Child.ts"
import { house, readmeBlocks } from "./blocks.ts"
import { withPorts } from "./Ports.ts"

const blocks = ["Embedding", "In Elysia", "In plain Node"].map((heading) => {
  const [block, ...more] = readmeBlocks().filter((one) => one.under.at(-1) === heading)
  return { heading, text: block?.text ?? "", more }
})
const [authorization, elysia, plainNode] = blocks.map(({ text }) => text)

/** The blocks as files that belong together. In the house, so that `tessera` is this very package. */
const pasted = (port: number) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const folder = join(house, "test/readme", `pasted-${process.pid}-${port}`)
      mkdirSync(folder)
      const files = { "authorization.ts": authorization, "elysia.ts": elysia, "node.ts": plainNode }
      for (const [name, text = ""] of Object.entries(files)) {
        writeFileSync(join(folder, name), withPorts(text, { server: port, callback: 0 }))
      }
      return folder
    }),
    (folder) => Effect.sync(() => rmSync(folder, { recursive: true }))
  )

const run = <E>(body: Effect.Effect<void, E, Scope.Scope>) => Effect.runPromise(Effect.scoped(body))

const redirectUri = "https://app.example/callback"

/** Someone with a cookie of the host's own, an application that asks them, and the host's own route behind the guard. */
const throughIt = async (url: string) => {
  const client = await register(url, { redirect_uris: [redirectUri], token_endpoint_auth_method: "client_secret_post" })
  const ask = new URLSearchParams({ response_type: "code", client_id: client.client_id, redirect_uri: redirectUri })
  const stranger = await new Visitor(url).get(`/oauth/authorize?${ask}`)
  expect(locationOf(stranger, url).pathname).toBe("/sign-in")

  const ada = new Visitor(url)
  ada.cookies.set("session", "cookie-of-ada")
  const back = await ada.decide(`/oauth/authorize?${ask}`)
  const answer = await postToken(url, {
    grant_type: "authorization_code",
    code: back.searchParams.get("code") ?? "",
    redirect_uri: redirectUri,
    client_id: client.client_id,
    client_secret: String(client.client_secret)
  })
  // The shape is RFC 6749's; where it is not, what reads it fails.
  const { access_token } = (await answer.json()) as { readonly access_token: string }
  expect(await companiesStatus(url, access_token)).toBe(200)

  const orders = await fetch(`${url}/orders`, { headers: { authorization: `Bearer ${access_token}` } })
  expect(await orders.json()).toEqual({ orders: [], of: "User" })
  const refused = await fetch(`${url}/orders`, { headers: { authorization: "Bearer forged" } })
  expect([refused.status, refused.headers.get("www-authenticate")]).toEqual([
    401,
    expect.stringContaining("invalid_token")
  ])
}

const answersAt = (url: string) =>
  Effect.promise(() =>
    fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false
    )
  )

const embedded = (program: () => string, args: ReadonlyArray<string>, file: string) =>
  run(
    Effect.gen(function* () {
      const port = yield* freePort
      const url = `http://127.0.0.1:${port}`
      const cwd = yield* throwawayFolder("embedded")
      const folder = yield* pasted(port)
      const env = { ...plainEnvironment, SEAL_KEYS: Redacted.value(newSealKey()) }
      const child = yield* startChild(program(), [...args, join(folder, file)], { cwd, env })
      const there = yield* pollUntil(answersAt(url), 30_000)
      expect([there, there ? "" : child.stderr()]).toEqual([true, ""])
      yield* Effect.promise(() => throughIt(url))
    })
  )

describe("the README's blocks for embedding", () => {
  test("are one under each heading, of at most 25 lines", () => {
    for (const { heading, more, text } of blocks) {
      expect([heading, more]).toEqual([heading, []])
      expect(text.split("\n").length).toBeWithin(10, 26)
    }
  })

  test(
    "are type-checked as strictly as the house",
    () =>
      run(
        Effect.gen(function* () {
          const folder = yield* pasted(yield* freePort)
          const extending = { extends: "../../../tsconfig.json", include: ["*.ts"] }
          writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(extending))
          const tsc = join(house, "node_modules/typescript/bin/tsc")
          const { status, stdout } = yield* runProgram(node(), [tsc, "-p", folder])
          expect([stdout, status]).toEqual(["", 0])
        })
      ),
    60_000
  )

  test(
    "let a person of the host's in, in Elysia on Bun",
    () => embedded(() => process.execPath, [], "elysia.ts"),
    60_000
  )

  test(
    "let a person of the host's in, in plain Node",
    () => embedded(node22, ["--experimental-strip-types"], "node.ts"),
    60_000
  )
})
