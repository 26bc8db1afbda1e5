import { Effect } from "effect"
import { exportJWK, generateKeyPair } from "jose"
import { httpsHost } from "./httpsHost.ts"

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

/** An https server of the test's own, with keys at its paths, and the settings by which a server of ours asks it. */
export const keyServer = Effect.map(httpsHost, ({ env, host, pages }) => {
  const served = { keys: [] as ReadonlyArray<object> }
  pages.set("*", served)
  return { served, host, env }
})
