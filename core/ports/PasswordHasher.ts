import { Context, type Effect, type Redacted } from "effect"

/** The one slow hash: for passwords, which people choose. */
export class PasswordHasher extends Context.Service<
  PasswordHasher,
  {
    /** As a PHC string, with a salt of its own. */
    readonly hash: (password: Redacted.Redacted<string>) => Effect.Effect<string>
    /** `false` also for a hash that cannot be read. */
    readonly verify: (password: Redacted.Redacted<string>, hash: string) => Effect.Effect<boolean>
    /** Whether a fresh hash would be stronger than this one. */
    readonly isOutdated: (hash: string) => boolean
    /** A hash that nothing fits, as dear to verify as a fresh one: for emails without an account. */
    readonly decoy: string
  }
>()("tessera/core/ports/PasswordHasher") {}
