import { layer } from "tessera/storage/memory"
import { play } from "./play.ts"

console.log(JSON.stringify(await play(layer)))
