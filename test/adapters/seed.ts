/** Of the random laws; stores that keep their data need another one each run. `TEST_SEED` repeats one. */
export const seed = Number(process.env.TEST_SEED ?? crypto.getRandomValues(new Uint32Array(1))[0])
