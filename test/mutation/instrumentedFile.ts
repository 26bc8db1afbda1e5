import { join } from "node:path"

/** Tells the processes that try mutants where the instrumented sources of this run lie. */
export const folderVariable = "TESSERA_MUTATION_FOLDER"

/** Where a source lies with its mutants in it. */
export const instrumentedFile = (file: string): string => join(process.env[folderVariable] ?? "", file)
