import type { HttpResponse } from "../../http/Http.ts"
import type { Presented, Step } from "../script/Command.ts"
import { type ConsentForm, readConsentForm } from "./ConsentForm.ts"
import { readSigned } from "./proofs.ts"
import { jsonOf, locationOf, textField } from "./reading.ts"

/** Which text stands behind each name. What a system hands out is written down here, and nowhere in the model. */
export type Ledger = ReadonlyMap<string, string>

export const blank: Ledger = new Map()

const presentedName = (presented: Presented): string => `${presented.kind}#${presented.ref}`

const garbageText = (ref: number): string => `not-a-token-${ref}`

/** The text of what is presented; a made-up one where the script says so. */
export const presentedText = (ledger: Ledger, presented: Presented): string =>
  presented.kind === "garbage" ? garbageText(presented.ref) : (ledger.get(presentedName(presented)) ?? "")

const presentedNeeds = (presented: Presented | null): ReadonlyArray<string> =>
  presented === null || presented.kind === "garbage" ? [] : [presentedName(presented)]

/** The names that a step cannot do without. */
export const needs = (step: Step): ReadonlyArray<string> => {
  switch (step._tag) {
    case "Authorize":
      return [`client#${step.client}`, ...(step.hint === undefined ? [] : [`id token#${step.hint}`])]
    case "SignOut":
      return [
        ...(step.client === null ? [] : [`client#${step.client}`]),
        ...(typeof step.hint === "number" ? [`id token#${step.hint}`] : [])
      ]
    case "Push":
      return [`client#${step.client}`]
    case "Visit":
      return [`request#${step.request}`, `client#${step.client}`]
    case "AskDevice":
      return [`client#${step.client}`]
    case "Enter":
      return [`user code#${step.device}`]
    case "Poll":
      return [`device code#${step.device}`, `client#${step.by}`]
    case "Decide":
      return [`page#${step.page}`]
    case "Redeem":
      return [`code#${step.code}`, `client#${step.by}`]
    case "ClientCredentials":
    case "OwnGrant":
      return [`client#${step.by}`]
    case "Publish":
    case "BlockHost":
    case "AllowExchange":
    case "AnswerClient":
      return [`client#${step.client}`]
    case "Attest":
      return step.names === null ? [] : [`client#${step.names}`]
    case "Bring":
      return [`assertion#${step.assertion}`, `client#${step.by}`]
    case "EndAll":
      return step.client === undefined ? [] : [`client#${step.client}`]
    case "Refresh":
    case "Exchange":
    case "Revoke":
    case "Introspect":
      return [...presentedNeeds(step.token), `client#${step.by}`]
    case "Check":
      return presentedNeeds(step.token)
    case "DeleteClient":
    case "Rekey":
      return [`client#${step.client}`, ...(step.with === null ? [] : [`registration#${step.with}`])]
    default:
      return []
  }
}

/** The fields of a consent page, kept under one name. */
export const formOf = (ledger: Ledger, page: number): ConsentForm | null => {
  const kept = ledger.get(`page#${page}`)
  // It was written below, by this file.
  return kept === undefined ? null : (JSON.parse(kept) as ConsentForm)
}

/** What an answer hands over, by name. */
export const handedOver = (step: Step, response: HttpResponse): ReadonlyArray<readonly [string, string]> => {
  const pairs: Array<readonly [string, string]> = []
  const keep = (name: string, text: string | null) => {
    if (text !== null) pairs.push([`${name}#${step.id}`, text])
  }
  switch (step._tag) {
    case "Register": {
      const body = jsonOf(response)
      keep("client", textField(body, "client_id"))
      keep("secret", textField(body, "client_secret"))
      keep("registration", textField(body, "registration_access_token"))
      break
    }
    case "AskDevice": {
      const body = jsonOf(response)
      keep("device code", textField(body, "device_code"))
      keep("user code", textField(body, "user_code"))
      break
    }
    case "Attest":
      keep("assertion", textField(jsonOf(response), "assertion"))
      break
    case "Push":
      keep("request", textField(jsonOf(response), "request_uri"))
      break
    case "Authorize":
    case "Visit":
    case "Enter": {
      const form = response.status === 200 ? readConsentForm(response.body) : null
      keep("page", form === null ? null : JSON.stringify(form))
      break
    }
    case "Decide":
      keep("code", locationOf(response)?.parameters.get("code") ?? null)
      break
    case "Redeem":
    case "Poll":
    case "Exchange":
    case "Bring":
    case "Refresh":
    case "ClientCredentials":
    case "OwnGrant": {
      const body = jsonOf(response)
      keep("access", textField(body, "access_token"))
      keep("refresh", textField(body, "refresh_token"))
      keep("id token", textField(body, "id_token"))
      keep("sid", textField(readSigned(textField(body, "id_token"))?.claims ?? null, "sid"))
      break
    }
    default:
      break
  }
  return pairs
}

export const withAnswer = (ledger: Ledger, step: Step, response: HttpResponse): Ledger =>
  new Map([...ledger, ...handedOver(step, response)])
