/** What Argon2id costs (RFC 9106 §3.1): KiB of memory, passes over it, lanes. */
export interface Cost {
  readonly memory: number
  readonly passes: number
  readonly lanes: 1
}

/** OWASP's Password Storage Cheat Sheet: 19 MiB, two passes, one lane. */
export const standardCost: Cost = { memory: 19_456, passes: 2, lanes: 1 }

export const saltLength = 16
export const tagLength = 32

/** One implementation. All of them read and write the same PHC strings. */
export interface Argon2id {
  readonly name: "bun" | "node" | "noble"
  readonly hash: (password: Uint8Array<ArrayBuffer>, cost: Cost, salt: Uint8Array) => Promise<string>
  readonly verify: (password: Uint8Array<ArrayBuffer>, hash: string) => Promise<boolean>
}
