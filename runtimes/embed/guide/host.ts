import * as memory from "../../../adapters/memory/Memory.ts"
import { createTessera } from "../createTessera.ts"
import { allowPage, allowScript } from "./allow.ts"

const page = (body: string, headers: Record<string, string> = {}): Response =>
  new Response(`<!doctype html><html lang="en"><meta charset="utf-8"><title>Northwind</title>${body}`, {
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": "default-src 'self'; frame-ancestors 'none'; base-uri 'none'",
      "cache-control": "no-store",
      ...headers
    }
  })

const goTo = (place: string, headers: Record<string, string> = {}): Response =>
  new Response(null, { status: 303, headers: { location: place, ...headers } })

const signInForm = (returnTo: string) => `<main><h1>Sign in to Northwind</h1>
<form method="post" action="/sign-in"><input type="hidden" name="return_to" value="${encodeURIComponent(returnTo)}">
<label>Your name <input name="name" autocomplete="username"></label> <button>Sign in</button></form></main>`

/** An application with people of its own, its own sign-in and its own consent page, and Tessera below `/auth`. */
export const northwind = (origin: string, keys: string) => {
  const sessions = new Map<string, string>()
  const sessionOf = (headers: { get: (name: string) => string | null | undefined }) =>
    /(?:^|; )sid=([\w-]+)/.exec(headers.get("cookie") ?? "")?.[1] ?? ""

  const auth = createTessera({
    issuer: `${origin}/auth`,
    name: "Northwind",
    storage: memory.layer,
    keys,
    owner: {
      signedIn: ({ headers }) => {
        const session = sessionOf(headers)
        const user = sessions.get(session)
        return user === undefined ? undefined : { user, session, label: `${user}@northwind.example` }
      },
      signInAt: (returnTo) => `/sign-in?return_to=${encodeURIComponent(returnTo)}`,
      switchAt: (returnTo) => `/sign-in?switch=yes&return_to=${encodeURIComponent(returnTo)}`
    },
    consentPage: "/allow",
    theme: { accent: "#b4451f", background: "#fff8ef", dark: { background: "#1c140d" }, radius: 4 },
    extras: ["settings"]
  })

  const signIn = async (request: Request): Promise<Response> => {
    // Yours asks for a password, too.
    const form = new URLSearchParams(await request.text())
    const session = crypto.randomUUID()
    sessions.delete(sessionOf(request.headers))
    sessions.set(session, form.get("name") ?? "")
    const back = auth.returnTo(decodeURIComponent(form.get("return_to") ?? ""))
    // On https it is `__Host-sid`, and `Secure`.
    return goTo(back, { "set-cookie": `sid=${session}; Path=/; HttpOnly; SameSite=Lax` })
  }

  const own = async (request: Request, { pathname, searchParams }: URL): Promise<Response> => {
    // A form of another site signs no person in here, and none out.
    if (request.method === "POST" && request.headers.get("origin") !== origin)
      return new Response(null, { status: 403 })
    const signedIn = sessions.has(sessionOf(request.headers))
    switch (`${request.method} ${pathname}`) {
      case "GET /":
        return page(`<h1>Northwind</h1>`)
      case "GET /sign-in": {
        const back = auth.returnTo(searchParams.get("return_to"))
        return signedIn && !searchParams.has("switch") ? goTo(back) : page(signInForm(back))
      }
      case "POST /sign-in":
        return signIn(request)
      case "POST /sign-out":
        sessions.delete(sessionOf(request.headers))
        return goTo("/", { "set-cookie": "sid=; Path=/; Max-Age=0" })
      case "GET /allow":
        return page(allowPage)
      case "GET /allow.js":
        return new Response(allowScript, { headers: { "content-type": "text/javascript" } })
      default:
        return new Response(null, { status: 404 })
    }
  }

  return {
    auth,
    fetch: (request: Request): Promise<Response> => {
      const url = new URL(request.url)
      return auth.owns(url.pathname) ? auth.handle(request) : own(request, url)
    }
  }
}
