import { empty } from "./answer.ts"
import { corsHeaders } from "./commonHeaders.ts"
import type { HttpResponse } from "./Http.ts"
import type { Route } from "./Route.ts"

export const allowedMethods = (route: Route): string => {
  const methods = Object.keys(route.methods)
  return [...methods, ...(methods.includes("GET") ? ["HEAD"] : []), ...(route.cors ? ["OPTIONS"] : [])].join(", ")
}

/** The Fetch standard's preflight. `*` does not cover Authorization, so it is named. */
export const preflight = (route: Route, requestedHeaders: string | null | undefined): HttpResponse =>
  empty(204, [
    ...corsHeaders,
    ["access-control-allow-methods", allowedMethods(route)],
    ["access-control-allow-headers", allowedHeaders(requestedHeaders)],
    ["access-control-max-age", "86400"],
    ["vary", "Access-Control-Request-Headers"]
  ])

const allowedHeaders = (requested: string | null | undefined): string =>
  requested !== null && requested !== undefined && /^[A-Za-z0-9!#$%&'*+.^_`|~, -]{1,1024}$/.test(requested)
    ? requested
    : "Authorization, Content-Type"
