import { launch } from "../../runtimes/launch/launch.mjs"

launch("test/model/main.ts", process.argv.slice(2))
