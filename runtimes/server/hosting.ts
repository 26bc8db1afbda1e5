import { stat } from "node:fs/promises"
import { Clock, Context, Effect, Layer, Result, Schedule, Schema } from "effect"
import { makeFoundWorkspaces } from "../../core/engine/FoundWorkspaces.ts"
import { type FoundAt, type Hosting, makeHosting } from "../../core/engine/Hosting.ts"
import { forEachItem } from "../../core/engine/lists.ts"
import type { HttpRequest } from "../../core/http/Http.ts"
import { Entropy } from "../../core/ports/Entropy.ts"
import { Storage, type StorageUnavailable } from "../../core/ports/Storage.ts"
import { resolverOf, Workspaces } from "../../core/ports/Workspaces.ts"
import { basePath, Workspace, type WorkspaceId, workspacesKept } from "../../core/workspace/Workspace.ts"
import { addressOf, depthOf, type TableChanges, WorkspaceTable } from "../../core/workspace/WorkspaceTable.ts"
import { type FileFault, readJson, readText } from "./JsonFile.ts"
import type { Settings } from "./Settings.ts"
import { WrongSettings } from "./Variable.ts"

/** The workspaces of a server, for whatever is done in each of them. */
export class Hosted extends Context.Service<
  Hosted,
  {
    /** All that there are, that of `BASE_URL` first. */
    readonly each: <E>(
      act: (workspace: Workspace) => Effect.Effect<void, E>
    ) => Effect.Effect<void, E | StorageUnavailable>
    readonly find: (id: WorkspaceId) => Effect.Effect<Workspace | undefined, StorageUnavailable>
    /** Before requests come: what there is need not be looked for by each of them. */
    readonly warm: Effect.Effect<void, StorageUnavailable>
    /** Takes changes over for as long as it runs. */
    readonly follow: Effect.Effect<never>
    /** The workspaces in the store, where that is where they come from. */
    readonly hosting?: Hosting
  }
>()("tessera/runtimes/server/Hosted") {}

/** The first segments of the server's own paths: a workspace there would take them over from one that has the host. */
export const ownSegments: ReadonlySet<string> = new Set([
  ".well-known",
  "consent",
  "device",
  "healthz",
  "invite",
  "login",
  "logout",
  "oauth",
  "openapi.json",
  "readyz",
  "rest",
  "set-up",
  "settings",
  "~"
])

/** Why a workspace cannot be beside that of `BASE_URL`; `undefined` where it can. */
export const hostingProblem = (home: Workspace, workspace: Workspace): string | undefined => {
  const [, segment = ""] = basePath(workspace.issuer).split("/")
  if (ownSegments.has(segment)) return `/${segment} is a path of the server's own, and no workspace's`
  if (workspace.id === home.id) return `the id ${home.id} is that of BASE_URL's workspace`
  return workspace.issuer === home.issuer ? "the issuer is BASE_URL's" : undefined
}

const faultsShown = 20

const complaintOf =
  (path: string) =>
  ({ line, says }: FileFault): string =>
    `${path}${line === undefined ? "" : ` line ${line}`}: ${says}`

/** What is read of a file; or all that is wrong with it, by line. */
const readFile = <A>(
  path: string,
  read: (text: string) => Result.Result<A, ReadonlyArray<FileFault>>
): Result.Result<A, ReadonlyArray<string>> =>
  Result.flatMap(
    Result.mapError(readText(path), (fault): ReadonlyArray<FileFault> => [fault]),
    read
  ).pipe(
    Result.mapError((faults) => {
      const shown = faults.slice(0, faultsShown).map(complaintOf(path))
      return faults.length > faultsShown ? [...shown, `${faults.length - faultsShown} more`] : shown
    })
  )

const readWorkspaces = (
  home: Workspace,
  text: string
): Result.Result<ReadonlyArray<Workspace>, ReadonlyArray<FileFault>> => {
  const read = readJson(Schema.Array(Workspace), text)
  if (Result.isFailure(read)) return Result.fail(read.failure)
  const { lineOf, value } = read.success
  const faults: Array<FileFault> = []
  const table = new WorkspaceTable()
  table.put(home)
  for (const [index, workspace] of value.entries()) {
    const problem = hostingProblem(home, workspace) ?? clashIn(table, workspace)
    if (problem !== undefined) faults.push({ line: lineOf([index]), says: `[${index}]: ${problem}` })
  }
  return faults.length === 0 ? Result.succeed([home, ...value]) : Result.fail(faults)
}

const clashIn = (table: WorkspaceTable, workspace: Workspace): string | undefined => {
  if (table.get(workspace.id) !== undefined) return `the id ${workspace.id} stands there twice`
  const put = table.put(workspace)
  return Result.isFailure(put) ? put.failure.message : undefined
}

/** The workspaces of a file, that of `BASE_URL` first; or all that is wrong with it, by line. */
export const workspacesOfFile = (
  home: Workspace,
  path: string
): Result.Result<ReadonlyArray<Workspace>, ReadonlyArray<string>> =>
  Result.mapError(
    readFile(path, (text) => readWorkspaces(home, text)),
    (complaints) => complaints.map((complaint) => `WORKSPACES: ${complaint}`)
  )

/** One workspace from a file of its own, as an entry of the other has it. */
export const workspaceOfFile = (path: string): Result.Result<Workspace, ReadonlyArray<string>> =>
  readFile(path, (text) => Result.map(readJson(Workspace, text), ({ value }) => value))

/** Probes come by the address of a machine, which is no workspace's: that of `BASE_URL` answers them. */
const answeringProbes = (home: Workspace, below: Workspaces["Service"]): Workspaces["Service"] => {
  const base = basePath(home.issuer)
  const probes = new Set(["/healthz", "/readyz"].map((path) => base + path))
  const resolve = (request: HttpRequest) => below.resolve(request) ?? (probes.has(request.path) ? home : undefined)
  return { ...below, resolve }
}

const one = (home: Workspace) =>
  Layer.merge(
    Workspaces.layerOne(home),
    Layer.succeed(Hosted, {
      each: (act) => act(home),
      find: (id) => Effect.succeed(id === home.id ? home : undefined),
      warm: Effect.void,
      follow: Effect.never
    })
  )

/** A file in a container is often a link that is replaced, of which no system tells: so it is looked at. */
const lookEvery = "5 seconds"

const stampOf = (path: string): Effect.Effect<string | undefined> =>
  Effect.promise(() =>
    stat(path, { bigint: true }).then(
      ({ dev, ino, mtimeNs, size }) => `${dev}:${ino}:${mtimeNs}:${size}`,
      () => undefined
    )
  )

const tell = ({ added, changed, removed }: TableChanges) =>
  Effect.logInfo("the workspaces changed", { added, changed, removed })

const ofFile = (home: Workspace, path: string) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const table = new WorkspaceTable()
      let stamp = yield* stampOf(path)
      const first = workspacesOfFile(home, path)
      if (Result.isFailure(first)) return yield* new WrongSettings({ complaints: first.failure })
      table.replaceAll(first.success)
      const replaceBy = (workspaces: ReadonlyArray<Workspace>) =>
        Result.match(table.replaceAll(workspaces), {
          // The reader of the file has seen to it.
          onFailure: Effect.die,
          onSuccess: tell
        })

      const look = Effect.gen(function* () {
        const now = yield* stampOf(path)
        if (now === stamp) return
        stamp = now
        const read = workspacesOfFile(home, path)
        yield* Result.isSuccess(read)
          ? replaceBy(read.success)
          : Effect.logError("the workspaces stay as they were, for the file cannot be used", {
              complaints: read.failure
            })
      })
      return Layer.merge(
        Layer.succeed(Workspaces, answeringProbes(home, resolverOf(table))),
        Layer.succeed(Hosted, {
          each: (act) => Effect.forEach([...table.values()], act, { discard: true }),
          find: (id) => Effect.succeed(table.get(id)),
          warm: Effect.void,
          follow: Effect.andThen(Effect.repeat(look, Schedule.spaced(lookEvery)), Effect.never)
        })
      )
    })
  )

const ofStore = (home: Workspace, staleness: number) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const hosting = makeHosting(yield* Storage, yield* Entropy)
      const { host, path } = addressOf(home)
      // That of `BASE_URL` stands among those of the store, so that theirs are found below it.
      const withHome = (address: string, at: FoundAt): FoundAt => ({
        workspace: address === host + path ? home : at.workspace,
        deepest: address === host ? Math.max(at.deepest, depthOf(path)) : at.deepest
      })
      const found = makeFoundWorkspaces({
        clock: yield* Clock.Clock,
        staleness,
        look: (address, known) =>
          Effect.map(hosting.at(address, known === home ? undefined : known), (at) => withHome(address, at))
      })
      const isHosted = (workspace: Workspace) => hostingProblem(home, workspace) === undefined
      return Layer.merge(
        Layer.succeed(Workspaces, answeringProbes(home, found)),
        Layer.succeed(Hosted, {
          each: (act) =>
            Effect.andThen(
              act(home),
              forEachItem(hosting.list, (workspace) => (isHosted(workspace) ? act(workspace) : Effect.void))
            ),
          find: (id) => (id === home.id ? Effect.succeed(home) : hosting.find(id)),
          warm: Effect.gen(function* () {
            const all = [home]
            yield* forEachItem(hosting.list, (workspace) =>
              Effect.sync(() => void (all.length < workspacesKept / 2 && isHosted(workspace) && all.push(workspace)))
            )
            found.learn(all)
          }),
          follow: Effect.never,
          hosting
        })
      )
    })
  )

/** Which workspaces a server has, as its settings say. */
export const hostedBy = ({
  hosting,
  policy,
  workspace
}: Pick<Settings, "hosting" | "policy" | "workspace">): Layer.Layer<
  Hosted | Workspaces,
  WrongSettings,
  Storage | Entropy
> => {
  switch (hosting._tag) {
    case "One":
      return one(workspace)
    case "File":
      return ofFile(workspace, hosting.path)
    case "Store":
      return ofStore(workspace, policy.clientStaleness)
  }
}
