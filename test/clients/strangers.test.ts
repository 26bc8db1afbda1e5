import { describe, expect, test } from "bun:test"
import { serverOfFile } from "../given/serverOfFile.ts"
import { postRegistration } from "../given/serverVisitor.ts"

const server = serverOfFile()

describe("what is turned away, and says why", () => {
  const refusal = async (sends: Readonly<Record<string, unknown>>) => {
    const answer = await postRegistration(server().url, sends)
    expect(answer.status).toBe(400)
    return (await answer.json()) as Readonly<Record<string, string>>
  }

  test("a host in its own script: it goes over the wire as punycode", async () => {
    const { error } = await refusal({ redirect_uris: ["https://助手.example/cb"] })
    expect(error).toBe("invalid_redirect_uri")
  })

  test("a private-use scheme without a dot, open to any program, and the whole registration that it is part of", async () => {
    const { error, error_description } = await refusal({
      redirect_uris: ["myapp://oauth/callback", "http://localhost:8787/callback"]
    })
    expect(error).toBe("invalid_redirect_uri")
    expect(error_description).toContain("number 1")
  })

  test.each([
    "cursor://anysphere.cursor-deeplink/mcp/install?name=x&config=eyJjb21tYW5kIjoieCJ9",
    "vscode://file/etc/passwd",
    "vscode://vscode.git/clone?url=https://evil.example/x.git"
  ])("%s, which is no way back from a sign-in but a command to a program", async (uri) => {
    const { error } = await refusal({ redirect_uris: [uri], token_endpoint_auth_method: "none" })
    expect(error).toBe("invalid_redirect_uri")
  })

  test.each(["javascript:alert(1)//.x", "data:text/html,x.y", "vbscript:a.b", "file:///etc/passwd.x", "about:blank"])(
    "%s as a redirect URI",
    async (uri) => {
      expect((await refusal({ redirect_uris: [uri] })).error).toBe("invalid_redirect_uri")
    }
  )

  test("a method that we do not have, by its name", async () => {
    const { error, error_description } = await refusal({
      redirect_uris: ["https://a.example/cb"],
      token_endpoint_auth_method: "tls_client_auth"
    })
    expect(error).toBe("invalid_client_metadata")
    expect(error_description).toContain("token_endpoint_auth_method")
  })
})
