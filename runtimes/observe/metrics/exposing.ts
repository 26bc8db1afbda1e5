import { empty } from "../../../core/http/answer.ts"
import type { HttpResponse } from "../../../core/http/Http.ts"
import type { Serve } from "../../Serve.ts"
import type { Meters } from "./Meters.ts"

const contentType = ["content-type", "text/plain; version=0.0.4; charset=utf-8"] as const

const notFound: HttpResponse = { status: 404, headers: [["content-type", "text/plain"]], body: "See /metrics\n" }

/** The listener of its own that Prometheus asks. */
export const exposing =
  (meters: Meters): Serve =>
  ({ method, path }) => {
    if (path !== "/metrics") return notFound
    if (method !== "GET") return empty(405, [["allow", "GET"]])
    return { status: 200, headers: [contentType], body: meters.exposition() }
  }
