import { isKeyText } from "../../grant/apiKey.ts"
import { bearerScheme, bearerText, shownAsBearer } from "./bearer.ts"
import type { Presentation } from "./Presentation.ts"

/** A key of the workspace, shown by the scheme of tokens and told apart by its prefix. */
export const apiKey: Presentation = {
  name: "api_key",
  scheme: bearerScheme,
  shows: "apiKey",
  carries: () => false,
  read: (request) => {
    const text = bearerText(request)
    return text === undefined || !isKeyText(text) ? undefined : shownAsBearer(text)
  }
}
