import { inOneCall } from "./inOneCall.ts"
import { ofLayers } from "./layers.ts"
import { mapStorage } from "./mapStorage.ts"
import { play } from "./play.ts"

export const outcome = async () => [await play(ofLayers(mapStorage)), await play(inOneCall(mapStorage))]
