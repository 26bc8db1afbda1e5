import type { BlockHost, Publish, Step } from "../script/Command.ts"
import { redirectsNamed } from "../script/redirectText.ts"
import { silently } from "./pass.ts"
import type { Alternative, Facts } from "./Rule.ts"
import {
  allDead,
  type Client,
  type ClientDocument,
  type Copy,
  mayBeForgotten,
  type Reading,
  type State,
  withClient,
  withPage
} from "./State.ts"
import { clocksApart, documentKept, documentRest, documentStale } from "./World.ts"

interface Read {
  readonly document: ClientDocument
  readonly reading: Reading
}

export const isCopy = (reading: Reading | null | undefined): reading is Copy =>
  typeof reading === "object" && reading !== null

/** Where a client may have browsers sent, by what came of reading its document: nowhere, where its host is blocked. */
export const redirectsOf = ({ document, redirects }: Client, reading: Reading | undefined): ReadonlyArray<string> =>
  document === undefined ? redirects : isCopy(reading) ? reading.names : []

/** Client ID Metadata Document §5.2: what was read counts until its end, and what is of no use is not kept. */
const readAnew = ({ redirects }: Client, document: ClientDocument, now: number): Read => {
  const { copy, says } = document
  if (copy !== null && now < copy.until) return { document, reading: copy }
  if (says === "nothing" || says === "no client") return { document, reading: says }
  const fresh: Copy = { names: redirectsNamed(redirects, says) ?? [], until: now + documentKept }
  return { document: { ...document, copy: fresh }, reading: fresh }
}

/**
 * Issue 24: what people let a client have does not end with its document, but a while later; until then it goes on as it
 * was. Whether a host that gave nothing is asked again at once is the server's choice.
 */
const readToProve = (state: State, client: Client, document: ClientDocument): ReadonlyArray<Read> => {
  const { now } = state
  const { record, restsUntil } = document
  const anew = readAnew(client, document, now)
  if (record === null) return [anew]
  if (now < record.until) return [{ document, reading: record }]
  const rests = now < restsUntil
  const isStale = now < record.until + documentStale
  const asked: Read = isCopy(anew.reading)
    ? { document: { ...anew.document, record: anew.reading }, reading: anew.reading }
    : {
        document: rests ? document : { ...document, restsUntil: now + documentRest },
        reading: isStale ? record : anew.reading
      }
  const unasked: ReadonlyArray<Reading> = isStale ? [record] : ["nothing", "no client"]
  return [
    asked,
    ...(rests ? unasked.map((reading) => ({ document, reading })) : []),
    ...(mayBeForgotten(state, client) ? [{ ...anew, document: { ...anew.document, record: null } }] : [])
  ]
}

/** The client whose document a request is about. A no is about none: nothing is asked for it. */
const askedAbout = ({ clients, keys, pages }: State, step: Step): Client | undefined => {
  if (step._tag === "Authorize") return step.twice === "client_id" ? undefined : clients.get(step.client)
  if (step._tag === "Decide") {
    const page = pages.get(step.page)
    const isRead = step.decision === "approve" && step.by === "viewer" && page !== undefined && keys.includes(page.key)
    return isRead ? clients.get(page.client) : undefined
  }
  return "proof" in step && step.proof !== "wrong" ? clients.get("by" in step ? step.by : step.client) : undefined
}

/** What may come of reading the document that a request is about, which is first of all; nothing, where it is about none. */
export const readingsOf = (
  { state }: Pick<Facts, "state">,
  step: Step
): ReadonlyArray<Pick<Facts, "state" | "reading">> => {
  const client = askedAbout(state, step)
  const before = client?.document
  if (client === undefined || before === undefined || before.isBlocked) return [{ state }]
  const read = "proof" in step ? readToProve(state, client, before) : [readAnew(client, before, state.now)]
  const reads = read.map(({ document, reading }) => ({
    state: document === before ? state : withClient(state, { ...client, document }),
    reading
  }))
  // A page may be about a client that ended, of which nothing is known.
  const isForgotten = before.record !== null && mayBeForgotten(state, client)
  const isOutlived = step._tag === "Decide" && (state.pages.get(step.page)?.isOutlived === true || isForgotten)
  return isOutlived ? [...reads, { state }] : reads
}

/** Pages are about the client as it was, whichever comes from there since. */
const outlived = (state: State, { ref }: Client): State =>
  [...state.pages.values()]
    .filter(({ client }) => client === ref)
    .reduce((before, page) => withPage(before, { ...page, isOutlived: true }), state)

/** A person lets a client in: what was read of its document is kept with it. One that was forgotten begins anew. */
export const lettingIn = (state: State, client: Client): ReadonlyArray<State> => {
  const { document } = client
  if (document === undefined) return [withClient(state, client)]
  const known = { ...client, document: { ...document, record: document.copy } }
  const isNew = client.hasCompletedAFlow && mayBeForgotten(state, client)
  const anew = isNew ? [withClient(outlived(state, client), { ...known, hasCompletedAFlow: false })] : []
  return [withClient(state, known), ...anew]
}

export const publish = ({ state }: Facts, { client: ref, says }: Publish): ReadonlyArray<Alternative> => {
  const client = state.clients.get(ref)
  const changed =
    client?.document === undefined ? state : withClient(state, { ...client, document: { ...client.document, says } })
  return silently("a document is another one", { ...changed, now: state.now + 1 })
}

/** Issue 24: all ends that was let in from there, and nothing comes in behind it. */
const blocked = (state: State, client: Client, document: ClientDocument): State => {
  const grants = [...state.grants.values()].filter((grant) => grant.client === client.ref && grant.death === null)
  const gone = { ...client, hasCompletedAFlow: false, document: { ...document, record: null, isBlocked: true } }
  return withClient(outlived(allDead(state, grants, "host blocked"), client), gone)
}

export const blockHost = ({ state }: Facts, { blocks, client: ref }: BlockHost): ReadonlyArray<Alternative> => {
  const client = state.clients.get(ref)
  const document = client?.document
  const passed = blocks ? state : { ...state, now: state.now + clocksApart + 1 }
  if (client === undefined || document === undefined) return silently("a host that no client is from", passed)
  return blocks
    ? silently("a ban of a host ends what its clients have", blocked(state, client, document))
    : silently(
        "a ban that is taken back lets others in",
        withClient(passed, { ...client, document: { ...document, isBlocked: false } })
      )
}
