/** What a client does to a server, over and over. */
export const workloads = [
  "client_credentials",
  "bearer_check",
  "introspection",
  "userinfo",
  "metadata",
  "code_exchange",
  "refresh",
  "registration",
  "assertion_es256",
  "assertion_eddsa",
  "assertion_ps256",
  "jwt_es256",
  "jwt_eddsa",
  "jwt_guard",
  "id_token",
  "refresh_registered",
  "refresh_document",
  "stranger_document",
  "stranger_registration",
  "dpop_push",
  "dpop_code",
  "dpop_refresh",
  "dpop_guard"
] as const
export type Workload = (typeof workloads)[number]

/**
 * The requests of one run, as the server that is to answer them describes them. `{value}` in the path, a header or
 * the body stands for one of `values`, and `{proof}` for the one of `proofs` in the same place.
 */
export interface Plan {
  readonly method: "GET" | "POST"
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /**
   * `none`: every request is the same. `cycle`: the values are used over and over. `once`: each is used once, and the
   * run ends with the last, if its time has not come before. `chain`: each is replaced by the `refresh_token` of its answer.
   * `count`: a number, counted on from `from`, so that no two requests are of one.
   */
  readonly use: "none" | "cycle" | "once" | "chain" | "count"
  readonly from?: number
  readonly values: ReadonlyArray<string>
  readonly proofs?: ReadonlyArray<string>
  readonly expect: number
  /** Whom the requests are for, one after the other, where a server has many names. */
  readonly hosts?: ReadonlyArray<string>
}

/** What a run prepares for: so many values, where the workload uses some up. */
export interface Order {
  readonly workload: Workload
  readonly count: number
}

/** Instead of an order: how many records its store holds. */
export interface RowsAsked {
  readonly rows: true
}

export interface Rows {
  readonly rows: number
}

/** The first line of a server: where it listens. */
export interface Ready {
  readonly port: number
}

/** How many times as long as it should warming up takes at most. */
export const warmPatience = 6

/** What the load generator is told. */
export interface Run {
  readonly plan: Plan
  /** Connections are dealt out over them. */
  readonly ports: ReadonlyArray<number>
  readonly connections: number
  readonly warmMillis: number
  /** Warming up goes on until so many were answered, however slow the machine; but not for ever. */
  readonly warmRequests: number
  readonly millis: number
  /** Under which name the values of a chain are kept, and taken up again by the next run of that name. */
  readonly chain: string | undefined
  /** Whose CPU time counts as the server's. */
  readonly servers: ReadonlyArray<number>
  /** Processes that count with all their children: a database. */
  readonly families: ReadonlyArray<number>
}

/** What it answers. */
export interface Sample {
  readonly requests: number
  readonly seconds: number
  readonly perSecond: number
  /** Microseconds of the server's CPU time for each request. */
  readonly cpu: number
  /** The same of the database. */
  readonly databaseCpu: number
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
  /** Megabytes of the server, at the end of the run. */
  readonly memory: number
  /** Of one core, how much the generator itself used. */
  readonly generatorLoad: number
  /** How many records more the store holds than before the first request, where that was asked. */
  readonly rows?: number
}

/** With how many were answered before those that count. */
export interface WarmedSample extends Sample {
  readonly warmRequests: number
}

export interface Failure {
  readonly failure: string
}
