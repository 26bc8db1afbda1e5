import { jwtGuard } from "../../runtimes/guard.ts"
import type { Order, Plan } from "../Plan.ts"
import { data, headers } from "./sealed/answers.ts"
import { obey } from "./serving.ts"
import { issuer, jwtPlan, makeSigner } from "./signer.ts"

/** A resource server of somebody else's: it asks nobody, and has the keys at hand. */

const signer = await makeSigner("ES256")

const { guard } = jwtGuard({
  issuer,
  resource: issuer,
  fetch: async () => Response.json({ keys: [signer.jwk] })
})

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  development: false,
  fetch: async (request) => {
    const checked = await guard(request, { scopes: ["api"] })
    return checked._tag === "Admitted" ? new Response(data(), { headers }) : checked.response
  }
})

const plan = ({ count, workload }: Order): Promise<Plan> => {
  if (workload !== "jwt_guard") throw new Error(`a resource server has no ${workload}`)
  return jwtPlan(signer.sign, count)
}

await obey(server.port ?? 0, plan)
