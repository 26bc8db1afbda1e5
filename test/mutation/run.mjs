import { launch } from "../../runtimes/launch/launch.mjs"

launch("test/mutation/main.ts", process.argv.slice(2))
