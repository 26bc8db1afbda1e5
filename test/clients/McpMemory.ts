import type {
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens
} from "@modelcontextprotocol/client"
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"

/** The transports of the SDK's servers are its `Transport`s, but for optional members that may be `undefined` as well. */
export const asTransport = (transport: object): Transport => transport as Transport

/** A client with the simplest memory that it can have. */
export class McpMemory implements OAuthClientProvider {
  readonly redirectUrl = "http://localhost:3118/callback"
  readonly clientMetadata: OAuthClientMetadata = {
    client_name: "MCP client",
    redirect_uris: [this.redirectUrl],
    token_endpoint_auth_method: "none"
  }
  readonly clientMetadataUrl?: string
  readonly asked: Array<URL> = []
  readonly #renews: boolean
  #discovered: OAuthDiscoveryState | undefined
  client: StoredOAuthClientInformation | undefined
  held: StoredOAuthTokens | undefined
  verifier = ""

  /** `document`: where it has its metadata, instead of registering. */
  constructor({ document, renews = true }: { readonly document?: string; readonly renews?: boolean } = {}) {
    this.#renews = renews
    if (document !== undefined) this.clientMetadataUrl = document
  }

  readonly clientInformation = () => this.client
  readonly saveClientInformation = (client: StoredOAuthClientInformation) => {
    this.client = client
  }
  readonly tokens = () => this.held
  readonly saveTokens = ({ refresh_token, ...tokens }: StoredOAuthTokens) => {
    this.held = this.#renews && refresh_token !== undefined ? { ...tokens, refresh_token } : tokens
  }
  readonly redirectToAuthorization = (url: URL) => {
    this.asked.push(url)
  }
  readonly discoveryState = () => this.#discovered
  readonly saveDiscoveryState = (state: OAuthDiscoveryState) => {
    this.#discovered = state
  }
  readonly saveCodeVerifier = (verifier: string) => {
    this.verifier = verifier
  }
  readonly codeVerifier = () => this.verifier
}
