/**
 * Whether a request may wait for what another one has begun. On Workers what a request waits for ends with it when its
 * caller goes away, without a sign: another request that waits for it, or counts on its end, does so for ever.
 */
export const sharesWaiting = (): boolean => globalThis.navigator?.userAgent !== "Cloudflare-Workers"
