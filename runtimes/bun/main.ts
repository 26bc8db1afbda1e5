import { restartWithMemorySettings } from "./memorySettings.ts"

restartWithMemorySettings(process.argv.slice(2))
// After it, since a process that starts again would have loaded the program for nothing.
await import("./program.ts")
