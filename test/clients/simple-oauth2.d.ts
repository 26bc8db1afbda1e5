/** What the tests use of it: the package brings no types. */
declare module "simple-oauth2" {
  export interface Configuration {
    readonly client: { readonly id: string; readonly secret: string }
    readonly auth: { readonly tokenHost: string; readonly tokenPath: string; readonly revokePath: string }
    readonly options: { readonly authorizationMethod: "body" | "header" }
  }
  export interface AccessToken {
    readonly token: Readonly<Record<string, unknown>>
    readonly expired: () => boolean
    readonly refresh: () => Promise<AccessToken>
    readonly revokeAll: () => Promise<void>
  }
  export class AuthorizationCode {
    constructor(configuration: Configuration)
    authorizeURL(parameters: { readonly redirect_uri: string; readonly scope: string; readonly state: string }): string
    getToken(parameters: { readonly code: string; readonly redirect_uri: string }): Promise<AccessToken>
  }
  export class ClientCredentials {
    constructor(configuration: Configuration)
    getToken(parameters: { readonly scope: string }): Promise<AccessToken>
  }
}
