import type { HeaderPairs } from "../http/Http.ts"
import type { Html } from "./Html.ts"

/** A page before it is an answer. */
export interface Document {
  readonly title: string
  /** Everything inside `<body>`. */
  readonly body: Html
  /**
   * Where its forms may end. Browsers hold `form-action` against every redirect that follows, so a form
   * that leads to a client's redirect URI can have none: it would silently do nothing.
   */
  readonly formsEnd: "here" | "anywhere"
  /** Applications open sign-in and consent in a pop-up and listen to it; cut off from its opener, it can't report back. */
  readonly opener: "kept" | "cut"
  /** What this page needs besides: `Retry-After`. */
  readonly headers?: HeaderPairs
}
