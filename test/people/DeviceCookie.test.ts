import { expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import { knownDevice, rememberDevice } from "../../core/people/DeviceCookie.ts"
import { Instant, later } from "../../core/rules/Instant.ts"
import { digestOf } from "../../core/rules/Secret.ts"
import { drawFrom } from "../../core/testing/Draw.ts"
import { makeSealer, type Sealer } from "../../core/token/KeyRing.ts"
import { type OpenWorkspace, WorkspaceId } from "../../core/workspace/Workspace.ts"
import { keyFrom, requestOf, t0, theWorkspace } from "../given/World.ts"

const ada = digestOf("ada@example.com")
const sealer = makeSealer([keyFrom(1)])
const turned = makeSealer([keyFrom(2), keyFrom(1)])
const now = Instant.make(t0)
const draw = drawFrom("device")
const entropy = { bytes: (length: number) => Uint8Array.from({ length }, () => draw.below(256)) }

const cookieFor = (by: Sealer = sealer, where: OpenWorkspace = theWorkspace): string => {
  const [, header] = rememberDevice(by, entropy, where, ada, now)
  return header.split("; ")[0] ?? ""
}

const known = (cookie: string, by: Sealer = sealer, where: OpenWorkspace = theWorkspace, login = ada, at = now) =>
  knownDevice(by, where, requestOf("GET", "/login", { headers: { cookie } }), login, at)

const day = 86_400_000

test("a browser is known by its cookie for the login and in the workspace that it is for, 400 days", () => {
  const cookie = cookieFor()
  const name = cookie.split(".")[1] ?? "none"
  expect(known(cookie)).toBe(name)
  expect(known(cookie, turned)).toBe(name)
  expect(known(cookie, sealer, theWorkspace, ada, later(now, 400 * day - 1))).toBe(name)
  expect(known(cookieFor())).not.toBe(name)
  const strange: ReadonlyArray<readonly [string, ...Parameters<typeof known>]> = [
    ["another login", cookie, sealer, theWorkspace, digestOf("bob@example.com")],
    ["a ring without the key", cookie, makeSealer([keyFrom(2)])],
    ["400 days later", cookie, sealer, theWorkspace, ada, later(now, 400 * day)],
    ["another browser's name", cookie.replace(name, "A".repeat(22))],
    [
      "of another workspace, under the same name",
      cookieFor(sealer, { ...theWorkspace, name: "Other", id: WorkspaceId.make("o") })
    ],
    ["no cookie", ""]
  ]
  for (const [what, ...of] of strange) expect([what, known(...of)]).toEqual([what, undefined])
})

test("what an earlier release gave a browser is known only where one may have served", () => {
  const [name, rest = ""] = cookieFor().split("=")
  const [key, nonce, at] = rest.split(".")
  const under = createHmac("sha256", new Uint8Array(32).fill(1)).update(`tessera 1 session ${theWorkspace.id}`).digest()
  const mac = createHmac("sha256", under).update(`device ${ada} ${nonce} ${at}`).digest("base64url")
  const cookie = `${name}=${key}.${nonce}.${at}.${mac}`
  expect(known(cookie)).toBeUndefined()
  expect(known(cookie, sealer, { ...theWorkspace, sealedBefore: true })).toBe(nonce as string)
  const forged = cookie.replace(`.${at}.`, ".1.")
  expect(known(forged, sealer, { ...theWorkspace, sealedBefore: true })).toBeUndefined()
})
