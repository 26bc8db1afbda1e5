/**
 * Whether a request may wait for what another one has begun. On Workers whatever a request waits for ends with it when its
 * caller goes away, and tells nobody: who waits with it, or counts on its end, does so for ever.
 */
export const sharesWaiting = (): boolean => globalThis.navigator?.userAgent !== "Cloudflare-Workers"
