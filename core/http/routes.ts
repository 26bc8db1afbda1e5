import { grantTypes } from "../client/Client.ts"
import { authorizeContract } from "../openapi/contract/authorize.ts"
import { companiesContract } from "../openapi/contract/companies.ts"
import { livenessContract, readinessContract } from "../openapi/contract/health.ts"
import { introspectContract } from "../openapi/contract/introspect.ts"
import { openApiContract, resourceMetadataContract, serverMetadataContract } from "../openapi/contract/metadata.ts"
import {
  deleteRegistrationContract,
  readRegistrationContract,
  registerContract,
  updateRegistrationContract
} from "../openapi/contract/register.ts"
import { revokeContract } from "../openapi/contract/revoke.ts"
import { tokenContract } from "../openapi/contract/token.ts"
import { userinfoByPostContract, userinfoContract } from "../openapi/contract/userinfo.ts"
import { openApiEndpoint, openApiPath } from "../openapi/openApiEndpoint.ts"
import { authorizeEndpoint } from "./authorize.ts"
import { companiesEndpoint } from "./companies.ts"
import { consentEndpoint, consentMissingEndpoint } from "./consent.ts"
import { consentElsewhere } from "./consentElsewhere.ts"
import { livenessEndpoint, readinessEndpoint } from "./health.ts"
import { introspectEndpoint } from "./introspect.ts"
import { authorizationServerEndpoint, protectedResourceEndpoint, protectedResourcePath } from "./metadata.ts"
import type { Parts } from "./Parts.ts"
import { authorizePath, consentPath } from "./paths.ts"
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

/** The table: every path that the protocol answers. */
export const protocolRoutes = (parts: Parts, all: () => ReadonlyArray<Route>): ReadonlyArray<Route> => [
  {
    path: "/.well-known/oauth-authorization-server",
    match: "suffix",
    methods: { GET: authorizationServerEndpoint(parts, all) },
    contracts: { GET: serverMetadataContract },
    errors: "oauth",
    cors: true
  },
  {
    path: protectedResourcePath,
    match: "suffix",
    methods: { GET: protectedResourceEndpoint(parts) },
    contracts: { GET: resourceMetadataContract },
    errors: "oauth",
    cors: true
  },
  {
    path: openApiPath,
    match: "exact",
    methods: { GET: openApiEndpoint(parts, all) },
    contracts: { GET: openApiContract },
    errors: "oauth",
    cors: true
  },
  {
    path: registerPath,
    match: "exact",
    methods: { POST: registerEndpoint(parts) },
    contracts: { POST: registerContract },
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
    contracts: {
      GET: readRegistrationContract,
      PUT: updateRegistrationContract,
      DELETE: deleteRegistrationContract
    },
    errors: "bearer",
    cors: true
  },
  {
    path: authorizePath,
    match: "exact",
    methods: { GET: authorizeEndpoint(parts) },
    contracts: { GET: authorizeContract },
    errors: "page",
    cors: false,
    metadata: "authorization_endpoint"
  },
  {
    path: "/oauth/token",
    match: "exact",
    methods: { POST: tokenEndpoint(parts) },
    contracts: { POST: tokenContract },
    errors: "oauth",
    cors: true,
    metadata: "token_endpoint",
    grantTypes
  },
  {
    path: "/oauth/revoke",
    match: "exact",
    methods: { POST: revokeEndpoint(parts) },
    contracts: { POST: revokeContract },
    errors: "oauth",
    cors: true,
    metadata: "revocation_endpoint"
  },
  {
    path: "/oauth/introspect",
    match: "exact",
    methods: { POST: introspectEndpoint(parts) },
    contracts: { POST: introspectContract },
    errors: "oauth",
    cors: false,
    metadata: "introspection_endpoint"
  },
  {
    path: "/oauth/userinfo",
    match: "exact",
    methods: { GET: userinfoEndpoint(parts), POST: userinfoEndpoint(parts) },
    contracts: { GET: userinfoContract, POST: userinfoByPostContract },
    errors: "bearer",
    cors: true,
    metadata: "userinfo_endpoint"
  },
  {
    path: "/rest/companies",
    match: "exact",
    methods: { GET: companiesEndpoint(parts) },
    contracts: { GET: companiesContract },
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
  ...consentElsewhere(parts),
  {
    path: "/healthz",
    match: "exact",
    methods: { GET: livenessEndpoint },
    contracts: { GET: livenessContract },
    errors: "oauth",
    cors: false
  },
  {
    path: "/readyz",
    match: "exact",
    methods: { GET: readinessEndpoint(parts) },
    contracts: { GET: readinessContract },
    errors: "oauth",
    cors: false
  }
]
