import type { Server } from "node:http"
import type { Embedded } from "./embedded.ts"

/**
 * A host's application, with Tessera beside routes of its own, on a free port. All of them have the same ones:
 * `GET /` is "home", `GET /users/:id` the id, `POST /own` tells its JSON or its form again as JSON, `GET /shop/orders`,
 * in a router of its own, says which kind of caller the guard has let in, and what is nowhere is answered with 404 and
 * "my own 404".
 */
export type Host = (tessera: Embedded) => Promise<number>

export const portOf = (server: Server): number => {
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("not listening at a port")
  return address.port
}
