import { describe, expect, test } from "bun:test"
import { Effect, Struct } from "effect"
import { grantTypes } from "../../core/client/Client.ts"
import { RegistrationRequest } from "../../core/client/RegistrationRequest.ts"
import { variantsOf } from "../../core/http/form.ts"
import { clientFields } from "../../core/oauth/clients/authenticateClient.ts"
import { introspectContract } from "../../core/oauth/endpoints/introspect.ts"
import { registerContract, updateRegistrationContract } from "../../core/oauth/endpoints/register.ts"
import { revokeContract } from "../../core/oauth/endpoints/revoke.ts"
import { tokenContract } from "../../core/oauth/endpoints/token.ts"
import { authorizeContract } from "../../core/request/readRequest.ts"
import { inWorld } from "../given/World.ts"

const forms = [...tokenContract.form.members, introspectContract.form, revokeContract.form]

describe("what readers are compiled from", () => {
  test("is every form and query of the table of routes", () =>
    inWorld((world) =>
      Effect.sync(() => {
        const operations = world.parts.endpoints.flatMap(({ methods }) => Object.values(methods))
        const contracts = operations.flatMap(({ contract }) => contract?.(world.parts) ?? [])
        const taken = contracts.flatMap(({ form, query }) => [form, query]).filter((schema) => schema !== undefined)
        const known = [authorizeContract.query, tokenContract.form, introspectContract.form, revokeContract.form]
        expect(taken.length).toBe(known.length)
        expect(taken.every((schema) => known.some((one) => one === schema))).toBe(true)
      })
    ))

  // Readers go by the fields: a struct that had more to say than they do would say it in the document alone.
  test("says all that it says in its fields", () => {
    for (const { ast } of [authorizeContract.query, ...forms]) {
      expect([ast._tag, ast.checks, ast.encoding]).toEqual(["Objects", undefined, undefined])
    }
  })

  // The client is read before anybody looks which form it is.
  test("has the one pair of fields by which every client says who it is", () => {
    for (const { fields } of forms) {
      expect(fields.client_id).toBe(clientFields.client_id)
      expect(fields.client_secret).toBe(clientFields.client_secret)
    }
  })

  test("has, for a registration, the members of the Schema that reads one", () => {
    const others = Struct.omit(updateRegistrationContract.json.fields, ["client_id", "client_secret"])
    for (const fields of [registerContract.json.fields, others]) {
      expect(Object.keys(fields)).toEqual(Object.keys(RegistrationRequest.fields))
      expect(Object.values(fields).every((field) => Object.values(RegistrationRequest.fields).includes(field))).toBe(
        true
      )
    }
  })

  test("has a form for each grant type that a client may register for", () => {
    expect(Object.keys(variantsOf(tokenContract.form, "grant_type"))).toEqual([...grantTypes])
  })
})
