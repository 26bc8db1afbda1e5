#!/usr/bin/env node
import { launch } from "./launch/launch.mjs"

launch("runtimes/bun/main.ts", process.argv.slice(2))
