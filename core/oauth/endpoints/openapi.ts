import { Effect, Schema } from "effect"
import { forAWhile, json } from "../../http/answer.ts"
import { bound, type Contract, type Endpoint, type HandlerOf, type Services } from "../../http/Route.ts"
import { openApiDocument } from "../../openapi/openApiDocument.ts"
import { servicesAt } from "../../workspace/Workspace.ts"
import { remembered } from "./metadata.ts"

const Members = Schema.Record(Schema.String, Schema.Unknown)

const OpenApi = Schema.Struct({
  openapi: Schema.String.check(Schema.isPattern(/^3\.1\.\d+$/)),
  info: Members,
  servers: Schema.Array(Members),
  tags: Schema.Array(Members),
  paths: Members,
  components: Members
}).annotate({ identifier: "OpenApi" })

const openApiContract = {
  id: "openApi",
  summary: "This document",
  answers: [
    {
      description: "An OpenAPI 3.1 document.",
      like: () => json(200, {}, forAWhile),
      body: OpenApi
    }
  ],
  heading: "Discovery",
  callers: [{ shows: "nothing" }],
  faults: []
} as const satisfies Contract

const openApiHandler = (services: Services): HandlerOf<typeof openApiContract> => {
  const document = remembered((workspace) =>
    json(200, openApiDocument(servicesAt(services, workspace), workspace), forAWhile)
  )
  return (call) => Effect.succeed(document(call.workspace))
}

export const openApiEndpoint: Endpoint = {
  path: "/openapi.json",
  match: "exact",
  methods: { GET: bound(openApiContract, openApiHandler) },
  errors: "oauth",
  storeless: true,
  cors: true
}
