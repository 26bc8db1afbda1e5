import { readFileSync } from "node:fs"
import { Effect } from "effect"
import { exportJWK, generateKeyPair } from "jose"
import { selfSigned } from "../adapters/selfSigned.ts"

/** A client's key: as a library signs with it, and as JWKs, whole and without its private part. */
export const keyOf = (alg: string, kid: string) =>
  Effect.promise(async () => {
    const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
    const told = { kid, alg, use: "sig" }
    return {
      signer: { key: privateKey, kid },
      own: { ...(await exportJWK(privateKey)), ...told },
      told: { ...(await exportJWK(publicKey)), ...told }
    }
  })

/** An https server of the test's own, with keys at an address, and the settings by which a server of ours asks it. */
export const keyServer = Effect.gen(function* () {
  const files = yield* selfSigned()
  const served = { keys: [] as ReadonlyArray<object> }
  const server = yield* Effect.acquireRelease(
    Effect.sync(() =>
      Bun.serve({
        hostname: "127.0.0.1",
        port: 0,
        tls: { key: readFileSync(files.key, "utf8"), cert: readFileSync(files.cert, "utf8") },
        fetch: () => Response.json(served)
      })
    ),
    (server) => Effect.promise(() => server.stop(true))
  )
  const host = `localhost:${server.port}`
  return { served, host, env: { FETCH_ALLOW: host, FETCH_CA: files.cert } }
})
