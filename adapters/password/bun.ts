import type { Argon2id } from "./Argon2id.ts"

/** Bun's own, on its thread pool, which draws the salt itself. `undefined` on other runtimes. */
export const bun: Argon2id | undefined =
  "Bun" in globalThis
    ? {
        name: "bun",
        hash: (password, cost) =>
          Bun.password.hash(password, { algorithm: "argon2id", memoryCost: cost.memory, timeCost: cost.passes }),
        verify: (password, hash) => Bun.password.verify(password, hash)
      }
    : undefined
