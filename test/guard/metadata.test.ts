import { expect, test } from "bun:test"
import { BadGuardOption, type RemoteGuardOptions, remoteGuard } from "../../runtimes/guard.ts"

const make = (over: Partial<RemoteGuardOptions> = {}) =>
  remoteGuard({
    issuer: "https://auth.example",
    apiKey: "key",
    resource: "https://api.example/v1/",
    metadata: { scopes: ["orders:read"], name: "Orders" },
    ...over
  })

const well = "/.well-known/oauth-protected-resource"

test("an API elsewhere has a document of its own, with the name that it was given, and refusals lead there", async () => {
  const guard = make()
  const document = guard.serveMetadata(new Request(`https://api.example${well}/v1/?a`))
  expect(await document?.json()).toEqual({
    resource: "https://api.example/v1/",
    authorization_servers: ["https://auth.example"],
    scopes_supported: ["orders:read"],
    bearer_methods_supported: ["header"],
    dpop_signing_alg_values_supported: ["EdDSA", "Ed25519", "ES256", "PS256"],
    resource_name: "Orders"
  })
  expect(document?.headers.get("access-control-allow-origin")).toBe("*")
  expect(guard.serveMetadata(new Request(`https://api.example${well}`))).toBeUndefined()
  expect(guard.serveMetadata(new Request(`https://api.example${well}/v1/`, { method: "POST" }))?.status).toBe(405)
  const refused = await guard.guard(new Request("https://api.example/v1/orders"), { scopes: ["orders:read"] })
  expect(refused._tag === "Refused" && refused.response.headers.get("www-authenticate")).toStartWith(
    `Bearer resource_metadata="https://api.example${well}/v1/", scope="orders:read", DPoP `
  )
})

test("the document tells the very name that was called, slash or none (RFC 9728 §3.3), and is no neighbour's", async () => {
  const toldBy = async (resource: string, path: string) => {
    const document = await make({ resource })
      .serveMetadata(new Request(`https://api.example${path}`))
      ?.json()
    return (document as { readonly resource: string } | undefined)?.resource
  }
  for (const resource of ["https://api.example/v1/", "https://api.example/v1"]) {
    expect(await toldBy(resource, `${well}/v1/`)).toBe("https://api.example/v1/")
    expect(await toldBy(resource, `${well}/v1`)).toBe("https://api.example/v1")
    for (const path of ["/v1/x", "/v12", "/v1//", "/v", ""]) {
      expect([path, await toldBy(resource, well + path)]).toEqual([path, undefined])
    }
  }
  expect(await toldBy("https://api.example", well)).toBe("https://api.example")
  expect(await toldBy("https://api.example/", well)).toBe("https://api.example/")
  expect(await toldBy("https://api.example", `${well}/`)).toBe("https://api.example/")
})

test("a guard without a document serves none, and one that cannot be is refused", () => {
  const { metadata: _, ...without } = { issuer: "https://auth.example", apiKey: "key", metadata: 0 }
  const plain = remoteGuard({ ...without, resource: "https://api.example" })
  expect(plain.metadata).toBeUndefined()
  expect(plain.serveMetadata(new Request(`https://api.example${well}`))).toBeUndefined()
  for (const over of [
    { resource: "https://api.example?a" },
    { resource: "https://API.example" },
    { metadata: { scopes: ["a b"] } },
    { metadata: { scopes: [], name: " " } },
    { resourceMetadata: "https://api.example/elsewhere" }
  ]) {
    expect(() => make(over)).toThrow(BadGuardOption)
  }
})
