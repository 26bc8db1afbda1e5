import { launch } from "../../runtimes/launch/launch.mjs"

launch("test/pages/writeOutlines.ts", [])
