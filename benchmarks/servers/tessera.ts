import { Effect } from "effect"
import { argument } from "./Argument.ts"
import { obey } from "./obey.ts"
import { open } from "./tessera/open.ts"
import { makePlans } from "./tessera/plans.ts"

const alone = argument("coalescing", "on") === "off"
const { serve, parts, workspaces } = await open({
  store: argument("store", "memory:"),
  alone,
  workspaces: Number(argument("workspaces", "1")),
  plain: argument("plain", "no") === "yes"
})
const onNode = argument("runtime", "bun") === "node"
if (alone && onNode) throw new Error("on Node the listener cannot be kept from gathering requests")
const { listen } = onNode
  ? await import("./tessera/onNode.ts")
  : alone
    ? await import("./tessera/onBunApart.ts")
    : await import("./tessera/onBun.ts")
const filling = {
  grants: Number(argument("grants", "1000")),
  filled: argument("filled", "no") === "yes",
  clients: Number(argument("clients", "1"))
}
const plans = await Effect.runPromise(makePlans(parts, workspaces, filling))
await obey(await listen(serve), plans)
