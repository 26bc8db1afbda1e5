/** What registration knows of a grant type. */
export interface RegistrableGrantType {
  /** The `grant_type` of the token endpoint. */
  readonly name: string
  readonly registers: {
    /** RFC 7591 §2: what a client registers for that names none. */
    readonly byDefault?: true
    /** It comes with another that brings it, and is nothing by itself. */
    readonly onlyBrought?: true
    /** Names of what the client may use with it, asked for or not. */
    readonly brings?: ReadonlyArray<string>
    /**
     * `owner`: it acts for the workspace, so the policy may ask that an owner answers for the client, and no page of
     * another origin can use it.
     */
    readonly needs: ReadonlyArray<"secret" | "redirect" | "owner">
    /** No client registers for it by itself: an owner registers the client, or lets it in later. */
    readonly givenByOwner?: true
    /** RFC 7591 §2.1: what it is asked for by at the authorization endpoint. */
    readonly responseType?: string
    /** It is asked for elsewhere, and a person answers as at the authorization endpoint. */
    readonly byConsent?: true
    /** Its tokens are of the client's own grant: before the first of them there is nothing to keep. */
    readonly byItself?: true
  }
}
