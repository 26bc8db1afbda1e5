export interface Server {
  readonly issuer: string
  readonly handle: (request: Request) => Promise<Response>
  readonly close: () => Promise<void>
}

/** An application that registers, gets a token of its own, and calls a guarded resource: what each step answered. */
export const play = async ({ close, handle, issuer }: Server) => {
  const post = (path: string, body: BodyInit, type?: string) =>
    handle(
      new Request(issuer + path, {
        method: "POST",
        body,
        ...(type === undefined ? {} : { headers: { "content-type": type } })
      })
    )
  const registration = JSON.stringify({
    client_name: "Nightly job",
    grant_types: ["client_credentials"],
    token_endpoint_auth_method: "client_secret_post"
  })
  const registered = await post("/oauth/register", registration, "application/json")
  const { client_id, client_secret } = await registered.json()
  const fields = { grant_type: "client_credentials", client_id, client_secret, scope: "api" }
  const answered = await post("/oauth/token", new URLSearchParams(fields))
  const { access_token, token_type } = await answered.json()
  const ordersWith = (token: string) =>
    handle(new Request(`${issuer}/orders`, { headers: { authorization: `Bearer ${token}` } }))
  const orders = await ordersWith(access_token)
  const forged = await ordersWith("forged")
  const outcome = {
    registered: registered.status,
    token: [answered.status, token_type],
    orders: [orders.status, await orders.json()],
    forged: forged.status
  }
  await close()
  return outcome
}
