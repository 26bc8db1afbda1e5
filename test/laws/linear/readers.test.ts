import { expect, test } from "bun:test"
import { jsonText } from "../../../adapters/documents/Answer.ts"
import { DocumentAddress } from "../../../core/client/ClientIdentifier.ts"
import { clientMembers } from "../../../core/client/members.ts"
import { readDocument } from "../../../core/client/metadataDocument.ts"
import { readJws } from "../../../core/codec/Jws.ts"
import { clientAuths } from "../../../core/oauth/clients/table.ts"
import { grantTypes } from "../../../core/oauth/grants/table.ts"
import { addressOf, checkProof } from "../../../core/oauth/presented/dpop.ts"
import { browserOf } from "../../../core/people/browserOf.ts"
import { readClaims } from "../../../core/rules/Claims.ts"
import { Instant } from "../../../core/rules/Instant.ts"
import { standardPolicy } from "../../../core/rules/Policy.ts"
import { makeDice } from "../../../core/testing/Dice.ts"
import { readTraceparent } from "../../../runtimes/observe/otlp/tracing.ts"
import * as peer from "../../../runtimes/serve/peer.ts"
import * as request from "../../../runtimes/serve/request.ts"
import type { Shot } from "../../attacks/Mutation.ts"
import { arrange, requestOf } from "../../attacks/shots.ts"
import { wholeServer } from "../../attacks/wholeServer.ts"
import { documentMembers } from "../../given/documentsWeb.ts"
import { patience, runs, seed } from "../runs.ts"

/** What readers stop at, skip, unescape or nest. */
const pumps = [
  ...[
    " ",
    "\t",
    ";",
    "; ",
    "=",
    ",",
    ", ",
    "&",
    "%",
    "%20",
    "%2",
    "+",
    "/",
    "/.",
    "/%2e",
    ".",
    ":",
    "@",
    "?",
    "#",
    "\\"
  ],
  ...[
    '"',
    "'",
    "<",
    "{",
    "[",
    '{"a":',
    "[[",
    "a",
    "a.",
    "A-",
    "0",
    "1:",
    "=a;",
    "a=",
    "\u00e9",
    "\u0301",
    "\u2028",
    "x y"
  ]
] as const

/** What stands around the many: a reader that hoped for the start or the end of a text looks again. */
const ends = ["", "x", "=", "\u0001"] as const

interface Shape {
  readonly head: string
  readonly pump: string
  readonly tail: string
}

// The largest is within all limits: that of a cookie header is 16 KiB.
const small = 3750
const large = 4 * small

type Place = (text: string) => Shot

const withHeader = (shot: Shot, name: string, value: string): Shot => ({
  ...shot,
  headers: { ...shot.headers, [name]: value }
})

const isForm = ({ headers }: Shot) => headers["content-type"]?.startsWith("application/x-www-form-urlencoded") === true
const isJson = ({ headers }: Shot) => headers["content-type"] === "application/json"

/** `a=b&c=d` with another value, or another pair, in turn. */
const pairsOf = (text: string): ReadonlyArray<(value: string) => string> => {
  const pairs = text === "" ? [] : text.split("&")
  return [
    ...pairs.map((pair, index) => (value: string) => {
      const name = pair.split("=", 1)[0] ?? ""
      return pairs.with(index, `${name}=${value}`).join("&")
    }),
    (value) => [...pairs, value].join("&"),
    (value) => [...pairs, `${value}=1`].join("&")
  ]
}

const jsonPlaces = (shot: Shot): ReadonlyArray<Place> => {
  const fields: Readonly<Record<string, unknown>> = JSON.parse(shot.body)
  return Object.entries(fields).map(([name, before]) => (text) => ({
    ...shot,
    body: JSON.stringify({ ...fields, [name]: Array.isArray(before) ? [text] : text })
  }))
}

/** Everywhere in a request that is right where a stranger can put a text, headers that the server asks for among them. */
const placesOf = (shot: Shot, asked: ReadonlySet<string>): ReadonlyArray<readonly [name: string, place: Place]> => {
  const [path = "", query = ""] = shot.target.split("?", 2)
  const { cookie = "" } = shot.headers
  return [
    ["path", (text) => ({ ...shot, target: `${path}${text.replaceAll("?", "/")}` })],
    ...pairsOf(query).map(
      (write) => ["query", (text: string) => ({ ...shot, target: `${path}?${write(text)}` })] as const
    ),
    ...[...asked].map((name) => [`header ${name}`, (text: string) => withHeader(shot, name, text)] as const),
    ["cookie", (text) => withHeader(shot, "cookie", `${cookie}; ${text}; a=b`)],
    ["authorization", (text) => withHeader(shot, "authorization", `Bearer ${text}`)],
    ["authorization", (text) => withHeader(shot, "authorization", `Basic ${text}`)],
    ...(shot.method === "GET" ? [] : [["body", (text: string) => ({ ...shot, body: text })] as const]),
    ...(isForm(shot)
      ? pairsOf(shot.body).map((write) => ["form", (text: string) => ({ ...shot, body: write(text) })] as const)
      : []),
    ...(isJson(shot) ? jsonPlaces(shot).map((place) => ["json", place] as const) : [])
  ]
}

const processorMillis = async (work: () => Promise<unknown>): Promise<number> => {
  const before = process.cpuUsage()
  await work()
  const { system, user } = process.cpuUsage(before)
  return (user + system) / 1000
}

/** Below it a growth is the machine's noise; what grows by the square is far beyond it in a text this long. */
const noise = 10

/** The least of several times, or the first that is below `enough`, where a smaller one would change nothing. */
const least = async (times: number, work: () => Promise<unknown>, enough = 0): Promise<number> => {
  let found = Number.POSITIVE_INFINITY
  for (let time = 0; time < times && found >= enough; time++) found = Math.min(found, await processorMillis(work))
  return found
}

/** Four times as much text is to take about four times as long, and not sixteen. A busy machine is asked often. */
const isSteep = async (send: (text: string) => Promise<unknown>, { head, pump, tail }: Shape): Promise<boolean> => {
  const textOf = (length: number) => head + pump.repeat(length / pump.length) + tail
  const [short, long] = [textOf(small), textOf(large)]
  for (let time = 0; time < 12; time++) {
    const cost = await least(2, () => send(long), noise)
    if (cost < noise || cost < 8 * (await least(2, () => send(short)))) return false
  }
  return true
}

test(
  "no reader takes the square of what it is given",
  async () => {
    const server = wholeServer("linear")
    const { accounts, tessera } = await server.runtime.runPromise(server.services)
    const asked = new Set<string>()
    const send = (shot: Shot) => {
      const request = requestOf(shot)
      const headers = {
        get: (name: string) => {
          asked.add(name)
          return request.headers.get(name)
        }
      }
      return server.runtime.runPromise(tessera.handle({ ...request, headers }))
    }
    const shots = [...(await server.runtime.runPromise(arrange(tessera, accounts)))].flatMap(([, of]) => of)
    for (const shot of shots) await send(shot)

    const paths = shots.map(({ target }) => target.split("?", 1)[0] ?? "")
    const targets = [...paths, ...paths.map((path) => path.replace(/^\/~\/[\w-]+/, ""))]
    const untried = tessera.routes.filter(({ match, path }) =>
      targets.every((target) => (match === "exact" ? target !== path : !target.startsWith(path)))
    )
    expect(untried.map(({ path }) => path)).toEqual([])

    const dice = makeDice(seed)
    const steep: Array<string> = []
    const each = Math.ceil(runs / 50)
    for (const shot of shots) {
      for (const [name, place] of placesOf(shot, asked)) {
        for (let draw = 0; draw < each; draw++) {
          const shape = { head: dice.pick(ends), pump: dice.pick(pumps), tail: dice.pick(ends) }
          if (await isSteep((text) => send(place(text)), shape)) {
            steep.push(
              `${shot.method} ${shot.target.slice(0, 60)} ${name} of ${JSON.stringify(shape)}, TESSERA_SEED=${seed}`
            )
          }
        }
      }
    }
    await server.runtime.dispose()
    expect(steep).toEqual([])
    expect([...asked]).toContain("cookie")
  },
  patience
)

type Reader = (text: string) => unknown

const none = "none"

const many = (text: string) =>
  Object.fromEntries(Array.from({ length: text.length / 8 }, (_, at) => [`${text[0]}${at}`, null]))

const expected = { method: "GET", address: "https://auth.example.com/", now: Instant.make(0), token: "x" }

/** A DPoP header with this text as its claims' address, its id and its key. */
const readDpop = (text: string) => {
  const jwk = { kty: "EC", crv: "P-256", x: text, y: text }
  const claims = { htm: "GET", htu: `https://${text}`, jti: text, iat: 0, ath: text }
  const jws = { text: `${text}.x.x`, header: { typ: "dpop+jwt", alg: "ES256", jwk }, claims }
  return [checkProof(jws, expected), addressOf(text), addressOf(`https://host/${text}`)]
}

/**
 * What the runtimes read before the core does, by the names of their modules: a new name is a reader, or says `none`. And
 * readers of texts that no request above brings.
 */
const runtimeReaders = [
  {
    module: request,
    readers: {
      webHeaders: none,
      nodeHeaders: none,
      readTarget: (text: string) => request.readTarget(`/${text}`),
      unreadTarget: request.unreadTarget,
      isWinding: request.isWinding,
      targetOf: (text: string) => request.targetOf(`http://host/${text}`),
      pathOf: (text: string) => request.pathOf(`http://host/${text}`),
      bodyLimit: none,
      tooLarge: none,
      unreadable: none,
      readBefore: none
    }
  },
  {
    // Of the core, where a server without signatures asks for no proof.
    module: { readJws, readDpop },
    readers: { readJws: (text: string) => readJws(`${text}.${text}.x`), readDpop }
  },
  {
    module: { readTraceparent },
    readers: { readTraceparent }
  },
  { module: { browserOf }, readers: { browserOf } },
  {
    module: { readClaims, namesInClaims: readClaims },
    readers: {
      readClaims,
      namesInClaims: (text: string) => readClaims(JSON.stringify({ id_token: many(text), userinfo: many(text) }))
    }
  },
  {
    module: peer,
    readers: {
      noProxies: none,
      trustedProxiesExpected: none,
      parseTrustedProxies: peer.parseTrustedProxies,
      peerOf: (text: string) => peer.peerOf("192.0.2.1", text, { has: () => true })
    }
  }
] as const satisfies ReadonlyArray<{ module: object; readers: Readonly<Record<string, Reader | typeof none>> }>

test("nor does a reader of the runtimes, each of which is here", async () => {
  for (const { module, readers } of runtimeReaders) {
    expect(Object.keys(readers).toSorted()).toEqual(Object.keys(module).toSorted())
    for (const [name, read] of Object.entries<Reader | typeof none>(readers)) {
      if (read === none) continue
      for (const pump of pumps) {
        for (const head of ends) {
          for (const tail of ends) {
            const shape = { head, pump, tail }
            const steep = await isSteep(async (text) => read(text), shape)
            expect({ name, shape, steep }).toEqual({ name, shape, steep: false })
          }
        }
      }
    }
  }
})

const tables = {
  clientAuths: new Map(clientAuths.map((row) => [row.name, row])),
  clientMembers,
  grantTypes: new Map(grantTypes.map((row) => [row.name, row]))
}

const address = DocumentAddress.make("https://app.example.org/client.json")

const readAsDocument = (body: string) =>
  readDocument(tables, address, { body, fetchedAt: Instant.make(0), freshUntil: Instant.make(1) }, standardPolicy)

/** A text where a metadata document has one, which strangers write. */
const documentReaders: Readonly<Record<string, Reader>> = {
  body: (text) => jsonText(Buffer.from(text)) ?? readAsDocument(text),
  ...Object.fromEntries(
    [
      "client_id",
      "client_name",
      "client_uri",
      "scope",
      "token_endpoint_auth_method",
      "jwks_uri",
      "security_profile"
    ].map((name) => [
      name,
      (text: string) => readAsDocument(JSON.stringify({ client_id: address, ...documentMembers, [name]: text }))
    ])
  ),
  ...Object.fromEntries(
    ["redirect_uris", "grant_types", "contacts", "token_endpoint_auth_methods_supported"].map((name) => [
      `${name}, of one`,
      (text: string) => readAsDocument(JSON.stringify({ client_id: address, ...documentMembers, [name]: [text] }))
    ])
  )
}

/** As many as the text has letters, whatever they are. */
const readersOfMany: Readonly<Record<string, Reader>> = {
  redirect_uris: (text) => {
    const redirectUris = Array.from(text, (_, at) => `https://a.example/${at}`)
    return readAsDocument(JSON.stringify({ client_id: address, ...documentMembers, redirect_uris: redirectUris }))
  },
  members: (text) =>
    readAsDocument(
      JSON.stringify({ client_id: address, ...documentMembers, ...Object.fromEntries([...text].entries()) })
    )
}

test("nor does the reader of metadata documents", async () => {
  for (const [name, read] of Object.entries(documentReaders)) {
    for (const pump of pumps) {
      for (const head of ends) {
        const shape = { head, pump, tail: "x" }
        const steep = await isSteep(async (text) => read(text), shape)
        expect({ name, shape, steep }).toEqual({ name, shape, steep: false })
      }
    }
  }
  for (const [name, read] of Object.entries(readersOfMany)) {
    const steep = await isSteep(async (text) => read(text), { head: "", pump: "a", tail: "" })
    expect({ name, steep }).toEqual({ name, steep: false })
  }
})
