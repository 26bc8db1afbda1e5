import { launch } from "../runtimes/launch/launch.mjs"

launch("benchmarks/bench.ts", process.argv.slice(2), { TEST_NODE: process.execPath })
