import type { HttpResponse } from "../../core/http/Http.ts"

/** The stable name of a page, whose words may change. */
export const pageName = ({ body }: Pick<HttpResponse, "body">): string | undefined =>
  /<body data-page="([^"]*)"/.exec(body)?.[1]

/** The role of the notice that a page shows about a form. */
export const noticeOn = ({ body }: Pick<HttpResponse, "body">): "done" | "problem" | undefined => {
  if (body.includes('<div class="notice notice-problem" role="alert">')) return "problem"
  return body.includes('<div class="notice notice-done" role="status">') ? "done" : undefined
}

/** The fields with a problem on a page. */
export const fieldProblems = ({ body }: Pick<HttpResponse, "body">): ReadonlyArray<string> =>
  [...body.matchAll(/class="field-problem" id="([^"]*)-problem"/g)].map(([, field = ""]) => field)

/** The reason that a page gives for an empty list. */
export const emptyList = ({ body }: Pick<HttpResponse, "body">): string | undefined =>
  /class="panel empty" data-list="([^"]*)"/.exec(body)?.[1]
