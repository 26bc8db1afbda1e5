import { join, resolve } from "node:path"
import { parseArgs } from "node:util"
import { giveUp, install } from "../launch/launch.mjs"
import { root } from "../launch/root.mjs"
import { compile } from "./compile.mjs"

const asked = () => {
  try {
    return parseArgs({ options: { target: { type: "string" }, outfile: { type: "string" } } }).values
  } catch (error) {
    return giveUp(error instanceof Error ? error.message : String(error), 2)
  }
}

const { target, outfile = join(root, "dist/bin/tessera") } = asked()
install()
const file = resolve(outfile)
const failure = compile({ entry: join(root, "runtimes/bun/main.ts"), outfile: file, target })
if (failure !== undefined) giveUp(failure, 1)
process.stdout.write(`${file}\n`)
