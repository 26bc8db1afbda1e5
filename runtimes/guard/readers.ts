import { type Clock, type Duration, Layer, Redacted, Result } from "effect"
import { type Issuer, isSecure, parseIssuer } from "../../core/workspace/Workspace.ts"
import { isObject, readMillis, strangerIn } from "../serve/options.ts"
import { BadGuardOption } from "./Check.ts"

export type Checked<A> = Result.Result<A, BadGuardOption>

/** Readers of the options of one guard, which its complaints name. */
export const readersFor = (guard: string) => {
  const bad = (option: string, why: string): Result.Result<never, BadGuardOption> =>
    Result.fail(new BadGuardOption({ option, message: `${guard}: ${option} ${why}` }))

  /** Tokens and API keys go there, or keys come from there: no machine in between may touch them. */
  const secureUrl = (option: string, text: string): Checked<URL> => {
    if (!URL.canParse(text)) return bad(option, "is no URL")
    const url = new URL(text)
    return isSecure(url) && url.username === "" && url.password === ""
      ? Result.succeed(url)
      : bad(option, "has to be https, or http on this machine, without a user in it")
  }

  return {
    bad,
    secureUrl,
    /** `within`: the option that has them, and a dot. */
    knownNames: (given: object, known: object, within = ""): Checked<void> => {
      const stranger = strangerIn(given, known)
      return stranger === undefined ? Result.succeed(undefined) : bad(within + stranger, "is no option")
    },
    millisOf: (option: string, given: Duration.Input): Checked<number> => {
      const millis = readMillis(given)
      return millis !== undefined
        ? Result.succeed(millis)
        : bad(option, 'has to be milliseconds, or words such as "5 seconds"')
    },
    clockOf: (given: Clock.Clock | undefined): Checked<void> =>
      given === undefined || typeof given?.currentTimeMillisUnsafe === "function"
        ? Result.succeed(undefined)
        : bad("clock", "has to be a Clock of effect"),
    issuerOf: (text: string): Checked<Issuer> =>
      Result.flatMap(secureUrl("issuer", text), () =>
        Result.orElse(parseIssuer(text), () =>
          bad("issuer", "has to be written without query, fragment or slash at the end")
        )
      ),
    storageOf: (option: string, given: unknown): Checked<void> => {
      const isOne = given === undefined || Layer.isLayer(given) || (isObject(given) && "insert" in given)
      return isOne ? Result.succeed(undefined) : bad(option, "has to be a layer of tessera/storage, or a storage")
    },
    apiKeyOf: (given: unknown): Checked<Redacted.Redacted<string>> => {
      const key: unknown = Redacted.isRedacted(given) ? Redacted.value(given) : given
      return typeof key === "string" && /^[\x21-\x7e]+$/.test(key)
        ? Result.succeed(Redacted.make(key, { label: "API key" }))
        : bad("apiKey", "is empty, or no key")
    }
  }
}
