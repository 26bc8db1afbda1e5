import type { Step } from "../script/Command.ts"
import { answerClient } from "./answerClient.ts"
import { authorize } from "./authorize.ts"
import { attest, bring, trustIssuer } from "./bring.ts"
import { check } from "./check.ts"
import { clientCredentials } from "./clientCredentials.ts"
import { decide } from "./decide.ts"
import { deleteClient } from "./deleteClient.ts"
import { askDevice, enter, poll } from "./device.ts"
import { blockHost, publish, readingsOf } from "./document.ts"
import { endSession } from "./endSession.ts"
import { allowExchange, exchange } from "./exchange.ts"
import { introspect } from "./introspect.ts"
import { ownGrant } from "./ownGrant.ts"
import { keepHouse, wait } from "./pass.ts"
import { belong, endAll } from "./place.ts"
import { withProofSpent } from "./proof.ts"
import { push, visit } from "./push.ts"
import type { Alternative, Facts } from "./Rule.ts"
import { redeem } from "./redeem.ts"
import { refresh } from "./refresh.ts"
import { register } from "./register.ts"
import { rekey } from "./rekey.ts"
import { revoke } from "./revoke.ts"
import { signOut } from "./signOut.ts"

/** All the ways in which a step may come out; nothing where it speaks of something that never came to be. */
export const predict = (facts: Facts, step: Step): ReadonlyArray<Alternative> => {
  const spent = withProofSpent(facts, step)
  return readingsOf(facts, step).flatMap((read) =>
    predicted({ ...facts, ...read }, step).map((alternative) => ({ ...alternative, next: spent(alternative.next) }))
  )
}

const predicted = (facts: Facts, step: Step): ReadonlyArray<Alternative> => {
  switch (step._tag) {
    case "Register":
      return register(facts, step)
    case "Publish":
      return publish(facts, step)
    case "BlockHost":
      return blockHost(facts, step)
    case "Authorize":
      return authorize(facts, step)
    case "Push":
      return push(facts, step)
    case "Visit":
      return visit(facts, step)
    case "AskDevice":
      return askDevice(facts, step)
    case "Enter":
      return enter(facts, step)
    case "Poll":
      return poll(facts, step)
    case "AllowExchange":
      return allowExchange(facts, step)
    case "AnswerClient":
      return answerClient(facts, step)
    case "Exchange":
      return exchange(facts, step)
    case "TrustIssuer":
      return trustIssuer(facts, step)
    case "Attest":
      return attest(facts, step)
    case "Bring":
      return bring(facts, step)
    case "EndSession":
      return endSession(facts, step)
    case "SignOut":
      return signOut(facts, step)
    case "Belong":
      return belong(facts, step)
    case "EndAll":
      return endAll(facts, step)
    case "Decide":
      return decide(facts, step)
    case "Redeem":
      return redeem(facts, step)
    case "Refresh":
      return refresh(facts, step)
    case "ClientCredentials":
      return clientCredentials(facts, step)
    case "OwnGrant":
      return ownGrant(facts, step)
    case "Revoke":
      return revoke(facts, step)
    case "Introspect":
      return introspect(facts, step)
    case "Check":
      return check(facts, step)
    case "DeleteClient":
      return deleteClient(facts, step)
    case "Rekey":
      return rekey(facts, step)
    case "Wait":
      return wait(facts, step)
    case "Housekeeping":
      return keepHouse(facts, step)
  }
}
