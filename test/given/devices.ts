import { Effect } from "effect"
import { deviceGrant } from "../../core/client/Profile.ts"
import type { HttpResponse } from "../../core/http/Http.ts"
import {
  decide,
  form,
  formHeaders,
  header,
  hiddenFields,
  jsonOf,
  registerClient,
  type TestClient,
  type Values
} from "./flow.ts"
import type { World } from "./World.ts"

type Server = Pick<World, "send">

/** A program without a browser: it has no redirect URI. */
export const deviceClient = (world: Server, metadata: Readonly<Record<string, unknown>> = {}) =>
  registerClient(world, {
    redirect_uris: undefined,
    token_endpoint_auth_method: "none",
    grant_types: [deviceGrant],
    client_name: "Television",
    ...metadata
  })

export const shownBy = ({ id, secret }: TestClient): Values =>
  secret === undefined ? { client_id: id } : { client_id: id, client_secret: secret }

const post = (server: Server, path: string, fields: Values, headers: Readonly<Record<string, string>> = {}) =>
  server.send("POST", path, { headers: { ...formHeaders, ...headers }, body: form(fields) })

export const askForDevice = (server: Server, client: TestClient, fields: Values = {}) =>
  post(server, "/oauth/device_authorization", { ...shownBy(client), ...fields })

/** What a device was told. */
export interface Told {
  readonly deviceCode: string
  readonly userCode: string
  readonly complete: string
}

export const toldOf = (answer: HttpResponse): Told => {
  const { device_code, user_code, verification_uri_complete } = jsonOf(answer)
  return {
    deviceCode: String(device_code),
    userCode: String(user_code),
    complete: String(verification_uri_complete)
  }
}

export const waitingDevice = (server: Server, client: TestClient, fields: Values = {}) =>
  Effect.map(askForDevice(server, client, fields), toldOf)

export const poll = (
  server: Server,
  client: TestClient,
  { deviceCode }: Pick<Told, "deviceCode">,
  fields: Values = {}
) => post(server, "/oauth/token", { ...shownBy(client), grant_type: deviceGrant, device_code: deviceCode, ...fields })

/** What a poll comes to: `tokens`, or the error. */
export const polledAs = (server: Server, client: TestClient, told: Pick<Told, "deviceCode">, fields: Values = {}) =>
  Effect.map(poll(server, client, told, fields), (answer) =>
    answer.status === 200 ? "tokens" : String(jsonOf(answer).error)
  )

/** The page that the code leads to, or what is said instead. */
export const enterCode = Effect.fnUntraced(function* (server: Server, userCode: string, as = "alice", peer?: string) {
  const drawn = yield* server.send("GET", "/device", { as })
  const entered = yield* server.send("POST", "/device", {
    as,
    ...(peer === undefined ? {} : { peer }),
    headers: formHeaders,
    body: form({ ...hiddenFields(drawn.body), user_code: userCode })
  })
  const to = header(entered, "location")
  return to === undefined ? entered : yield* server.send("GET", to, { as })
})

export const answerAs = Effect.fnUntraced(function* (
  world: World,
  userCode: string,
  decision: "approve" | "deny",
  as = "alice"
) {
  return yield* decide(world, yield* enterCode(world, userCode, as), decision, as)
})
