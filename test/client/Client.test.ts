import { expect, test } from "bun:test"
import { Option, Schema } from "effect"
import { Client } from "../../core/client/Client.ts"
import { client, t0 } from "../grant/given.ts"

const answer = { approved: true, by: "ada", at: t0 }
const asked = { askedAt: t0, network: "192.0.2.1", answer }

test.each([
  { workspaceAccess: asked, reads: true },
  { workspaceAccess: { ...asked, network: null, answer: null }, reads: true },
  { workspaceAccess: {}, reads: false },
  { workspaceAccess: { ...asked, askedAt: "yesterday" }, reads: false },
  { workspaceAccess: { ...asked, answer: {} }, reads: false },
  { workspaceAccess: { ...asked, answer: { ...answer, approved: "yes" } }, reads: false }
])("a stored client whose question for workspace access is $workspaceAccess", ({ reads, workspaceAccess }) => {
  expect(Option.isSome(Schema.decodeUnknownOption(Client)({ ...client(), workspaceAccess }))).toBe(reads)
})
