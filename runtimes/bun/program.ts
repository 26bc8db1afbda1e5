import "../server/compileSchemas.ts"
import { program } from "../command/program.ts"
import { listen } from "./listen.ts"

await program(listen)
