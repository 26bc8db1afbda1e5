import { describe, expect, test } from "bun:test"
import type { Client, WorkspaceAccess } from "../../core/client/Client.ts"
import {
  answered,
  asking,
  asksForWorkspace,
  mayRegisterForWorkspace,
  questionOf,
  workspaceStanding
} from "../../core/client/workspaceAccess.ts"
import { grantTypes } from "../../core/oauth/grants/table.ts"
import { RedirectUri } from "../../core/rules/RedirectUri.ts"
import { after, client, policy, scopes, t0 } from "../grant/given.ts"

const both = ["authorization_code", "refresh_token", "client_credentials"]
const machine = (over: Partial<Client> = {}) => client({ grantTypes: both, ...over })
const under = (workspaceAccess: "registered" | "approved" | "owner") => ({ ...policy, workspaceAccess })
const question: WorkspaceAccess = { askedAt: t0, network: "203.0.113.9", answer: null }
const answerOf = (approved: boolean): WorkspaceAccess => ({
  ...question,
  answer: { approved, by: "ada", at: after(1) }
})

describe("who may act for the workspace", () => {
  const standings = (of: Client) =>
    (["registered", "approved", "owner"] as const).map((access) => workspaceStanding(of, under(access)))

  test("is for the policy to say, and under `approved` for an owner", () => {
    expect(standings(machine())).toEqual(["allowed", "waiting", "owners_only"])
    expect(standings(machine({ workspaceAccess: question }))).toEqual(["allowed", "waiting", "owners_only"])
    expect(standings(machine({ workspaceAccess: answerOf(true) }))).toEqual(["allowed", "allowed", "owners_only"])
    expect(standings(machine({ workspaceAccess: answerOf(false) }))).toEqual(["allowed", "refused", "owners_only"])
  })

  test("an owner's own clients always may, whatever was answered before", () => {
    for (const workspaceAccess of [question, answerOf(false)]) {
      expect(standings(machine({ madeBy: "owner", workspaceAccess }))).toEqual(["allowed", "allowed", "allowed"])
    }
  })

  test("only where owners alone may, no client registers itself for it", () => {
    const by = (madeBy: "itself" | "owner") =>
      (["registered", "approved", "owner"] as const).map((access) => mayRegisterForWorkspace(madeBy, under(access)))
    expect([by("itself"), by("owner")]).toEqual([
      [true, true, false],
      [true, true, true]
    ])
  })

  test("is asked by who registered for such a grant type", () => {
    expect(asksForWorkspace(machine(), grantTypes)).toBe(true)
    expect(asksForWorkspace(client({ grantTypes: ["authorization_code"] }), grantTypes)).toBe(false)
  })
})

describe("a registration", () => {
  const asked = { at: after(5000), network: "2001:db8:0:1::/64" }
  const anew: WorkspaceAccess = { askedAt: asked.at, network: asked.network, answer: null }
  const approved = machine({
    workspaceAccess: answerOf(true),
    about: { client_name: "Job", client_uri: "https://job.example" },
    redirectUris: [RedirectUri.make("https://job.example/cb")]
  })
  const changed = (over: Partial<Client>, before = approved) =>
    asking({ ...before, ...over }, grantTypes, asked, before)

  test("asks, where it is for such a grant type and no owner made it", () => {
    expect(asking(machine(), grantTypes, asked)).toEqual(machine({ workspaceAccess: anew }))
    const owners = machine({ madeBy: "owner" })
    expect(asking(owners, grantTypes, asked)).toEqual(owners)
    const person = client({ grantTypes: ["authorization_code"] })
    expect(asking(person, grantTypes, asked)).toEqual(person)
  })

  test("keeps its answer where it changes nothing that an owner looked at, or asks for less", () => {
    for (const over of [
      {},
      { about: { ...approved.about, software_version: "2" } },
      { redirectUris: [] },
      { scope: scopes("api") },
      { grantTypes: ["client_credentials"] }
    ]) {
      expect(changed(over).workspaceAccess).toEqual(answerOf(true))
      expect(changed(over, machine({ ...approved, workspaceAccess: question })).workspaceAccess).toEqual(question)
    }
  })

  test("asks anew under another name, with another address, or for more", () => {
    const narrow = machine({ ...approved, scope: scopes("profile"), grantTypes: ["client_credentials"] })
    const all = [
      changed({ about: { client_uri: "https://job.example" } }),
      changed({ about: { ...approved.about, client_name: "Bank" } }),
      changed({ about: { ...approved.about, client_uri: "https://bank.example" } }),
      changed({ redirectUris: [RedirectUri.make("https://bank.example/cb")] }),
      changed({ scope: scopes("api", "profile") }, narrow),
      changed({ grantTypes: both }, narrow)
    ]
    expect(all.map(({ workspaceAccess }) => workspaceAccess)).toEqual(all.map(() => anew))
  })

  test("for people alone takes the question back, and with it the answer to a later one", () => {
    const without = changed({ grantTypes: ["authorization_code", "refresh_token"] })
    expect("workspaceAccess" in without).toBe(false)
    expect(changed({ grantTypes: both }, without).workspaceAccess).toEqual(anew)
  })

  test("of an owner's client that changed itself asks", () => {
    const owners = machine({ madeBy: "owner" })
    expect(asking({ ...owners, madeBy: "itself" }, grantTypes, asked, owners).workspaceAccess).toEqual(anew)
  })
})

describe("an owner's answer", () => {
  const at = after(1000)
  const say = (of: Client, approved: boolean) => answered(of, { approved, by: "ada", at }, policy)

  test("is kept with the question, also with one that is older than questions", () => {
    expect(say(machine({ workspaceAccess: question }), true).workspaceAccess).toEqual({
      ...question,
      answer: { approved: true, by: "ada", at }
    })
    expect(questionOf(machine())).toEqual({ askedAt: machine().createdAt, network: null, answer: null })
    expect(say(machine(), false).workspaceAccess).toEqual({
      ...questionOf(machine()),
      answer: { approved: false, by: "ada", at }
    })
  })

  test("keeps an approved client from being forgotten, until it is taken back from one that never completed a flow", () => {
    const young = machine({ provenAt: null, expiresAt: after(50_000) })
    const approved = say(young, true)
    expect(approved.expiresAt).toBeNull()
    expect(say(approved, false).expiresAt).toBe(after(1000 + policy.unusedClientTtl))
    expect(say(young, false).expiresAt).toBe(after(50_000))
    expect(say(machine({ provenAt: t0, expiresAt: null }), false).expiresAt).toBeNull()
  })
})
