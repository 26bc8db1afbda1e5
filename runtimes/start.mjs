import { launch } from "./launch/launch.mjs"

launch("runtimes/bun/main.ts", ["serve", ...process.argv.slice(2)])
