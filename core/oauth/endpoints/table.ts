import type { Endpoint } from "../../http/Route.ts"
import { authorizeEndpoint } from "./authorize.ts"
import { companiesEndpoint } from "./companies.ts"
import { consentEndpoint } from "./consent.ts"
import { consentAnswerEndpoint, consentModelEndpoint } from "./consentElsewhere.ts"
import { deviceCodeEndpoint, deviceEndpoint } from "./device.ts"
import { deviceAuthorizationEndpoint } from "./deviceAuthorization.ts"
import { livenessEndpoint, readinessEndpoint } from "./health.ts"
import { introspectEndpoint } from "./introspect.ts"
import { jwksEndpoint } from "./jwks.ts"
import { logoutEndpoint } from "./logout.ts"
import { discoveryEndpoint, resourceMetadataEndpoint, serverMetadataEndpoint } from "./metadata.ts"
import { openApiEndpoint } from "./openapi.ts"
import { parEndpoint } from "./par.ts"
import { registerEndpoint, registrationEndpoint } from "./register.ts"
import { revokeEndpoint } from "./revoke.ts"
import { tokenEndpoint } from "./token.ts"
import { userinfoEndpoint } from "./userinfo.ts"

/** Every path that the protocol answers. A host adds its own: `endpoints: [mine, ...endpoints]`. */
export const endpoints: ReadonlyArray<Endpoint> = [
  serverMetadataEndpoint,
  discoveryEndpoint,
  resourceMetadataEndpoint,
  jwksEndpoint,
  openApiEndpoint,
  registerEndpoint,
  registrationEndpoint,
  parEndpoint,
  deviceAuthorizationEndpoint,
  authorizeEndpoint,
  tokenEndpoint,
  revokeEndpoint,
  introspectEndpoint,
  userinfoEndpoint,
  logoutEndpoint,
  companiesEndpoint,
  consentEndpoint,
  consentModelEndpoint,
  consentAnswerEndpoint,
  deviceEndpoint,
  deviceCodeEndpoint,
  livenessEndpoint,
  readinessEndpoint
]
