import { grantTypes } from "../client/Client.ts"
import { authorizeEndpoint } from "./authorize.ts"
import { companiesEndpoint } from "./companies.ts"
import { consentEndpoint, consentMissingEndpoint } from "./consent.ts"
import { consentPath } from "./consentPath.ts"
import { livenessEndpoint, readinessEndpoint } from "./health.ts"
import { introspectEndpoint } from "./introspect.ts"
import { authorizationServerEndpoint, protectedResourceEndpoint, protectedResourcePath } from "./metadata.ts"
import type { Parts } from "./Parts.ts"
import type { Route } from "./Route.ts"
import {
  deleteRegistrationEndpoint,
  readRegistrationEndpoint,
  registerEndpoint,
  registerPath,
  updateRegistrationEndpoint
} from "./register.ts"
import { revokeEndpoint } from "./revoke.ts"
import { tokenEndpoint } from "./token.ts"
import { userinfoEndpoint } from "./userinfo.ts"

/** The table: every path that the protocol answers, in the order of DESIGN section 4. */
export const protocolRoutes = (parts: Parts, all: () => ReadonlyArray<Route>): ReadonlyArray<Route> => [
  {
    path: "/.well-known/oauth-authorization-server",
    match: "suffix",
    methods: { GET: authorizationServerEndpoint(parts, all) },
    errors: "oauth",
    cors: true
  },
  {
    path: protectedResourcePath,
    match: "suffix",
    methods: { GET: protectedResourceEndpoint(parts) },
    errors: "oauth",
    cors: true
  },
  {
    path: registerPath,
    match: "exact",
    methods: { POST: registerEndpoint(parts) },
    errors: "oauth",
    cors: true,
    metadata: "registration_endpoint"
  },
  {
    path: registerPath,
    match: "below",
    methods: {
      GET: readRegistrationEndpoint(parts),
      PUT: updateRegistrationEndpoint(parts),
      DELETE: deleteRegistrationEndpoint(parts)
    },
    errors: "bearer",
    cors: true
  },
  {
    path: "/oauth/authorize",
    match: "exact",
    methods: { GET: authorizeEndpoint(parts) },
    errors: "page",
    cors: false,
    metadata: "authorization_endpoint"
  },
  {
    path: "/oauth/token",
    match: "exact",
    methods: { POST: tokenEndpoint(parts) },
    errors: "oauth",
    cors: true,
    metadata: "token_endpoint",
    grantTypes
  },
  {
    path: "/oauth/revoke",
    match: "exact",
    methods: { POST: revokeEndpoint(parts) },
    errors: "oauth",
    cors: true,
    metadata: "revocation_endpoint"
  },
  {
    path: "/oauth/introspect",
    match: "exact",
    methods: { POST: introspectEndpoint(parts) },
    errors: "oauth",
    cors: false,
    metadata: "introspection_endpoint"
  },
  {
    path: "/oauth/userinfo",
    match: "exact",
    methods: { GET: userinfoEndpoint(parts), POST: userinfoEndpoint(parts) },
    errors: "bearer",
    cors: true,
    metadata: "userinfo_endpoint"
  },
  {
    path: "/rest/companies",
    match: "exact",
    methods: { GET: companiesEndpoint(parts) },
    errors: "bearer",
    cors: true
  },
  {
    path: consentPath,
    match: "exact",
    methods: { GET: consentMissingEndpoint(parts), POST: consentEndpoint(parts) },
    errors: "page",
    cors: false
  },
  { path: "/healthz", match: "exact", methods: { GET: livenessEndpoint }, errors: "oauth", cors: false },
  { path: "/readyz", match: "exact", methods: { GET: readinessEndpoint(parts) }, errors: "oauth", cors: false }
]
