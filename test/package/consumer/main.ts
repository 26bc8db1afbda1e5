import { layer } from "tessera/storage/memory"
import { inOneCall } from "./inOneCall.ts"
import { ofLayers } from "./layers.ts"
import { play } from "./play.ts"

console.log(JSON.stringify([await play(ofLayers(layer)), await play(inOneCall(layer))]))
