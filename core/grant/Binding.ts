/** What a token is bound to (RFC 9449, 8705): the base64url of the SHA-256 of a key, or of a certificate. */
export interface Binding {
  readonly thumbprint: string
}
