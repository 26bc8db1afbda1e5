import { expect, test } from "bun:test"
import {
  failureOf,
  isConnectionsFault,
  isLostRace,
  isRowsFault,
  unavailable
} from "../../../adapters/postgres/outcome.ts"

const said = (severity: string | undefined, code: string) =>
  failureOf({ ...(severity === undefined ? {} : { severity }), code, message: "Key (id)=(half-of-a-token)" })

test.each([
  ["ERROR", "23505", "not_done"],
  ["ERROR", "53200", "not_done"],
  ["ERROR", "57014", "not_done"],
  // The connection is gone with it, and perhaps the answer to what was written.
  ["FATAL", "53200", "unknown"],
  ["FATAL", "57014", "unknown"],
  ["FATAL", "57P01", "unknown"],
  ["ERROR", "57P01", "unknown"],
  ["ERROR", "08006", "unknown"],
  ["ERROR", "40003", "unknown"],
  ["ERROR", "XX000", "unknown"],
  [undefined, "ECONNRESET", "unknown"]
] as const)("a write that ends in %s %s is %s, and a read is always not done", (severity, code, outcome) => {
  const failure = said(severity, code)
  expect(unavailable(failure, true).outcome).toBe(outcome)
  expect(unavailable(failure, false).outcome).toBe("not_done")
})

test("only what the server rolled back is said again", () => {
  for (const code of ["40001", "40P01"]) {
    expect([isLostRace(said("ERROR", code)), isRowsFault(said("ERROR", code))]).toEqual([true, true])
    expect([isLostRace(said("FATAL", code)), isRowsFault(said("FATAL", code))]).toEqual([false, false])
  }
})

test("a connection is of no more use once it broke, or its server is no primary any more", () => {
  expect(isConnectionsFault(said("ERROR", "25006"))).toBe(true)
  expect(isConnectionsFault(said("FATAL", "57P01"))).toBe(true)
  expect(isConnectionsFault(said(undefined, "ECONNRESET"))).toBe(true)
  for (const code of ["23505", "40001", "57014"]) expect(isConnectionsFault(said("ERROR", code))).toBe(false)
})

test("what the server says is passed on where it can't quote a value, and nowhere else", () => {
  for (const code of ["53200", "42501", "42P01"]) expect(said("ERROR", code).message).toContain("half-of-a-token")
  for (const code of ["22P02", "23505", "42703", "XX000"]) {
    expect(said("ERROR", code).message).toBe(`PostgreSQL answered ${code}`)
  }
})

test("a code of the system's own is no word of the server's, even where it looks like one", () => {
  expect(said(undefined, "EPIPE").message).toBe("no answer from PostgreSQL (EPIPE)")
})

test("a certificate that is not trusted brings the parameter that helps, and no other code does", () => {
  for (const code of ["DEPTH_ZERO_SELF_SIGNED_CERT", "UNABLE_TO_GET_ISSUER_CERT_LOCALLY"]) {
    expect(said(undefined, code).message).toContain("sslrootcert")
  }
  for (const code of ["CERT_HAS_EXPIRED", "ERR_TLS_CERT_ALTNAME_INVALID", "ECONNREFUSED"]) {
    expect(said(undefined, code).message).not.toContain("sslrootcert")
  }
})
