import { randomBytes } from "node:crypto"
import { digestOf } from "../../core/rules/Secret.ts"
import { companiesStatus, postToken, type Registered, register } from "../given/serverVisitor.ts"

export interface Tokens {
  readonly access: string
  readonly refresh: string
}

/** A public client of the server that runs, with the verifier of its latest request. */
export class Application {
  readonly server: string
  readonly client: Registered
  readonly #verifier = randomBytes(32).toString("base64url")

  private constructor(server: string, client: Registered) {
    this.server = server
    this.client = client
  }

  static async register(server: string, name: string, redirectUri: string, more: object = {}): Promise<Application> {
    const metadata = { client_name: name, redirect_uris: [redirectUri], token_endpoint_auth_method: "none", ...more }
    return new Application(server, await register(server, metadata))
  }

  authorizationUrl(redirectUri: string, fields: Readonly<Record<string, string>> = {}): string {
    const parameters = new URLSearchParams({
      response_type: "code",
      client_id: this.client.client_id,
      redirect_uri: redirectUri,
      code_challenge: digestOf(this.#verifier),
      code_challenge_method: "S256",
      scope: "api profile",
      state: "a b&c=d/é",
      ...fields
    })
    return `${this.server}/oauth/authorize?${parameters}`
  }

  redeem(back: string | URL, redirectUri: string): Promise<Response> {
    return postToken(this.server, {
      grant_type: "authorization_code",
      client_id: this.client.client_id,
      code: new URL(back).searchParams.get("code") ?? "",
      redirect_uri: redirectUri,
      code_verifier: this.#verifier
    })
  }

  async tokens(back: string | URL, redirectUri: string): Promise<Tokens> {
    const answer = await this.redeem(back, redirectUri)
    if (answer.status !== 200) throw new Error(`the code was answered ${answer.status}: ${await answer.text()}`)
    // RFC 6749's shape; a token that is none fails where it is used.
    const { access_token, refresh_token } = (await answer.json()) as Readonly<Record<string, string>>
    return { access: String(access_token), refresh: String(refresh_token) }
  }

  works({ access }: Tokens): Promise<boolean> {
    return companiesStatus(this.server, access).then((status) => status === 200)
  }
}
