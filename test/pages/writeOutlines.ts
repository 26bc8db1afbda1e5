import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { outlines } from "./outline.ts"

const folder = new URL("outlines/", import.meta.url)
rmSync(folder, { recursive: true, force: true })
mkdirSync(folder)
for (const [group, text] of Object.entries(outlines())) writeFileSync(new URL(`${group}.txt`, folder), text)
