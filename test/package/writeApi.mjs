import { launch } from "../../runtimes/launch/launch.mjs"

launch("test/package/writeApi.ts", [], { TEST_NODE: process.execPath })
