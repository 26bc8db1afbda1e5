import "../server/compileSchemas.ts"
import { program } from "../command/run.ts"
import { listen } from "./listen.ts"

await program(listen)
