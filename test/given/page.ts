import type { HttpResponse } from "../../core/http/Http.ts"

/** The stable name of a page; its words are free to change. */
export const pageName = ({ body }: Pick<HttpResponse, "body">): string | undefined =>
  /<body data-page="([^"]*)"/.exec(body)?.[1]

/** The result of a form that a page reports, by its role. */
export const noticeOn = ({ body }: Pick<HttpResponse, "body">): "done" | "problem" | undefined => {
  if (body.includes('<div class="notice notice-problem" role="alert">')) return "problem"
  return body.includes('<div class="notice notice-done" role="status">') ? "done" : undefined
}

/** The fields that a page reports a problem of. */
export const fieldProblems = ({ body }: Pick<HttpResponse, "body">): ReadonlyArray<string> =>
  [...body.matchAll(/class="field-problem" id="([^"]*)-problem"/g)].map(([, field = ""]) => field)

/** The reason why a list has no rows on this page. */
export const emptyList = ({ body }: Pick<HttpResponse, "body">): string | undefined =>
  /class="panel empty" data-list="([^"]*)"/.exec(body)?.[1]
