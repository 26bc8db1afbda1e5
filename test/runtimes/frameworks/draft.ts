import type { IncomingMessage, ServerResponse } from "node:http"
import { nodeListener } from "../../../runtimes/node.ts"
import type { Embedded } from "./embedded.ts"

export const middleware = ({ owns, serve }: Embedded) => {
  const listener = nodeListener(serve)
  return (request: IncomingMessage, response: ServerResponse, next: () => void) =>
    owns(new URL(request.url ?? "/", "http://host").pathname) ? listener(request, response) : next()
}
