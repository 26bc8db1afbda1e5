import { Effect, Result } from "effect"
import { readRegistration } from "../../core/client/RegistrationRequest.ts"
import { register } from "../../core/client/register.ts"
import { drawClient } from "../../core/engine/administerClients.ts"
import { csrfField } from "../../core/http/csrf.ts"
import type { HttpResponse } from "../../core/http/Http.ts"
import { currentInstant } from "../../core/rules/Instant.ts"
import { settingsEndpoints } from "../../core/settings/settingsEndpoints.ts"
import { form, formHeaders, header } from "../given/flow.ts"
import { inWorld, type Steps, type World, type WorldOptions } from "../given/World.ts"

/** A world whose server has settings. Names that begin with `owner` are owners. */
export const inSettings = <A>(body: (world: World) => Steps<A>, options: WorldOptions = {}) =>
  inWorld(body, { ...options, endpoints: settingsEndpoints() })

export type Section = "apps" | "keys" | "clients" | "resources" | "documents" | "issuers"
export const sections: ReadonlyArray<Section> = ["apps", "keys", "clients", "resources", "documents", "issuers"]
/** Those that only a server with built-in accounts has, and that have a list. */
export const accountSections = ["sessions", "members"] as const

export const csrfOf = (world: World, as: string): string =>
  csrfField(world.services.keys.current(), world.workspace, `session-of-${as}`)

/** A form as a page of this person's session sends it. */
export const post = (
  world: World,
  as: string,
  section: Section,
  fields: Readonly<Record<string, string | undefined>>,
  query = ""
): Effect.Effect<HttpResponse> =>
  world.send("POST", `/settings/${section}${query}`, {
    as,
    headers: formHeaders,
    body: form({ csrf: csrfOf(world, as), ...fields })
  })

export const look = (world: World, as: string, section: Section, query = ""): Effect.Effect<HttpResponse> =>
  world.send("GET", `/settings/${section}${query}`, { as })

/** The page that a form's answer leads back to. */
export const follow = Effect.fnUntraced(function* (world: World, as: string, answer: HttpResponse) {
  if (answer.status !== 303) throw new Error(`no redirect, but ${answer.status}: ${answer.body}`)
  return yield* world.send("GET", header(answer, "location") ?? "", { as })
})

const unescaped = (text: string) => text.replaceAll("&amp;", "&")

/** What the forms of a page name as `id`, each once. */
export const idsOn = (page: HttpResponse): ReadonlyArray<string> => [
  ...new Set([...page.body.matchAll(/name="id" value="([^"]*)"/g)].map(([, id = ""]) => id))
]

export const nextOf = (page: HttpResponse): string | undefined => {
  const href = /href="([^"]*)">Next</.exec(page.body)?.[1]
  return href === undefined ? undefined : unescaped(href)
}

/** Every page of a section, from the first to the last. */
export const allPages = Effect.fnUntraced(function* (world: World, as: string, section: Section, query = "") {
  const pages: Array<HttpResponse> = []
  let target: string | undefined = `/settings/${section}${query}`
  while (target !== undefined) {
    const page: HttpResponse = yield* world.send("GET", target, { as })
    pages.push(page)
    target = nextOf(page)
    if (pages.length > 100) throw new Error("the pages do not end")
  }
  return pages
})

/** The secret on the page that shows one. */
export const shownOn = (page: HttpResponse): string => /id="once"[^>]*value="([^"]*)"/.exec(page.body)?.[1] ?? ""

/** Clients as they are kept, without the requests before them. */
export const crowd = Effect.fnUntraced(function* (world: World, count: number, name: (n: number) => string) {
  const ids: Array<string> = []
  for (let n = 0; n < count; n++) {
    const metadata = { client_name: name(n), redirect_uris: [`https://host-${n}.example/cb`] }
    const request = Result.getOrThrow(readRegistration(world.services, JSON.stringify(metadata)))
    const fresh = drawClient(world.services.entropy)
    const made = Result.getOrThrow(
      register(world.services, request, world.services.policy, yield* currentInstant, fresh, "itself")
    )
    yield* world.services.clients.add(world.workspace.id, made.client)
    ids.push(made.client.id)
  }
  return ids
})
