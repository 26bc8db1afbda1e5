import { authorizationCode } from "./authorizationCode.ts"
import { clientCredentials } from "./clientCredentials.ts"
import { deviceCode } from "./deviceCode.ts"
import type { GrantType } from "./GrantType.ts"
import { jwtBearer } from "./jwtBearer.ts"
import { refreshToken } from "./refreshToken.ts"
import { tokenExchange } from "./tokenExchange.ts"

/** The grant types of the protocol. A host adds its own: `grants: [...grantTypes, mine]`. */
export const grantTypes: ReadonlyArray<GrantType> = [
  authorizationCode,
  refreshToken,
  clientCredentials,
  deviceCode,
  tokenExchange,
  jwtBearer
]
