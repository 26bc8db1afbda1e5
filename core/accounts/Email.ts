import { Option, Schema } from "effect"
import { emailLength } from "../rules/AccountLengths.ts"
import { type Digest, digestOf } from "../rules/Secret.ts"

/** An address in the one form in which it is compared. */
export const Email = Schema.String.pipe(Schema.brand("Email"))
export type Email = typeof Email.Type

/** Nothing that is not seen: it would tell addresses apart that look the same. */
const form = /^[^\s@\p{C}\p{DI}]+@[^\s@\p{C}\p{DI}]+$/u

/**
 * Trimmed, in Unicode's NFKC, in lower case: the same letters typed on another keyboard are the same address. Whether
 * mail arrives there is never asked. NFKC comes again because lower case can leave it.
 */
export const normaliseEmail = (text: string): Option.Option<Email> => {
  const normal = text.normalize("NFKC").toLowerCase().normalize("NFKC").trim()
  // This is where the brand is given.
  return normal.length <= emailLength && form.test(normal) ? Option.some(normal as Email) : Option.none()
}

/** What a login is found by, so that the store's keys name nobody. */
export const loginIdOf = (email: Email): Digest => digestOf(email)
