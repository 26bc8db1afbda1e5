import { isScript, type Rule, room } from "./Rule.ts"
import { type Import, importsOf, resolve, type Source } from "./Source.ts"

/** Parts of `effect` whose authors may still change every symbol of; the core stands on what is stable. */
const unstableEffect =
  /^effect\/(?:http|http-api|sql|crypto|persistence|cli|schema|rpc|observability|cluster|workflow|ai)\b/

/**
 * Which parts of the core may import which, themselves aside: the arrow goes one way. A key is a folder or a file; the
 * longest that fits a path counts. To add a folder, give it a line.
 */
const codec = ["core/codec"]
const cache = ["core/cache"]
const rules = [...codec, "core/rules"]
const workspace = [...rules, "core/workspace"]
const token = [...workspace, ...cache, "core/grant/Binding.ts", "core/token"]
// What a row of the tables is, which the rooms below the tables know as a type; and how a token is borne.
const rows = [
  "core/oauth/clients/ClientAuth.ts",
  "core/oauth/presented/Presentation.ts",
  "core/oauth/presented/bearer.ts"
]
const client = [...token, ...rows, "core/client"]
const grant = [...client, "core/grant"]
const pages = [...workspace, "core/http/Http.ts", "core/pages"]
const ports = [...grant, ...pages, "core/ports"]
// A row is read and refused by the same values as an endpoint.
const form = [...rules, "core/http/Http.ts", "core/http/form.ts"]
const fault = [...ports, "core/http/Fault.ts"]
const grants = [...fault, ...form, "core/oauth/grants"]
const engine = [...ports, ...grants, "core/engine"]
const limits = [...engine, "core/limits"]
const aggregate = [...engine, "core/request/AuthorizationRequest.ts"]
const http = [...limits, ...aggregate, "core/http"]
const request = [...http, "core/request"]
const clients = [...request, "core/oauth/clients"]
const presented = [...request, "core/oauth/presented"]
const openapi = [...http, "core/openapi"]
const endpoints = [...clients, ...presented, ...openapi, "core/oauth/endpoints"]
const people = [...http, "core/people"]

export const arrow: Readonly<Record<string, ReadonlyArray<string>>> = {
  "core/codec": codec,
  "core/cache": cache,
  "core/rules": rules,
  "core/workspace": workspace,
  "core/token": token,
  "core/client": client,
  "core/grant": grant,
  "core/grant/Binding.ts": [],
  "core/http/Http.ts": [],
  "core/http/form.ts": form,
  "core/http/Fault.ts": fault,
  "core/ports": ports,
  "core/pages": pages,
  "core/engine": engine,
  "core/limits": limits,
  "core/http": http,
  "core/request/AuthorizationRequest.ts": aggregate,
  "core/request": request,
  "core/openapi": openapi,
  "core/oauth/grants": grants,
  "core/oauth/clients": clients,
  "core/oauth/clients/ClientAuth.ts": [...client, "core/http/form.ts", "core/http/Http.ts", "core/ports"],
  "core/oauth/presented/Presentation.ts": [...grant, "core/http/Http.ts", "core/ports"],
  "core/oauth/presented/bearer.ts": [...grant, "core/http/Http.ts", "core/ports"],
  "core/oauth/presented": presented,
  "core/oauth/endpoints": endpoints,
  "core/people": people,
  "core/settings": [...people, "core/settings"],
  // What proves implementations may see whatever it proves.
  "core/testing": ["core"],
  // What composes the core, and what lies beside it, see everything.
  core: ["core"]
}

/** The packages that only one place may know. A key is a package or its prefix with `/*`. */
export const drivers: Readonly<Record<string, string>> = {
  postgres: "adapters/postgres",
  ioredis: "adapters/redis",
  "bun:sqlite": "adapters/sqlite",
  "node:sqlite": "adapters/sqlite",
  elysia: "runtimes/elysia"
}

const matches = (path: string, place: string) =>
  path === place || path.startsWith(`${place}/`) || path.startsWith(`${place}.`)

const longest = (path: string, places: ReadonlyArray<string>) =>
  places.filter((place) => matches(path, place)).sort((a, b) => b.length - a.length)[0]

const isRelative = (specifier: string) => specifier.startsWith(".")
const isPlatform = (specifier: string) => /^(?:node:|bun:|bun$)/.test(specifier)
const isPlain = (specifier: string) => /^(?:effect|@noble\/hashes)(?:\/|$)/.test(specifier)

const packageOf = (specifier: string) => {
  const parts = specifier.split("/")
  return specifier.startsWith("@") ? parts.slice(0, 2).join("/") : (parts[0] ?? "")
}

const checked =
  (rooms: ReadonlyArray<string>, complaint: (source: Source, specifier: string) => string | undefined) =>
  (source: Source): ReadonlyArray<string> => {
    if (!rooms.includes(room(source.path)) || !isScript(source.path)) return []
    const complain = ({ specifier, line }: Import) => {
      const found = specifier === undefined ? "an import that is computed" : complaint(source, specifier)
      return found === undefined ? [] : [`line ${line}: ${found}`]
    }
    return importsOf(source.text).flatMap(complain)
  }

export const coreStandsAlone: Rule = {
  title: "core imports effect's stable modules, @noble/hashes and itself",
  breaches: checked(["core"], ({ path }, specifier) => {
    if (isRelative(specifier)) {
      const target = resolve(path, specifier)
      return target.startsWith("core/") ? undefined : `core may not import ${target}`
    }
    if (unstableEffect.test(specifier)) return `${specifier} is not stable: behind a port it may be, outside of core`
    return isPlain(specifier) ? undefined : `core may not import ${specifier}`
  })
}

export const coreFollowsTheArrow: Rule = {
  title: "inside core, imports follow the arrow",
  breaches: checked(["core"], ({ path }, specifier) => {
    if (!isRelative(specifier)) return undefined
    const target = resolve(path, specifier)
    const from = longest(path, Object.keys(arrow)) ?? "core"
    const folder = path.split("/").slice(0, 2).join("/")
    if (from === "core" && folder !== path) return `${folder} has no place in the arrow yet: see test/house/imports.ts`
    const allowed = arrow[from] ?? []
    return allowed.some((place) => matches(target, place)) ? undefined : `${from} may not import ${target}`
  })
}

const ownDriver = (path: string, specifier: string) => {
  const name = packageOf(specifier)
  const place = drivers[specifier] ?? drivers[name]
  if (place === undefined)
    return isPlatform(specifier) || isPlain(specifier) ? undefined : `${name} is nobody's driver here`
  return matches(path, place) ? undefined : `${name} is for ${place} alone`
}

const outer = (own: string, rooms: ReadonlyArray<string>): Rule => ({
  title: `${own} import ${rooms.join(", ")} and their own driver`,
  breaches: checked([own], ({ path }, specifier) => {
    if (!isRelative(specifier)) return ownDriver(path, specifier)
    const target = resolve(path, specifier)
    return rooms.includes(room(target)) ? undefined : `${own} may not import ${target}`
  })
})

export const adaptersStayBelow: Rule = outer("adapters", ["core", "adapters"])

export const runtimesStayBelow: Rule = outer("runtimes", ["core", "adapters", "runtimes"])
