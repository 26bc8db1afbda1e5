/**
 * Milliseconds that a server which ends still answers what comes, each answer with `connection: close`. To stop reading at
 * once would reset connections in use, with the requests that are on their way, and a caller may not send a POST again.
 */
export const lastAnswersFor = 250
