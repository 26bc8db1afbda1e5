import { Result, Schema } from "effect"
import * as T from "tessera/core"

/** Whose vouchers are out; a host would keep them in its own store, and draw them at random. */
const vouchers = new Map([["voucher-of-ada", T.UserId.make("ada")]])

/** A grant type of a host's own: a voucher for the tokens of the person that it was made out to. */
export const voucher = T.grantType({
  name: "urn:example:voucher",
  documents: { identifier: "UseVoucher", description: "A voucher for a person's tokens." },
  form: { voucher: Schema.String.annotate({ description: "As the host handed it out." }) },
  faults: [T.InvalidGrant],
  registers: { needs: ["secret"], brings: ["refresh_token"] },
  grantOf: (form, _by, opener) => {
    const user = vouchers.get(form.voucher)
    if (user === undefined) return Result.fail(new T.InvalidGrant({ reason: "unknown" }))
    const grant = opener.drawId()
    return Result.succeed({ grant, from: "drawn", form: { grant, user } })
  },
  decide: (_found, step) => {
    const { by, now, policy } = step
    const scope = T.allScopes(policy.scopes)
    const subject = { _tag: "User", id: step.form.user } as const
    const begun = { id: step.form.grant, client: by.client.id, subject, scope, resources: null, createdAt: now }
    const endsAt = T.later(now, policy.refreshMaxTtl)
    const line = { access: T.noAccessTokensYet, binding: T.lineBinding(step), endsAt, generation: 1 }
    const grant = T.activeFrom(begun, line, step)
    return T.answerAndKeep(grant, T.tokensOf(grant, scope, null, step))
  }
})
