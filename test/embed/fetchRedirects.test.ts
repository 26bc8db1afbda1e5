import { expect, test } from "bun:test"
import { mount } from "../../runtimes/fetch.ts"
import { createTessera } from "../../runtimes/tessera.ts"
import { issuer, options, redirectUri, withHost } from "./host.ts"

const asked = (client: string) =>
  new URLSearchParams({ response_type: "code", client_id: client, redirect_uri: redirectUri, scope: "api" })

// A redirect that `new URL(location)` does not take is an error of Next's proxy.
test("a redirect to the host's own pages names the issuer's host, whatever the address behind a proxy is", () =>
  withHost({ extras: ["settings"] }, async (auth) => {
    const mounted = mount(auth)
    const { client } = await auth.clients.register({ redirect_uris: [redirectUri] })
    for (const at of [`/oauth/authorize?${asked(client.id)}`, "/settings/apps"]) {
      const answer = await mounted(new Request(`http://10.0.0.7:8080${at}`))
      const to = new URL(answer?.headers.get("location") ?? "")
      expect([answer?.status, to.origin, to.pathname]).toEqual([303, issuer, "/sign-in"])
    }
  }))

test("a redirect back to a client is written as the client has registered it", () =>
  withHost({}, async (auth) => {
    const { client } = await auth.clients.register({ redirect_uris: ["com.example.app:/cb"] })
    const query = new URLSearchParams({
      response_type: "token",
      client_id: client.id,
      redirect_uri: "com.example.app:/cb"
    })
    const answer = await mount(auth)(new Request(`${issuer}/oauth/authorize?${query}`))
    expect(answer?.headers.get("location")).toStartWith("com.example.app:/cb?error=")
  }))

test("of several workspaces it is the host of the one that answers", async () => {
  const { issuer: _, ...shared } = options()
  const workspaces = ["one", "two"].map((id) => ({ id, issuer: `https://${id}.example` }))
  const auth = createTessera({ ...shared, workspaces })
  const { client } = await auth.for("two").clients.register({ redirect_uris: [redirectUri] })
  const headers = { host: "two.example" }
  const answer = await mount(auth)(new Request(`http://10.0.0.7/oauth/authorize?${asked(client.id)}`, { headers }))
  expect(answer?.headers.get("location")).toStartWith("https://two.example/sign-in?")
  await auth.close()
})
