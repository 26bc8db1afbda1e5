import { Effect, Layer } from "effect"
import type { FetchOptions } from "../../adapters/documents/FetchOptions.ts"
import { makeDocuments } from "../../adapters/documents/makeDocuments.ts"
import { DocumentFault, Documents } from "../../core/ports/Documents.ts"

/** What is found at an address. */
export interface Page {
  readonly status?: number
  readonly type?: string
  readonly cacheControl?: string
  readonly body: unknown
}

type PostAnswer = number | DocumentFault["reason"]

/** A page that never comes. */
export const hangs = "hangs"

/** The network, as far as a test needs one: pages by address, and the addresses asked for. */
export class DocumentsWeb {
  readonly pages = new Map<string, Page | typeof hangs | DocumentFault["reason"]>()
  readonly asked: Array<string> = []
  /** Forms that were sent, and what is answered to them by address; 200 where nothing is said. */
  readonly posted: Array<{ readonly href: string; readonly form: string }> = []
  readonly answers = new Map<string, PostAnswer | ((form: string) => PostAnswer)>()

  /** A metadata document at its own address. */
  publish(address: string, members: Readonly<Record<string, unknown>> = {}, page: Partial<Page> = {}): string {
    this.pages.set(address, { ...page, body: { client_id: address, ...documentMembers, ...members } })
    return address
  }

  /** The adapter, with its cache and its limits, over this network. `allow`: hosts at odd ports. */
  layer(allow: FetchOptions["allow"] = new Set()): Layer.Layer<Documents> {
    const utf8 = new TextEncoder()
    return Layer.effect(
      Documents,
      makeDocuments(
        {
          get: ({ url: { href } }, { longest }) => {
            this.asked.push(href)
            const page = this.pages.get(href) ?? "unreachable"
            if (page === hangs) return Effect.never
            if (typeof page === "string") return Effect.fail(new DocumentFault({ reason: page }))
            const { body, cacheControl = "max-age=600", status = 200 } = page
            if (status !== 200) {
              return Effect.fail(new DocumentFault({ reason: status < 400 ? "redirected" : "status" }))
            }
            const bytes = utf8.encode(typeof body === "string" ? body : JSON.stringify(body))
            if (bytes.length > longest) return Effect.fail(new DocumentFault({ reason: "too_long" }))
            const header = (name: string) => (name === "cache-control" ? cacheControl : undefined)
            return Effect.succeed({ status, header, body: bytes })
          },
          post: ({ url: { href } }, form) =>
            Effect.suspend(() => {
              this.posted.push({ href, form })
              const said = this.answers.get(href) ?? 200
              const answer = typeof said === "function" ? said(form) : said
              return typeof answer === "number"
                ? Effect.succeed(answer)
                : Effect.fail(new DocumentFault({ reason: answer }))
            })
        },
        allow
      )
    )
  }
}

export const documentMembers = {
  client_name: "Test Program",
  redirect_uris: ["https://app.example.org/callback"],
  grant_types: ["authorization_code", "refresh_token"],
  response_types: ["code"],
  token_endpoint_auth_method: "none"
}
