import type { Route } from "../../core/http/Route.ts"
import type { Log } from "../defect.ts"
import type { Serve } from "../Serve.ts"

/** All that a framework has to know of an authorization server to make room for it beside an app's own routes. */
export interface Mount {
  readonly serve: Serve
  /** What is answered here, without the issuer's own path. */
  readonly routes: ReadonlyArray<Pick<Route, "path" | "match">>
  /** The issuer's own path, which comes before every route: empty, or `/` and more. */
  readonly prefix: string
  /** Whether this path, whole and without its query, is answered here and not by the app. */
  readonly owns: (path: string) => boolean
  /** Runs what there is to log of answers that a platform would not send. Without this: on effect's default loggers. */
  readonly log?: Log
}
