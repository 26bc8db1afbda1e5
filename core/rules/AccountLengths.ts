/** What a form lets people type, and what is accepted of it, wherever it comes from. */

/** RFC 5321 §4.5.3.1.3: a path of 256 octets, less the brackets. */
export const emailLength = 254

export const personNameLength = 100

/** In bytes. Longer than any passphrase, and short enough that hashing it costs what hashing a short one does. */
export const passwordBytes = 1024
