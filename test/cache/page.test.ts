import { describe, expect, test } from "bun:test"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { cacheSizes } from "../../core/engine/caches.ts"
import { workspacesKept } from "../../core/workspace/Workspace.ts"
import { house } from "../readme/blocks.ts"
import { tableRows } from "../readme/tables.ts"

const page = "core/cache/README.md"
const rows = ["cache", "what"].flatMap((heading) => tableRows(page, heading)).map((cells) => cells.join(" | "))

/** A file of the core stands there without its first folder. */
const nameOf = (file: string): string => file.replace(/^core\//, "")
const rowsOf = (file: string) => rows.filter((row) => row.includes(`\`${nameOf(file)}\``))

/** Each place that makes something with a bound, and what stands there for the bound. */
const making = /new (?:LruMap|SizedLruMap|TtlCache)\b(?:<[^(]*>)?\(([^,)]*)/g

const files = [...new Bun.Glob("{core,adapters,runtimes}/**/*.ts").scanSync(house)]
  .filter((file) => !/^core\/(?:cache|testing)\//.test(file))
  .toSorted()
const made = files.flatMap((file) => {
  const text = readFileSync(join(house, file), "utf8")
  return [...text.matchAll(making)].map(([, bound = ""]) => ({ file, text, bound: bound.trim() }))
})

/** A bound of numbers and of constants of its file; `undefined`: the caller says how many. */
const boundOf = (text: string, bound: string): number | undefined => {
  let product = 1
  for (const factor of bound.split("*").map((part) => part.trim())) {
    const constant = new RegExp(`^(?:export )?const ${factor} = (.*)$`, "m").exec(text)?.[1]
    const value = /^[\d_]+$/.test(factor)
      ? Number(factor.replaceAll("_", ""))
      : factor === "workspacesKept"
        ? workspacesKept
        : constant && boundOf("", constant)
    if (value === undefined || value === "") return undefined
    product *= value
  }
  return product
}

const mebibyte = 1024 * 1024
const written = (bound: number): string =>
  bound % mebibyte === 0 ? `${bound / mebibyte} MiB` : bound.toLocaleString("en")

const bounds = made.flatMap(({ bound, file, text }) => {
  const value = boundOf(text, bound)
  return value === undefined ? [] : [{ file, bound: written(value) }]
})

describe("the page of caches", () => {
  test("names each file that makes one", () => {
    expect(made.length).toBeGreaterThan(25)
    expect(made.map(({ file }) => file).filter((file) => rowsOf(file).length === 0)).toEqual([])
  })

  test("names no file that is not there", () => {
    const named = rows.flatMap((row) => [...row.matchAll(/`([\w/]+\.ts)`/g)].map(([, name = ""]) => name))
    expect(named.length).toBeGreaterThan(20)
    expect(named.filter((name) => ![name, `core/${name}`].some((path) => existsSync(join(house, path))))).toEqual([])
  })

  test("tells each bound as the code has it", () => {
    expect(bounds.length).toBeGreaterThan(20)
    expect(
      bounds.filter(
        ({ bound, file }) => !rowsOf(file).some((row) => new RegExp(`(?<![\\d,])${bound}(?!,?\\d)`).test(row))
      )
    ).toEqual([])
    for (const size of Object.values(cacheSizes)) {
      expect(
        rowsOf("core/engine/caches.ts").every((row) => row.includes("the same") || row.includes(written(size)))
      ).toBe(true)
    }
  })
})
