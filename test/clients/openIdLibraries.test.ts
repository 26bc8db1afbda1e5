import { expect, test } from "bun:test"
import { once } from "node:events"
import { Auth, type AuthConfig, customFetch, skipCSRFCheck } from "@auth/core"
import express from "express"
import * as openid from "openid-client"
import { Strategy } from "openid-client/passport"
import { Passport } from "passport"
import type { EmbeddedTessera } from "../../runtimes/tessera.ts"
import { issuer, withHost } from "../embed/host.ts"
import { approve, endSessionAddress, leave, owner, signedOutAt, signedOutUri, within } from "./signIn.ts"

const registered = (auth: EmbeddedTessera, callback: string) =>
  auth.clients.register({
    client_name: "App",
    redirect_uris: [callback],
    post_logout_redirect_uris: [signedOutUri],
    token_endpoint_auth_method: "client_secret_basic"
  })

/** One browser at the application, as far as its cookies go. */
const browserAt = (answer: (request: Request) => Promise<Response>) => {
  const cookies = new Map<string, string>()
  return async (url: string | URL, init: RequestInit = {}) => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ")
    const response = await answer(new Request(url, { ...init, headers: { ...init.headers, cookie } }))
    for (const line of response.headers.getSetCookie()) {
      const [pair = ""] = line.split(";", 1)
      cookies.set(pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1))
    }
    return response
  }
}

/** Auth.js looks into the ID token by itself, which has no claim beyond those asked for. */
const claims = { id_token: { name: null, email: null } }

for (const byIdToken of [true, false]) {
  test(`Auth.js signs a person in and out, and knows them by ${byIdToken ? "the ID token" : "userinfo"}`, () =>
    withHost({ owner }, async (auth) => {
      const site = "https://shop.example/auth"
      const made = await registered(auth, `${site}/callback/tessera`)
      const told: Array<Record<string, unknown>> = []
      let idToken: string | undefined
      const config: AuthConfig = {
        basePath: "/auth",
        secret: "a secret of the application's own",
        trustHost: true,
        skipCSRFCheck,
        logger: { error: (error) => told.push({ error: String(error) }) },
        providers: [
          {
            id: "tessera",
            name: "Tessera",
            type: "oidc",
            issuer,
            clientId: made.client.id,
            clientSecret: made.secret ?? "",
            checks: ["pkce", "state", "nonce"],
            idToken: byIdToken,
            authorization: { params: { scope: "openid profile email", ...(byIdToken ? { claims } : {}) } },
            [customFetch]: Object.assign(
              (url: RequestInfo | URL, init: RequestInit = {}) => auth.handle(new Request(url, init)),
              {
                preconnect: fetch.preconnect
              }
            )
          }
        ],
        callbacks: {
          redirect: ({ url }) => url,
          jwt: ({ account, profile, token }) => {
            if (account) told.push({ account: account.providerAccountId, profile, refresh: account.refresh_token })
            idToken = account?.id_token ?? idToken
            return token
          }
        }
      }
      const browse = browserAt(async (request) => Auth(request, config) as Promise<Response>)
      const begun = await browse(`${site}/signin/tessera`, {
        method: "POST",
        headers: { "content-type": "application/x-www-form-urlencoded" },
        body: "callbackUrl=https://shop.example/"
      })
      const back = await approve(auth, new URL(begun.headers.get("location") ?? ""))
      const done = await browse(back)
      expect([done.status, done.headers.get("location"), told[0]?.error]).toEqual([
        302,
        "https://shop.example/",
        undefined
      ])
      const session: unknown = await (await browse(`${site}/session`)).json()
      expect(session).toMatchObject({ user: { name: "Ada", email: "ada@shop.example" } })
      expect(told).toMatchObject([{ account: "ada", profile: { sub: "ada" }, refresh: expect.any(String) }])
      // Its sign-out ends its own session, and goes on to where `callbacks.redirect` lets it.
      const out = await browse(`${site}/signout`, {
        method: "POST",
        headers: { "content-type": "application/x-www-form-urlencoded" },
        body: new URLSearchParams({ callbackUrl: endSessionAddress(`${issuer}/oauth/logout`, idToken).href }).toString()
      })
      expect(await (await browse(`${site}/session`)).json()).toBeNull()
      expect(await leave(auth, new URL(out.headers.get("location") ?? ""))).toBe(signedOutAt)
    }))
}

test("Passport's OpenID strategy signs a person in, refreshes, reads userinfo and signs out", () =>
  withHost({ owner }, async (auth) => {
    const app = express()
    const server = app.listen(0, "127.0.0.1")
    await once(server, "listening")
    const address = server.address()
    const site = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`
    const made = await registered(auth, `${site}/callback`)
    const config = await openid.discovery(
      new URL(issuer),
      made.client.id,
      {},
      openid.ClientSecretBasic(made.secret ?? ""),
      { execute: [openid.allowInsecureRequests], [openid.customFetch]: within(auth) }
    )
    const passport = new Passport()
    const options = { name: "tessera", config, scope: "openid email", callbackURL: `${site}/callback` }
    passport.use(
      new Strategy(options, async (tokens, verified) => {
        const again = await openid.refreshTokenGrant(config, tokens.refresh_token ?? "")
        const told = await openid.fetchUserInfo(config, again.access_token, tokens.claims()?.sub ?? "")
        verified(null, { sub: again.claims()?.sub, email: told.email, idToken: again.id_token })
      })
    )
    // In place of a session store: there is one browser.
    const session = {}
    app.use((request, _, next) => {
      Object.assign(request, { session })
      next()
    })
    const authenticate = passport.authenticate("tessera", { session: false })
    app.get("/login", authenticate)
    app.get("/callback", authenticate, (request, response) => {
      response.json(request.user)
    })
    try {
      const begun = await fetch(`${site}/login`, { redirect: "manual" })
      const back = await approve(auth, new URL(begun.headers.get("location") ?? ""))
      // The application's own answer.
      const user = (await (await fetch(back)).json()) as { readonly idToken: string }
      expect(user).toMatchObject({ sub: "ada", email: "ada@shop.example" })
      const replayed = await fetch(back)
      expect(replayed.status).toBe(401)
      const out = openid.buildEndSessionUrl(config, {
        id_token_hint: user.idToken,
        post_logout_redirect_uri: signedOutUri,
        state: "over & out"
      })
      expect(await leave(auth, out)).toBe(signedOutAt)
    } finally {
      server.close()
    }
  }))
