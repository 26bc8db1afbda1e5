import { existsSync, readFileSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"
import { plugin } from "bun"
import { instrumentedFile } from "./instrumentedFile.ts"
import { root } from "./targets.ts"

const collected = JSON.stringify(join(import.meta.dir, "collected.ts"))

plugin({
  name: "mutants",
  setup: (build) => {
    build.onLoad({ filter: /[/\\](?:core|runtimes)[/\\].*\.ts$/ }, ({ path }) => {
      const instrumented = instrumentedFile(relative(root, path))
      return { contents: readFileSync(existsSync(instrumented) ? instrumented : path, "utf8"), loader: "ts" }
    })
    // Tests are run here over and over in one process, which Bun's own runner does not do. Behind the `?` stands for
    // which mutant they are loaded anew, with the files of tests that they import.
    build.onLoad({ filter: /[/\\]test[/\\](?!mutation[/\\]).*\.ts(?:\?.*)?$/ }, ({ path }) => {
      const [file = "", ...query] = path.split("?")
      const imported = (specifier: string) =>
        query.length > 0 && resolve(dirname(file), specifier).startsWith(join(root, "test"))
          ? [specifier, ...query].join("?")
          : specifier
      return {
        contents: readFileSync(file, "utf8")
          .replace('"bun:test"', collected)
          .replace(/ from "(\.\.?\/[^"]+\.ts)"/g, (_, specifier: string) => ` from "${imported(specifier)}"`),
        loader: "ts"
      }
    })
  }
})
