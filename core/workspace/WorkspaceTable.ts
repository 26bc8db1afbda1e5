import { Equal, Result, Schema } from "effect"
import { basePath, type Workspace, type WorkspaceId } from "./Workspace.ts"

/**
 * Two workspaces cannot both be there: they share an id, or an address. `message` is for the operator who named them.
 */
export class WorkspaceClash extends Schema.TaggedError<WorkspaceClash>()("WorkspaceClash", {
  shared: Schema.Literals(["id", "address"]),
  workspace: Schema.String,
  /** Whose it is. */
  other: Schema.String
}) {
  override get message(): string {
    return this.shared === "id"
      ? `two workspaces have the id ${this.workspace}`
      : `the workspaces ${this.other} and ${this.workspace} have one address`
  }
}

/** RFC 9110 §4.2.3: a port that goes without saying may be said, as some proxies do. */
const impliedPort = /:(443|80)$/

/** Where an issuer is found: its host, and the path below it. */
export interface Address {
  readonly host: string
  /** Empty, or `/` and more. */
  readonly path: string
}

/** `URL` has written the issuer, so its host is in lower case and has no port that goes without saying. */
export const addressOf = ({ issuer }: Pick<Workspace, "issuer">): Address => {
  const path = basePath(issuer)
  return { host: issuer.slice(issuer.indexOf("://") + 3, issuer.length - path.length), path }
}

const letters = /^[a-z0-9.:_[\]-]*$/

/**
 * A `Host` header in the form of an address; `undefined` for what no issuer can have: other characters, empty labels (so
 * a dot at either end), more than 255 characters.
 */
export const readHost = (header: string | null | undefined): string | undefined => {
  if (header === null || header === undefined || header === "" || header.length > 255) return undefined
  const host = header.toLowerCase()
  if (!letters.test(host) || host.startsWith(".") || host.includes("..")) return undefined
  return host.endsWith(".") || host.includes(".:") ? undefined : host
}

/** How many segments a path has: `/a/b` has two. */
export const depthOf = (path: string): number => {
  let depth = 0
  for (let at = path.indexOf("/"); at >= 0; at = path.indexOf("/", at + 1)) depth++
  return depth
}

const wellKnown = "/.well-known/"

/** Where an issuer's path may begin: behind a well-known one (RFC 8414 §3.1), or at once. */
const startOf = (path: string): number => {
  if (!path.startsWith(wellKnown)) return 0
  const end = path.indexOf("/", wellKnown.length)
  return end < 0 ? path.length : end
}

/** The beginnings of a path that an issuer's path may be, the longest first, of at most so many segments. */
export const pathsWithin = (path: string, deepest: number): ReadonlyArray<string> => {
  const start = startOf(path)
  const found: Array<string> = []
  let at = start
  while (found.length < deepest && at < path.length) {
    const next = path.indexOf("/", at + 1)
    at = next < 0 ? path.length : next
    found.unshift(path.slice(start, at))
  }
  return found
}

/** How many workspaces came, changed and went. */
export interface TableChanges {
  readonly added: number
  readonly changed: number
  readonly removed: number
}

interface AtHost {
  /** The one that has the host as a whole, but for what others have below it. */
  root: Workspace | undefined
  readonly below: Map<string, Workspace>
  /** The segments of the longest path in `below`. */
  deepest: number
}

const atHost = (): AtHost => ({ root: undefined, below: new Map(), deepest: 0 })

/**
 * Workspaces by where they are found, and by id. To find one costs the same however many there are. They come and go
 * while requests are answered: every method is done when it returns.
 */
export class WorkspaceTable {
  private readonly hosts = new Map<string, Workspace | AtHost>()
  private readonly byId = new Map<WorkspaceId, Workspace>()

  static of(workspaces: Iterable<Workspace>): Result.Result<WorkspaceTable, WorkspaceClash> {
    const table = new WorkspaceTable()
    for (const workspace of workspaces) {
      if (table.get(workspace.id) !== undefined) {
        return Result.fail(new WorkspaceClash({ shared: "id", workspace: workspace.id, other: workspace.id }))
      }
      const put = table.put(workspace)
      if (Result.isFailure(put)) return Result.fail(put.failure)
    }
    return Result.succeed(table)
  }

  get size(): number {
    return this.byId.size
  }

  get(id: WorkspaceId): Workspace | undefined {
    return this.byId.get(id)
  }

  values(): Iterable<Workspace> {
    return this.byId.values()
  }

  /** Adds one, or puts it in the place of the one with its id, wherever that was found. */
  put(workspace: Workspace): Result.Result<void, WorkspaceClash> {
    const address = addressOf(workspace)
    const there = this.exactly(address)
    if (there !== undefined && there.id !== workspace.id) {
      return Result.fail(new WorkspaceClash({ shared: "address", workspace: workspace.id, other: there.id }))
    }
    this.remove(workspace.id)
    this.byId.set(workspace.id, workspace)
    const found = this.hosts.get(address.host)
    if (found === undefined && address.path === "") this.hosts.set(address.host, workspace)
    else this.share(address.host, found, (at) => place(at, address.path, workspace))
    return Result.succeed(undefined)
  }

  /** Makes these all that there are. Those that are as they were stay the same values, since caches know them by that. */
  replaceAll(workspaces: ReadonlyArray<Workspace>): Result.Result<TableChanges, WorkspaceClash> {
    const checked = WorkspaceTable.of(workspaces)
    if (Result.isFailure(checked)) return Result.fail(checked.failure)
    const gone = [...this.byId.keys()].filter((id) => checked.success.get(id) === undefined)
    const others = workspaces.filter((workspace) => !Equal.equals(this.byId.get(workspace.id), workspace))
    const added = others.filter(({ id }) => this.byId.get(id) === undefined)
    // Two may have changed places: none stands in the way of another while they are put.
    for (const id of gone) this.remove(id)
    for (const { id } of others) this.remove(id)
    for (const workspace of others) this.put(workspace)
    return Result.succeed({ added: added.length, changed: others.length - added.length, removed: gone.length })
  }

  remove(id: WorkspaceId): void {
    const workspace = this.byId.get(id)
    if (workspace === undefined) return
    this.byId.delete(id)
    const { host, path } = addressOf(workspace)
    const found = this.hosts.get(host)
    if (found === undefined) return
    if (!isShared(found)) this.hosts.delete(host)
    else {
      place(found, path, undefined)
      if (found.below.size === 0 && found.root === undefined) this.hosts.delete(host)
    }
  }

  /** Whose a request with this `Host` header and path is. */
  find(header: string, path: string): Workspace | undefined {
    const found = this.hosts.get(header) ?? this.written(header)
    return found === undefined || !isShared(found) ? found : within(found, path)
  }

  /** For a header that is written otherwise than an issuer's host. */
  private written(header: string): Workspace | AtHost | undefined {
    const host = readHost(header)
    if (host === undefined) return undefined
    const port = impliedPort.exec(host)
    if (port === null) return this.hosts.get(host)
    const found = this.hosts.get(host.slice(0, port.index))
    const one = found !== undefined && isShared(found) ? (found.root ?? found.below.values().next().value) : found
    // Issuers without a port that share a host share its scheme too, or one of them is on this machine and the other not.
    return one?.issuer.startsWith(port[1] === "443" ? "https:" : "http:") === true ? found : undefined
  }

  private exactly({ host, path }: Address): Workspace | undefined {
    const found = this.hosts.get(host)
    if (found === undefined) return undefined
    if (isShared(found)) return path === "" ? found.root : found.below.get(path)
    return path === "" ? found : undefined
  }

  private share(host: string, found: Workspace | AtHost | undefined, change: (at: AtHost) => void): void {
    const at = found !== undefined && isShared(found) ? found : atHost()
    if (found !== undefined && !isShared(found)) at.root = found
    change(at)
    this.hosts.set(host, at)
  }
}

const isShared = (found: Workspace | AtHost): found is AtHost => "below" in found

const place = (at: AtHost, path: string, workspace: Workspace | undefined): void => {
  if (path === "") at.root = workspace
  else if (workspace === undefined) at.below.delete(path)
  else {
    at.below.set(path, workspace)
    at.deepest = Math.max(at.deepest, depthOf(path))
  }
}

const within = ({ below, deepest, root }: AtHost, path: string): Workspace | undefined => {
  for (const beginning of pathsWithin(path, deepest)) {
    const found = below.get(beginning)
    if (found !== undefined) return found
  }
  return root
}
