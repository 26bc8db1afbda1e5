import { Effect } from "effect"
import { argument } from "./Argument.ts"
import { obey } from "./obey.ts"
import { open } from "./tessera/open.ts"
import { makePlans } from "./tessera/plans.ts"

const { serve, parts, workspaces } = await open({
  store: argument("store", "memory:"),
  alone: argument("coalescing", "on") === "off",
  workspaces: Number(argument("workspaces", "1")),
  audited: argument("audit", "off") === "on"
})
const { listen } =
  argument("runtime", "bun") === "node" ? await import("./tessera/onNode.ts") : await import("./tessera/onBun.ts")
const filling = {
  grants: Number(argument("grants", "1000")),
  filled: argument("filled", "no") === "yes",
  clients: Number(argument("clients", "1"))
}
const plans = await Effect.runPromise(makePlans(parts, workspaces, filling))
await obey(await listen(serve), plans)
