import { Effect, Result } from "effect"
import { Tessera } from "../../core/http/Tessera.ts"
import { openApiDocument } from "../../core/openapi/openApiDocument.ts"
import { parseKeyRing } from "../../core/token/KeyRing.ts"
import { application } from "./application.ts"
import { newSealKey } from "./SealKeyFile.ts"
import type { Settings } from "./Settings.ts"

/** What a server with these settings would answer at `/openapi.json`: from the same application, over nothing. */
export const describeApi = (settings: Settings) =>
  Tessera.pipe(
    Effect.map(({ parts, routes }) => openApiDocument(parts, routes, settings.workspace)),
    Effect.provide(
      application({ ...settings, database: { _tag: "Memory" } }, Result.getOrThrow(parseKeyRing(newSealKey())))
    )
  )
