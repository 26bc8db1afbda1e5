import { launch } from "../../runtimes/launch/launch.mjs"

launch("test/house/writeArrow.ts", [])
