import { describe, expect, test } from "bun:test"
import { Effect, Schema } from "effect"
import { clientMembers } from "../../core/client/members.ts"
import { registrationFields } from "../../core/client/RegistrationRequest.ts"
import type { Contract } from "../../core/http/Route.ts"
import { clientFields, withClientFields } from "../../core/oauth/clients/authenticateClient.ts"
import { clientAuths } from "../../core/oauth/clients/table.ts"
import { introspectContract } from "../../core/oauth/endpoints/introspect.ts"
import { parContract } from "../../core/oauth/endpoints/par.ts"
import { revokeContract } from "../../core/oauth/endpoints/revoke.ts"
import { tokenContract as tokenContractOf } from "../../core/oauth/endpoints/token.ts"
import { grantTypes } from "../../core/oauth/grants/table.ts"
import { bearer } from "../../core/oauth/presented/bearer.ts"
import { authorizeContract } from "../../core/request/readRequest.ts"
import { standardPolicy } from "../../core/rules/Policy.ts"
import { inWorld, type World } from "../given/World.ts"

const tables = {
  clientAuths: new Map(clientAuths.map((row) => [row.name, row])),
  clientMembers,
  grantTypes: new Map(grantTypes.map((row) => [row.name, row]))
}

const rows = tables.grantTypes
const tokenContract = tokenContractOf({ grantTypes: rows, policy: standardPolicy, presentations: [bearer] })

const forms = [...tokenContract.form.members, introspectContract.form, revokeContract.form, parContract.form]

/** The contracts of a server's table. */
const contractsOf = ({ services }: World): ReadonlyArray<Contract> =>
  services.endpoints
    .flatMap(({ methods }) => Object.values(methods))
    .flatMap(({ contract }) => contract?.(services) ?? [])

const jsonIn = (schema: Schema.Top | undefined): string =>
  schema === undefined ? "" : JSON.stringify(Schema.toJsonSchemaDocument(schema))

describe("what readers are compiled from", () => {
  test("is every form and query of the table of endpoints, with what clients show beside it", () =>
    inWorld((world) =>
      Effect.sync(() => {
        const taken = contractsOf(world).filter(({ form, query }) => form !== undefined || query !== undefined)
        expect(taken.map(({ id }) => id).sort()).toEqual([
          "authorize",
          "authorizeByPost",
          "authorizeDevice",
          "introspect",
          "pushAuthorizationRequest",
          "revoke",
          "token",
          "userinfoByPost"
        ])
        const known = [tokenContractOf(world.services), introspectContract, revokeContract, parContract]
        for (const contract of known) {
          const form = taken.find(({ id }) => id === contract.id)?.form
          expect(jsonIn(form)).toBe(jsonIn(withClientFields(world.services, contract).form))
        }
      })
    ))

  test("is, for the token endpoint, the form of each row", () => {
    for (const { fields } of tokenContract.form.members) {
      const form = rows.get(fields.grant_type.literal)?.form ?? {}
      const { grant_type: _type, ...own } = fields
      expect(Object.keys(own)).toEqual(Object.keys(form))
      expect(Object.entries(own).every(([name, field]) => Object.is(form[name], field))).toBe(true)
    }
  })

  // Readers go by the fields: a struct that had more to say than they do would say it in the document alone.
  test("says all that it says in its fields", () => {
    for (const { ast } of [authorizeContract.query, ...forms]) {
      expect([ast._tag, ast.checks, ast.encoding]).toEqual(["Objects", undefined, undefined])
    }
  })

  // The client is read before the form, by fields that no form has of its own.
  test("has no field by which clients say who they are", () => {
    for (const name of Object.keys(clientFields(tables.clientAuths))) {
      for (const { fields } of forms) expect(Object.keys(fields)).not.toContain(name)
    }
  })

  test("has, for a registration, the members of the Schema that reads one", () =>
    inWorld((world) =>
      Effect.sync(() => {
        const members = (id: string) =>
          Object.keys(
            contractsOf(world)
              .flatMap((one) => (one.id === id ? [one.json] : []))
              // A registration's Schema is a struct.
              .map((json) => (json as Schema.Struct<Schema.Struct.Fields>).fields)[0] ?? {}
          )
        const read = Object.keys(registrationFields(world.services))
        expect(members("registerClient")).toEqual(read)
        expect(members("updateClient")).toEqual([...read, "client_id", "client_secret"])
      })
    ))

  test("has a form for each grant type that a client may register for", () => {
    expect(tokenContract.form.members.map(({ fields }) => fields.grant_type.literal)).toEqual([...rows.keys()])
  })
})
