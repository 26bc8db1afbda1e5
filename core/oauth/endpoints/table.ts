import { grantTypes } from "../../client/Client.ts"
import type { Parts, Route } from "../../http/Route.ts"
import { authorizeContract } from "../../request/AuthorizationRequest.ts"
import { authorizePath, consentPath } from "../../workspace/Workspace.ts"
import { authorizeEndpoint } from "./authorize.ts"
import { companiesContract, companiesEndpoint } from "./companies.ts"
import { consentEndpoint, consentMissingEndpoint } from "./consent.ts"
import { consentElsewhere } from "./consentElsewhere.ts"
import { livenessContract, livenessEndpoint, readinessContract, readinessEndpoint } from "./health.ts"
import { introspectContract, introspectEndpoint } from "./introspect.ts"
import {
  authorizationServerEndpoint,
  openApiContract,
  protectedResourceEndpoint,
  protectedResourcePath,
  resourceMetadataContract,
  serverMetadataContract
} from "./metadata.ts"
import { openApiEndpoint, openApiPath } from "./openapi.ts"
import {
  deleteRegistrationContract,
  deleteRegistrationEndpoint,
  readRegistrationContract,
  readRegistrationEndpoint,
  registerContract,
  registerEndpoint,
  registerPath,
  updateRegistrationContract,
  updateRegistrationEndpoint
} from "./register.ts"
import { revokeContract, revokeEndpoint } from "./revoke.ts"
import { tokenContract, tokenEndpoint } from "./token.ts"
import { userinfoByPostContract, userinfoContract, userinfoEndpoint } from "./userinfo.ts"

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
