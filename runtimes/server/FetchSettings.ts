import { Option } from "effect"
import {
  type AllowList,
  allowListExpected,
  certificatesIn,
  type FetchOptions,
  fetchesNothingPrivate,
  readAllowList
} from "../../adapters/documents/FetchOptions.ts"
import { certificateOf, textOf } from "./Tls.ts"
import { fromResult, optional, type Variable } from "./Variable.ts"

/** The certificates in a file; none where it can't be read, or where one of them is broken. */
const readCertificates = (path: string): Option.Option<string> => {
  const found = certificatesIn(textOf(path) ?? "")
  const isSound = found.every((one) => certificateOf(one) !== undefined)
  return found.length > 0 && isSound ? Option.some(found.join("\n")) : Option.none()
}

/**
 * Where the server goes by itself: for keys of clients and of trusted issuers, for metadata documents of clients, and to
 * tell clients of a sign-out.
 */
export const fetchVariables = {
  fetchAllow: {
    name: "FETCH_ALLOW",
    expected: `${allowListExpected}, separated by commas`,
    read: fromResult((text) => readAllowList(text.split(",").map((entry) => entry.trim()))),
    fallback: fetchesNothingPrivate.allow
  } satisfies Variable<AllowList>,
  fetchCa: optional<string>({
    name: "FETCH_CA",
    expected: "a readable PEM file with certificates and no broken one",
    read: readCertificates
  })
}

export const fetchOptionsOf = (allow: AllowList, ca: Option.Option<string>): FetchOptions => ({
  allow,
  ca: Option.getOrUndefined(ca)
})
