import { dirname, relative } from "node:path"

/**
 * Which parts of the core may import which, themselves aside: the arrow goes one way. A key is a folder or a file. A new
 * folder of the core gets a line here, and `npm run arrow` writes the linter's rules from it.
 */
const codec = ["core/codec"]
const cache = ["core/cache"]
const rules = [...codec, "core/rules"]
const workspace = [...rules, "core/workspace"]
const token = [...workspace, ...cache, "core/grant/Binding.ts", "core/token"]
// What a row of the tables is, which the rooms below the tables know as a type; and how a token is borne.
const kindsOfRow = [
  "core/oauth/clients/ClientAuth.ts",
  "core/oauth/presented/Presentation.ts",
  "core/oauth/presented/bearer.ts"
]
const client = [...token, ...kindsOfRow, "core/client"]
const grant = [...client, "core/grant"]
const pages = [...workspace, ...cache, "core/http/Http.ts", "core/pages"]
const ports = [...grant, ...pages, "core/ports"]
/** Who lists rows of a table refuses two of one name. */
const rows = ["core/oauth/rowsByName.ts"]
// A row is read and refused by the same values as an endpoint.
const form = [...rules, "core/http/Http.ts", "core/http/form.ts"]
const fault = [...ports, "core/http/Fault.ts"]
const grants = [...fault, ...form, ...rows, "core/oauth/grants"]
const engine = [...ports, ...grants, "core/engine"]
const limits = [...engine, "core/limits"]
const aggregate = [...engine, "core/request/AuthorizationRequest.ts"]
const http = [...limits, ...aggregate, "core/http"]
const request = [...http, ...rows, "core/request"]
const clients = [...request, "core/oauth/clients"]
const presented = [...request, "core/oauth/presented"]
const openapi = [...http, "core/openapi"]
const endpoints = [...clients, ...presented, ...openapi, "core/oauth/endpoints"]
// The sign-in page reads what its return address asks of it.
const people = [...http, "core/request/signInAsked.ts", "core/people"]

/** What composes the core, and what proves it, may import all of it. */
const everything = "core"

export const arrow: Readonly<Record<string, ReadonlyArray<string>>> = {
  "core/codec": codec,
  "core/cache": cache,
  "core/rules": rules,
  "core/workspace": workspace,
  "core/token": token,
  "core/client": client,
  "core/grant": grant,
  "core/grant/Binding.ts": rules,
  "core/ports": ports,
  "core/pages": pages,
  "core/engine": engine,
  "core/limits": limits,
  "core/http": http,
  "core/http/Http.ts": [],
  "core/http/form.ts": form,
  "core/http/Fault.ts": fault,
  "core/request": request,
  "core/request/AuthorizationRequest.ts": aggregate,
  "core/openapi": openapi,
  "core/oauth": rows,
  "core/oauth/grants": grants,
  "core/oauth/clients": clients,
  "core/oauth/presented": presented,
  "core/oauth/clients/ClientAuth.ts": [...client, "core/http/form.ts", "core/http/Http.ts", "core/ports"],
  "core/oauth/presented/Presentation.ts": [...grant, "core/http/Http.ts", "core/ports"],
  "core/oauth/presented/bearer.ts": [...grant, "core/http/Http.ts", "core/ports"],
  "core/oauth/endpoints": endpoints,
  "core/people": people,
  "core/settings": [...people, "core/request/rememberedConsent.ts", "core/settings"],
  "core/testing": [everything],
  core: [everything]
}

/** The packages that one place alone may import, by that place. */
export const drivers: Readonly<Record<string, ReadonlyArray<string>>> = {
  "adapters/jose": ["jose"],
  "adapters/postgres": ["postgres"],
  "adapters/redis": ["ioredis"],
  "adapters/sqlite": ["bun:sqlite", "node:sqlite"],
  "runtimes/elysia.ts": ["elysia"]
}

/** The modules of `effect` whose authors may still change every symbol: an adapter may use them, the core may not. */
const unstable = "effect/{http,http-api,sql,crypto,persistence,cli,schema,rpc,observability,cluster,workflow,ai}"

const plain = ["!effect", "!effect/**", "!@noble/hashes/**"]
const platform = ["!node:*", "!node:*/**", "!bun", "!bun:*"]

/** Names that reach for a clock, for randomness, for the outside or for the platform. */
const ambient = [
  "Date",
  "process",
  "Bun",
  "Deno",
  "crypto",
  "globalThis",
  "window",
  "self",
  "performance",
  "console",
  "fetch",
  "Buffer",
  "setTimeout",
  "setInterval",
  "setImmediate",
  "queueMicrotask",
  "require",
  "__dirname",
  "__filename"
]

/** The default layer of the core's own port takes randomness from the platform. */
const platformRandomness = "core/ports/Entropy.ts"

/** An endpoint that answers a form of ours has no contract; the others read their parameters by one. */
const withoutContract = [
  "core/oauth/endpoints/consent.ts",
  "core/oauth/endpoints/consentElsewhere.ts",
  "core/oauth/endpoints/device.ts"
]

type Rules = Readonly<Record<string, unknown>>

const under = (place: string) => (isFile(place) ? [place] : [`${place}/**`])

const style = (includes: ReadonlyArray<string>, rules: Rules) => ({ includes, linter: { rules: { style: rules } } })

const only = (message: string, group: ReadonlyArray<string>, paths: Rules = {}) => ({
  noRestrictedImports: { level: "error", options: { paths, patterns: [{ group: ["**", ...group], message }] } }
})

const isFile = (place: string) => /\.\w+$/.test(place)

const pathTo = (from: string, to: string): ReadonlyArray<string> => {
  const path = relative(isFile(from) ? dirname(from) : from, to)
  return under(path.startsWith(".") ? path : `./${path}`).map((allowed) => `!${allowed}`)
}

const rowOf = ([from, allowed]: readonly [string, ReadonlyArray<string>], paths: Rules = {}) => {
  const inside = allowed.includes(everything)
    ? ["!./**", "!../**", "**/adapters/**", "**/runtimes/**", "**/test/**", "**/benchmarks/**"]
    : [...(isFile(from) ? [] : ["!./**"]), ...allowed.filter((to) => to !== from).flatMap((to) => pathTo(from, to))]
  const includes = from === "core" ? ["core/*.ts"] : under(from)
  return style(
    includes,
    only(`not for ${from}: see test/house/arrow.ts`, [...plain, unstable, `${unstable}/**`, ...inside], paths)
  )
}

const byContract = {
  "../../http/form.ts": {
    importNames: ["readForm", "readParameters", "asItCame"],
    message: "an endpoint reads its parameters by the Schemas of its contract"
  }
}

const deny = (names: ReadonlyArray<string>) => ({
  noRestrictedGlobals: {
    level: "error",
    options: { deniedGlobals: Object.fromEntries(names.map((name) => [name, `${name} in core: ask a port`])) }
  }
})

const outer = (room: string, above: ReadonlyArray<string>) => {
  const sealed = Object.values(drivers).flat()
  const group = [...plain, ...platform, "!.", "!./**", "!../**", ...sealed, ...above.map((name) => `**/${name}/**`)]
  const message = "not for this place: see test/house/arrow.ts"
  return [
    style([`${room}/**`], only(message, group)),
    ...Object.entries(drivers)
      .filter(([place]) => place.startsWith(`${room}/`))
      .map(([place, names]) => style(under(place), only(message, [...group, ...names.map((name) => `!${name}`)])))
  ]
}

/** The linter's overrides; where two fit a file, the later one counts. */
const overrides = [
  ...Object.entries(arrow).map((row) => rowOf(row, row[0] === "core/oauth/endpoints" ? byContract : {})),
  ...withoutContract.map((file) => {
    const { linter } = rowOf(["core/oauth/endpoints", endpoints])
    return { includes: [file], linter }
  }),
  style(["core/**"], deny(ambient)),
  style([platformRandomness], deny(ambient.filter((name) => name !== "globalThis"))),
  ...outer("adapters", ["runtimes", "test", "benchmarks"]),
  ...outer("runtimes", ["test", "benchmarks"])
]

/** `arrow.json`, which the linter's configuration extends: a line for each place. */
export const arrowText = `{ "root": false, "overrides": [\n${overrides.map((one) => JSON.stringify(one)).join(",\n")}\n] }\n`
