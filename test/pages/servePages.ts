import { page } from "../../core/pages/pageAnswer.ts"
import { defaultTheme, type Theme } from "../../core/workspace/Theme.ts"
import { gallery, placeFor } from "./gallery.ts"

/** The gallery on loopback, each page with its own headers; what is posted goes on to `afterPost`. */
export const servePages = (afterPost = "about:blank", theme: Theme = defaultTheme) => {
  const documents = gallery((text) => text, theme)
  const place = placeFor((text) => text, theme)
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request) => {
      if (request.method === "POST") return new Response(null, { status: 303, headers: { location: afterPost } })
      const document = documents.get(new URL(request.url).pathname.slice(1))
      if (document === undefined) return new Response(null, { status: 404 })
      const { status, headers, body } = page(200, document, { place })
      return new Response(body, { status, headers: headers.map(([name, value]): [string, string] => [name, value]) })
    }
  })
  return { at: (name: string) => new URL(`/${name}`, server.url).href, stop: () => server.stop(true) }
}
