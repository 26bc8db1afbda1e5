import { Effect, Equal, Schema } from "effect"
import { base64Url } from "../codec/Base64Url.ts"
import { answer, answerAndKeep, type Decision, refuse } from "../grant/Decision.ts"
import type { Entropy } from "../ports/Entropy.ts"
import type { Slice, Storage, StorageUnavailable } from "../ports/Storage.ts"
import { digestOf } from "../rules/Secret.ts"
import { type Issuer, Workspace, WorkspaceId } from "../workspace/Workspace.ts"
import { addressOf, depthOf } from "../workspace/WorkspaceTable.ts"
import { moveWorkspace } from "./Openings.ts"
import { type Listed, makeRecords, type RecordKind } from "./Records.ts"
import { transactOrFail, type WriteFault } from "./transact.ts"

/**
 * What the store says of workspaces that are hosted in it. Two records say where one is found: its own, and one of its
 * address. It is there only where both agree, so no two workspaces have one address however many processes add them.
 */
const Hosted = Schema.TaggedUnion({
  Workspace: { workspace: Workspace },
  Address: {
    /** Host and path, without a scheme. */
    at: Schema.String,
    /** Whose it is; `null` for a host that only has workspaces below it, and for an address that was given up. */
    workspace: Schema.NullOr(WorkspaceId),
    /** The segments of the longest path below a host, so that no request looks further. */
    deepest: Schema.Int,
    /** Another with each taking, so that what was judged and what is replaced are one. */
    taking: Schema.String
  }
})
type Hosted = typeof Hosted.Type
type HostedWorkspace = typeof Hosted.cases.Workspace.Type
type HostedAddress = typeof Hosted.cases.Address.Type

// A space is in no workspace's id: these lie beside what `Openings` keeps of a workspace with the registry's own name.
const idOf = (id: WorkspaceId): string => `is ${id}`
const idAt = (at: string): string => `at ${digestOf(at)}`

const workspacesOwner = "hosted"

/** It stands in the table of workspaces, in lists of its own. */
export const hostedKind: RecordKind<Hosted> = {
  kind: "workspace",
  schema: Hosted,
  version: 1,
  upcast: [],
  id: (hosted) => (hosted._tag === "Workspace" ? idOf(hosted.workspace.id) : idAt(hosted.at)),
  owner: ({ _tag }) => (_tag === "Workspace" ? workspacesOwner : "addresses"),
  expiresAt: () => null
}

/** Where these records lie, whatever workspaces there are. */
export const registry = WorkspaceId.make("tessera-hosted")

/** The store has another workspace with this id or at this address, or none. Nothing was changed. */
export class HostingRefused extends Schema.TaggedError<HostingRefused>()("HostingRefused", {
  reason: Schema.Literals(["id_taken", "address_taken", "unknown"]),
  workspace: Schema.String
}) {}

/** What is found at an address. */
export interface FoundAt {
  readonly workspace: Workspace | undefined
  /** Of a host: the segments of the longest path below it. */
  readonly deepest: number
}

/** The workspaces that the store has beside those that a process is started with. */
export interface Hosting {
  readonly find: (id: WorkspaceId) => Effect.Effect<Workspace | undefined, StorageUnavailable>
  readonly list: (slice: Slice) => Effect.Effect<Listed<Workspace>, StorageUnavailable>
  /** What is at an address, host and path. `known`: the one that was there when it was last asked. */
  readonly at: (address: string, known?: Workspace) => Effect.Effect<FoundAt, StorageUnavailable>
  /** `present`: it was there under this issuer, as after an answer of the store that was lost. Nothing else was changed. */
  readonly add: (workspace: Workspace) => Effect.Effect<"added" | "present", HostingRefused | WriteFault>
  /** Changes what it is configured with; its id and issuer stay. */
  readonly change: (
    id: WorkspaceId,
    change: (workspace: Workspace) => Workspace
  ) => Effect.Effect<Workspace, HostingRefused | WriteFault>
  /** To another issuer, from which on nothing that the former one sealed opens. Answers the former one. */
  readonly move: (id: WorkspaceId, to: Issuer) => Effect.Effect<Issuer, HostingRefused | WriteFault>
}

/** No workspace is at the address, or below it. */
export const nothingThere: FoundAt = { workspace: undefined, deepest: 0 }

const textOf = (workspace: Pick<Workspace, "issuer">): string => {
  const { host, path } = addressOf(workspace)
  return host + path
}

const takingLength = 9

export const makeHosting = (storage: Storage["Service"], entropy: Entropy["Service"]): Hosting => {
  const records = makeRecords(storage, hostedKind)

  const find: Hosting["find"] = (id) =>
    Effect.map(records.get(registry, idOf(id)), (kept) =>
      kept?.value._tag === "Workspace" ? kept.value.workspace : undefined
    )

  const addressAt = (at: string): Effect.Effect<HostedAddress | undefined, StorageUnavailable> =>
    Effect.map(records.get(registry, idAt(at)), (kept) => (kept?.value._tag === "Address" ? kept.value : undefined))

  const decided = <A, E>(id: string, decide: (found: Hosted | undefined) => Decision<A, E, Hosted>) =>
    transactOrFail(records, entropy, registry, id, decide)

  const holderOf = ({ at, workspace }: HostedAddress) =>
    workspace === null
      ? Effect.succeed(undefined)
      : Effect.map(find(workspace), (found) => (found !== undefined && textOf(found) === at ? found : undefined))

  const at: Hosting["at"] = Effect.fnUntraced(function* (address, known) {
    if (known !== undefined) {
      const [again, found] = yield* Effect.all([find(known.id), addressAt(address)], { concurrency: 2 })
      if (again?.issuer === known.issuer && found?.workspace === known.id) {
        // The same as before is given back as it was, since caches know it by that.
        return { workspace: Equal.equals(again, known) ? known : again, deepest: found.deepest }
      }
    }
    const found = yield* addressAt(address)
    return found === undefined ? nothingThere : { workspace: yield* holderOf(found), deepest: found.deepest }
  })

  const newTaking = () => base64Url(entropy.bytes(takingLength))

  /** `judged`: what the address said when no other workspace held it. Unchanged since, it is free. */
  const take = (id: WorkspaceId, address: string, judged: HostedAddress | undefined) =>
    decided(idAt(address), (found): Decision<void, HostingRefused, Hosted> => {
      const known = found?._tag === "Address" ? found : undefined
      const isFree =
        known === undefined || known.workspace === null || known.workspace === id || Equal.equals(known, judged)
      if (!isFree) return refuse(new HostingRefused({ reason: "address_taken", workspace: id }))
      const next = { at: address, workspace: id, deepest: known?.deepest ?? 0, taking: newTaking() }
      return answerAndKeep<void, Hosted>({ _tag: "Address", ...next }, undefined)
    })

  /** Before anything is at a path: a look at the host has to know that there may be. */
  const deepen = (host: string, depth: number) =>
    decided(idAt(host), (found): Decision<void, never, Hosted> => {
      const known =
        found?._tag === "Address"
          ? found
          : ({ _tag: "Address", at: host, workspace: null, deepest: 0, taking: newTaking() } as const)
      return known.deepest >= depth ? answer(undefined) : answerAndKeep({ ...known, deepest: depth }, undefined)
    })

  const claim = Effect.fnUntraced(function* (workspace: Pick<Workspace, "id" | "issuer">) {
    const { host, path } = addressOf(workspace)
    if (path !== "") yield* deepen(host, depthOf(path))
    const there = yield* addressAt(host + path)
    const holder = there === undefined ? undefined : yield* holderOf(there)
    if (holder !== undefined && holder.id !== workspace.id) {
      return yield* new HostingRefused({ reason: "address_taken", workspace: workspace.id })
    }
    yield* take(workspace.id, host + path, there)
  })

  const giveUp = (id: WorkspaceId, address: string) =>
    decided(
      idAt(address),
      (found): Decision<void, never, Hosted> =>
        found?._tag === "Address" && found.workspace === id
          ? answerAndKeep<void, Hosted>({ ...found, workspace: null, taking: newTaking() }, undefined)
          : answer(undefined)
    )

  const changed = <E>(id: WorkspaceId, next: (found: HostedWorkspace) => Decision<Workspace, E, Hosted>) =>
    decided(
      idOf(id),
      (found): Decision<Workspace, E | HostingRefused, Hosted> =>
        found?._tag === "Workspace" ? next(found) : refuse(new HostingRefused({ reason: "unknown", workspace: id }))
    )

  const change: Hosting["change"] = (id, change) =>
    changed(id, ({ workspace }) => {
      const next = { ...change(workspace), id: workspace.id, issuer: workspace.issuer }
      return answerAndKeep<Workspace, Hosted>({ _tag: "Workspace", workspace: next }, next)
    })

  const issue = (id: WorkspaceId, issuer: Issuer) =>
    changed(id, ({ workspace }) =>
      answerAndKeep<Workspace, Hosted>({ _tag: "Workspace", workspace: { ...workspace, issuer } }, workspace)
    )

  const add: Hosting["add"] = Effect.fn("engine.addWorkspace")(function* (workspace) {
    const { id } = workspace
    // First its own record, so that a look at the address sees a holder that is there.
    const outcome = yield* decided(idOf(id), (found): Decision<"added" | "present", HostingRefused, Hosted> => {
      if (found?._tag !== "Workspace") return answerAndKeep<"added", Hosted>({ _tag: "Workspace", workspace }, "added")
      return found.workspace.issuer === workspace.issuer
        ? answer("present")
        : refuse(new HostingRefused({ reason: "id_taken", workspace: id }))
    })
    yield* Effect.tapErrorTag(claim(workspace), "HostingRefused", () =>
      outcome === "added" ? records.remove(registry, idOf(id)) : Effect.void
    )
    return outcome
  })

  const move: Hosting["move"] = Effect.fn("engine.moveWorkspace")(function* (id, to) {
    const before = yield* find(id)
    if (before === undefined) return yield* new HostingRefused({ reason: "unknown", workspace: id })
    if (before.issuer === to) {
      yield* claim(before)
      return to
    }
    const after = { ...before, issuer: to }
    yield* claim(after)
    yield* issue(id, to)
    // Another process may have judged the address before this workspace was to be found there.
    yield* Effect.tapErrorTag(claim(after), "HostingRefused", () => issue(id, before.issuer))
    yield* moveWorkspace({ storage, entropy }, id, to)
    yield* giveUp(id, textOf(before))
    return before.issuer
  })

  const list: Hosting["list"] = (slice) =>
    Effect.map(records.list(registry, workspacesOwner, slice), ({ next, values }) => ({
      values: values.flatMap((value) => (value._tag === "Workspace" ? [value.workspace] : [])),
      next
    }))

  return { find, list, at, add, change, move }
}
