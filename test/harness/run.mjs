import { launch } from "../../runtimes/launch/launch.mjs"

launch("test/harness/runTests.ts", process.argv.slice(2), { TEST_NODE: process.execPath })
