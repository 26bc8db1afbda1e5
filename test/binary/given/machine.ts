import { companiesStatus, postToken, register } from "../../given/serverVisitor.ts"

/** A machine with credentials of its own, from its registration to the API: says what the API answers. */
const [url = ""] = process.argv.slice(2)
const { client_id, client_secret } = await register(url, {
  grant_types: ["client_credentials"],
  redirect_uris: [],
  token_endpoint_auth_method: "client_secret_post"
})
const fields = { grant_type: "client_credentials", client_id, client_secret: String(client_secret) }
const { access_token }: { access_token?: string } = await (await postToken(url, fields)).json()
process.stdout.write(`${await companiesStatus(url, access_token ?? "")}\n`)
