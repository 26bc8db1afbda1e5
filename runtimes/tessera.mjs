#!/usr/bin/env node
import { collector } from "./launch/collector.mjs"
import { launch } from "./launch/launch.mjs"

launch("runtimes/bun/main.ts", process.argv.slice(2), collector)
