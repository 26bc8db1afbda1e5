import { existsSync, readFileSync } from "node:fs"
import { join, relative } from "node:path"
import { plugin } from "bun"
import { instrumentedFile } from "./instrumentedFile.ts"
import { root } from "./targets.ts"

const collected = JSON.stringify(join(import.meta.dir, "collected.ts"))

plugin({
  name: "mutants",
  setup: (build) => {
    build.onLoad({ filter: /[/\\]core[/\\].*\.ts$/ }, ({ path }) => {
      const instrumented = instrumentedFile(relative(root, path))
      return { contents: readFileSync(existsSync(instrumented) ? instrumented : path, "utf8"), loader: "ts" }
    })
    // Tests are run here over and over in one process, which Bun's own runner does not do.
    build.onLoad({ filter: /[/\\]test[/\\].*\.test\.ts$/ }, ({ path }) => ({
      contents: readFileSync(path, "utf8").replace('"bun:test"', collected),
      loader: "ts"
    }))
  }
})
