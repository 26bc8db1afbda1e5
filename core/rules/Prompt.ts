import { Result, Schema } from "effect"
import { InvalidRequest } from "./Refusal.ts"

/** OpenID Connect Core §3.1.2.1: which pages a client asks for, or asks to be spared. */
export const Prompt = Schema.Literals(["none", "login", "consent", "select_account"])
export type Prompt = typeof Prompt.Type

export const Prompts = Schema.Array(Prompt)
export type Prompts = typeof Prompts.Type

const noneAlone = new InvalidRequest({
  reason: "prompt_none_with_another",
  message: "The prompt none stands alone."
})

const nothingAsked: Result.Result<Prompts> = Result.succeed([])

/**
 * In the order of the table, each once. Values of other servers are passed over, as §3.1.2.1 allows, so that a client can
 * send new ones to every server; but beside `none` they are another.
 */
export const readPrompts = (text: string): Result.Result<Prompts, InvalidRequest> => {
  if (text === "") return nothingAsked
  const named = new Set(text.split(" ").filter((name) => name !== ""))
  if (named.has("none") && named.size > 1) return Result.fail(noneAlone)
  return Result.succeed(Prompt.literals.filter((prompt) => named.has(prompt)))
}
