/** What a client does to a server, over and over. */
export const workloads = [
  "client_credentials",
  "bearer_check",
  "introspection",
  "metadata",
  "code_exchange",
  "refresh",
  "registration"
] as const
export type Workload = (typeof workloads)[number]
