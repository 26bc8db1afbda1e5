import type { HttpResponse } from "../../core/http/Http.ts"
import { decode } from "../pages/parse.ts"

/** The stable name of a page, whose words may change. */
export const pageName = ({ body }: Pick<HttpResponse, "body">): string | undefined =>
  /<body data-page="([^"]*)"/.exec(body)?.[1]

/** The role of the notice that a page shows about a form; one without words is none. */
export const noticeOn = ({ body }: Pick<HttpResponse, "body">): "done" | "problem" | undefined => {
  if (/<div class="notice notice-problem" role="alert">[^<]*(?:<[^>]*>)?\s*[A-Z]/.test(body)) return "problem"
  return /<div class="notice notice-done" role="status">[^<]*(?:<[^>]*>)?\s*[A-Z]/.test(body) ? "done" : undefined
}

/** The fields with a problem on a page. */
export const fieldProblems = ({ body }: Pick<HttpResponse, "body">): ReadonlyArray<string> =>
  [...body.matchAll(/class="field-problem" id="([^"]*)-problem"/g)].map(([, field = ""]) => field)

/** The reason that a page gives for an empty list. */
export const emptyList = ({ body }: Pick<HttpResponse, "body">): string | undefined =>
  /class="panel empty" data-list="([^"]*)"/.exec(body)?.[1]

const attributeOf = (tag: string, name: string): string | undefined => {
  const written = new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1]
  return written === undefined ? undefined : decode(written)
}

/** What stands in the fields that a person sees on a page: texts, the chosen of several, and the boxes that are ticked. */
export const typedOn = ({ body }: Pick<HttpResponse, "body">): Readonly<Record<string, string>> => {
  const typed: Record<string, string> = {}
  const [, main = body] = body.split("<main")
  for (const [tag, options] of main.matchAll(/<input [^>]*>|<select [^>]*>([\s\S]*?)<\/select>/g)) {
    const name = attributeOf(tag, "name")
    if (name === undefined || tag.includes('type="hidden"')) continue
    const chosen = options === undefined ? tag : (/<option [^>]* selected>/.exec(options)?.[0] ?? "")
    if (!tag.includes('type="checkbox"') || tag.includes(" checked")) typed[name] = attributeOf(chosen, "value") ?? ""
  }
  return typed
}
