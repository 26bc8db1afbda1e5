import { Effect } from "effect"
import { authorizeTarget, form, hiddenFields, redirectUri } from "../given/flow.ts"
import type { Application } from "./Application.ts"
import type { Reply } from "./Reply.ts"
import type { ServerProcess } from "./ServerProcess.ts"

/** As much of a browser as forms need: it keeps cookies, posts what a page hides, and looks at redirects. */
export interface Browser {
  readonly cookies: ReadonlyMap<string, string>
  readonly open: (server: ServerProcess, path: string) => Effect.Effect<Reply>
  /** Posts the form of a page, with what a person would have typed. */
  readonly submit: (
    server: ServerProcess,
    path: string,
    page: Reply,
    typed: Readonly<Record<string, string>>
  ) => Effect.Effect<Reply>
  /** An authorization code, by way of the consent page. */
  readonly approve: (server: ServerProcess, application: Application) => Effect.Effect<string>
}

export const makeBrowser = (): Browser => {
  const cookies = new Map<string, string>()
  const headers = () => ({ cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; ") })

  const kept = (asking: Effect.Effect<Reply>) =>
    Effect.tap(asking, (reply) =>
      Effect.sync(() => {
        for (const line of reply.headers.getSetCookie()) {
          const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? []
          if (value === "") cookies.delete(name)
          else cookies.set(name, value)
        }
      })
    )

  const open: Browser["open"] = (server, path) => Effect.suspend(() => kept(server.get(path, headers())))
  const submit: Browser["submit"] = (server, path, page, typed) =>
    Effect.suspend(() => kept(server.post(path, form({ ...hiddenFields(page.body), ...typed }), headers())))

  return {
    cookies,
    open,
    submit,
    approve: Effect.fnUntraced(function* (server, { id, secret, registrationToken }) {
      const client = { id, secret, redirectUri, registrationUri: "", registrationToken }
      const page = yield* open(server, authorizeTarget(client, { scope: "api profile" }))
      const reply = yield* submit(server, "/consent", page, { decision: "approve" })
      const code = URL.parse(reply.headers.get("location") ?? "")?.searchParams.get("code")
      if (code === null || code === undefined) throw new Error(`consent answered ${reply.status}: ${reply.body}`)
      return code
    })
  }
}
