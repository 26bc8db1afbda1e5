/** What a request is to the core: a record that any framework can make. */
export interface HttpRequest {
  readonly method: string
  /** The path as it was sent, still percent-encoded, without the query. Always starts with `/`. */
  readonly path: string
  /** What follows the first `?`, without it; empty where there is none. */
  readonly query: string
  /**
   * Names in lower case; a header that came twice is joined by `, `. `host` is there however the request says it, as a
   * header or otherwise. Apart from that the web's `Headers` fits as it is.
   */
  readonly headers: { readonly get: (name: string) => string | null | undefined }
  /** The whole body as text; the runtime has held it to the limit. Empty for GET and HEAD. */
  readonly body: string
  /** The peer's address, as far as the runtime may believe it (`TRUSTED_PROXIES`). */
  readonly peer?: string | undefined
}

/** Pairs, so that a second `Set-Cookie` survives the trip. */
export type HeaderPairs = ReadonlyArray<readonly [name: string, value: string]>

export interface HttpResponse {
  readonly status: number
  readonly headers: HeaderPairs
  readonly body: string
}
