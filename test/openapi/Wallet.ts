import { Effect } from "effect"
import { deviceGrant } from "../../core/client/Profile.ts"
import { setServedResource } from "../../core/engine/administerClients.ts"
import { authorizationRequestIdOf, ClientId } from "../../core/rules/Id.ts"
import type { Dice } from "../../core/testing/Dice.ts"
import { sealDeviceCode } from "../../core/token/DeviceCode.ts"
import { answerAs, waitingDevice } from "../given/devices.ts"
import { claimsFor, enterprise, signed } from "../given/enterprise.ts"
import {
  challenge,
  codeFor,
  jsonOf,
  redeem,
  registerClient,
  signInToApp,
  type TestClient,
  text,
  tokenRequest,
  verifier
} from "../given/flow.ts"
import type { World } from "../given/World.ts"

export const initialToken = "an-initial-access-token"

const sent = { headers: { authorization: `Bearer ${initialToken}` } }

/** A client with all that a request can ask for: the values that no document can hold. */
export interface Wallet {
  readonly client: TestClient
  /** A value of a parameter, or of a credential that the document names; `undefined` for one that needs nothing special. */
  readonly valueOf: (name: string) => Effect.Effect<string | undefined>
  readonly tokenFor: (scopes: ReadonlyArray<string>) => Effect.Effect<string>
}

const signedOutAt = "https://app.example.org/signed-out"

/** What every client registers. */
const signsOut = { post_logout_redirect_uris: [signedOutAt] }

const kinds = {
  confidential: { grant_types: ["authorization_code", "client_credentials", deviceGrant] },
  signed: { userinfo_signed_response_alg: "ES256" },
  public: { token_endpoint_auth_method: "none", grant_types: ["authorization_code", deviceGrant] },
  codeOnly: {},
  machine: { grant_types: ["client_credentials"] }
} as const

export const openWallet = Effect.fnUntraced(function* (world: World, dice: Dice) {
  const kind = dice.pick([
    "confidential",
    "confidential",
    "confidential",
    "public",
    "codeOnly",
    "signed",
    "machine",
    "enterprise"
  ] as const)
  const client = yield* kind === "enterprise"
    ? Effect.orDie(enterprise(world))
    : registerClient(world, { ...kinds[kind], ...signsOut }, sent)
  if (client.secret !== undefined) {
    const ids = { workspace: world.workspace.id, by: "command line", requestId: "wallet" } as const
    const serves = setServedResource(
      world.services,
      ids,
      world.workspace,
      ClientId.make(client.id),
      world.workspace.issuer
    )
    yield* Effect.orDie(serves)
  }
  const byCode = kind === "machine" || kind === "enterprise" ? yield* registerClient(world, signsOut, sent) : client
  const key = yield* Effect.orDie(world.services.grants.createKey(world.workspace.id, { name: "k", expiresAt: null }))
  const signIn = (scope: string) => signInToApp(world, byCode, { scope })
  const own = () =>
    Effect.map(tokenRequest(world, client, { grant_type: "client_credentials" }), (response) =>
      text(jsonOf(response).access_token)
    )

  const tokenFor = (scopes: ReadonlyArray<string>) =>
    kind === "machine" && !scopes.includes("profile")
      ? own()
      : Effect.map(signIn(scopes.join(" ")), ({ access }) => access)

  /** Where people sign in by OpenID Connect; elsewhere it is none. */
  const idToken = Effect.fnUntraced(function* () {
    const code = yield* codeFor(world, byCode, { scope: "api openid" })
    return text(jsonOf(yield* redeem(world, byCode, code)).id_token ?? "none")
  })

  /** Of a device that waits, or whose person has answered, or that is none any more. */
  const deviceCode = Effect.fnUntraced(function* () {
    const asked = { code_challenge: challenge, code_challenge_method: "S256" }
    const nobodys = sealDeviceCode(
      world.services.keys.current(),
      world.workspace,
      authorizationRequestIdOf(new Uint8Array(16)),
      new Uint8Array(32)
    )
    const told = yield* waitingDevice(world, client, asked)
    const answer = dice.pick(["approve", "approve", "deny", "deny", "none", "none", "nobody's", "nobody's"] as const)
    if (answer === "approve" || answer === "deny") yield* answerAs(world, told.userCode, answer)
    return answer === "nobody's" ? nobodys.text : told.deviceCode
  })

  const some = (value: string): Effect.Effect<string | undefined> => Effect.succeed(value)
  const known = (name: string): Effect.Effect<string | undefined> => {
    switch (name) {
      case "client_id":
        return some(client.id)
      case "client_secret":
        return Effect.succeed(client.secret)
      case "redirect_uri":
        return some(byCode.redirectUri)
      case "post_logout_redirect_uri":
        return some(signedOutAt)
      case "id_token_hint":
        return dice.chance(15) ? some("nonsense") : idToken()
      case "code":
        return dice.chance(15) ? some("tsr_ac_nonsense") : codeFor(world, byCode)
      case "device_code":
        return dice.chance(5) ? some("tsr_dc_nonsense") : deviceCode()
      case "refresh_token":
        return Effect.map(signIn(dice.pick(["api", "api profile"])), ({ refresh }) => refresh)
      case "token":
        return dice.chance(50)
          ? Effect.map(signIn("api"), (tokens) => dice.pick([tokens.access, tokens.refresh]))
          : some(dice.pick([world.reveal(key.text), "tsr_at_nonsense"]))
      case "access_token":
        return Effect.map(signIn("api"), ({ access }) => access)
      case "assertion":
        return dice.chance(15) ? some("nonsense") : signed(claimsFor(client))
      case "code_verifier":
        return some(verifier)
      case "code_challenge":
        return some(challenge)
      case "scope":
        return some(dice.pick(["api", "profile", "api profile", "api unheard", "unheard", "unheard"]))
      case "subject_token":
        return dice.chance(15) ? some("tsr_at_nonsense") : Effect.map(signIn("api profile"), ({ access }) => access)
      case "audience":
      case "resource":
        return some(dice.pick([world.workspace.issuer, `${world.workspace.issuer}/rest`, "https://elsewhere.example/"]))
      case "apiKey":
        return some(world.reveal(key.text))
      case "registrationToken":
        return some(client.registrationToken)
      case "initialToken":
        return some(initialToken)
      default:
        return Effect.succeed(undefined)
    }
  }
  return { client, valueOf: known, tokenFor } satisfies Wallet
})
