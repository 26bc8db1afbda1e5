import { Effect, Layer, Logger, Redacted, References } from "effect"
import { TestClock } from "effect/testing"
import { layer as memory } from "../../adapters/memory/Memory.ts"
import type { Cost } from "../../adapters/password/Argon2id.ts"
import { noble } from "../../adapters/password/noble.ts"
import { layerOf } from "../../adapters/password/Password.ts"
import type { HttpResponse } from "../../core/http/Http.ts"
import { endpoints } from "../../core/oauth/endpoints/table.ts"
import { Accounts, type AccountsOptions } from "../../core/people/Accounts.ts"
import { resourceOwnerLayer } from "../../core/people/resourceOwner.ts"
import { signInEndpoints } from "../../core/people/signInEndpoints.ts"
import { Audit, type AuditEntry } from "../../core/ports/Audit.ts"
import type { Documents } from "../../core/ports/Documents.ts"
import { Entropy } from "../../core/ports/Entropy.ts"
import { Limiter } from "../../core/ports/Limiter.ts"
import { Pages } from "../../core/ports/Pages.ts"
import { PasswordHasher } from "../../core/ports/PasswordHasher.ts"
import { RegistrationPolicy } from "../../core/ports/RegistrationPolicy.ts"
import { Signatures } from "../../core/ports/Signatures.ts"
import { Storage } from "../../core/ports/Storage.ts"
import { Workspaces } from "../../core/ports/Workspaces.ts"
import { standardPolicy } from "../../core/rules/Policy.ts"
import { signInScopes } from "../../core/rules/Scope.ts"
import { accountSettingsEndpoints } from "../../core/settings/accountSettingsEndpoints.ts"
import { settingsEndpoints } from "../../core/settings/settingsEndpoints.ts"
import { Tessera } from "../../core/Tessera.ts"
import { drawFrom } from "../../core/testing/Draw.ts"
import { Keys } from "../../core/token/KeyRing.ts"
import { Issuer, type Workspace, WorkspaceId } from "../../core/workspace/Workspace.ts"
import { form, formHeaders, hiddenFields } from "../given/flow.ts"
import { keyFrom, realSignatures, requestOf, type Steps, t0, theWorkspace } from "../given/World.ts"

/** Argon2id as cheap as it gets: what it costs is tested in test/adapters. */
export const cheap = { memory: 8, passes: 1, lanes: 1 } as const

export interface HouseOptions {
  readonly workspace?: Workspace
  readonly accounts?: AccountsOptions
  readonly seed?: string
  readonly cost?: Cost
  /** The store that everything is kept in, made of the one in memory. */
  readonly storage?: (below: Storage["Service"]) => Storage["Service"]
  readonly limiter?: Layer.Layer<Limiter>
  /** With it, people sign in at applications by OpenID Connect, and these hear of logouts over it. */
  readonly documents?: Layer.Layer<Documents>
  /** What hashes the passwords, made of the one that does. */
  readonly hasher?: (below: PasswordHasher["Service"]) => PasswordHasher["Service"]
}

/** What a person sends: fields of a form make it a POST's body. */
export interface Sent {
  readonly fields?: Readonly<Record<string, string>>
  readonly body?: string
  readonly peer?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** A server with its built-in accounts, in memory, its clock and its chance in the test's hand. */
export interface House {
  readonly send: (method: string, target: string, sent?: Sent) => Effect.Effect<HttpResponse>
  readonly accounts: Accounts["Service"]
  readonly services: Tessera["Service"]["services"]
  readonly routes: Tessera["Service"]["routes"]
  readonly workspace: Workspace
  readonly storage: Storage["Service"]
  readonly audit: Array<AuditEntry>
  readonly log: Array<string>
  /** What the slow hash was asked for. */
  readonly hashed: { hash: number; verify: number }
}

export const httpWorkspace: Workspace = { ...theWorkspace, issuer: Issuer.make("http://127.0.0.1:3000") }
export const nestedWorkspace: Workspace = {
  id: WorkspaceId.make("nested"),
  issuer: Issuer.make("https://auth.example.com/nested"),
  name: "Nested"
}

export const secret = (text: string) => Redacted.make(text)

const counted = (hashed: House["hashed"], cost: Cost, around: NonNullable<HouseOptions["hasher"]>) =>
  Layer.effect(
    PasswordHasher,
    Effect.map(Effect.map(PasswordHasher, around), (hasher) => ({
      ...hasher,
      hash: (password) =>
        Effect.suspend(() => {
          hashed.hash++
          return hasher.hash(password)
        }),
      verify: (password, hash) =>
        Effect.suspend(() => {
          hashed.verify++
          return hasher.verify(password, hash)
        })
    }))
  ).pipe(Layer.provide(layerOf(noble, cost)))

export const inHouse = <A>(body: (house: House) => Steps<A>, options: HouseOptions = {}): Promise<A> => {
  const workspace = options.workspace ?? theWorkspace
  const audit: Array<AuditEntry> = []
  const log: Array<string> = []
  const hashed = { hash: 0, verify: 0 }
  const draw = drawFrom(options.seed ?? "house")
  const entropy = Layer.succeed(Entropy, {
    bytes: (length) => Uint8Array.from({ length }, () => draw.below(256))
  })
  const storage = Layer.effect(
    Storage,
    Effect.map(Storage, (below) => options.storage?.(below) ?? below)
  ).pipe(Layer.provide(memory))
  const ground = Layer.mergeAll(
    storage,
    Keys.layer([keyFrom(1)]),
    Layer.succeed(Audit, { record: (entry) => Effect.sync(() => void audit.push(entry)) }),
    RegistrationPolicy.layerOpen,
    Pages.layer(),
    options.limiter ?? Limiter.layerNone,
    Workspaces.layerOne(workspace),
    options.documents === undefined
      ? Layer.empty
      : Layer.merge(options.documents, Layer.succeed(Signatures, realSignatures)),
    counted(hashed, options.cost ?? cheap, options.hasher ?? ((below) => below))
  ).pipe(Layer.provideMerge(entropy))
  const accounts = Accounts.layer(options.accounts)
  const logger = Logger.make((entry) => {
    log.push(JSON.stringify([entry.message, String(entry.cause)]))
  })

  const program = Effect.gen(function* () {
    yield* TestClock.setTime(t0)
    const built = yield* Accounts
    const server = yield* Tessera
    return yield* body({
      send: (method, target, sent = {}) =>
        server.handle({
          ...requestOf(method, target, {
            headers: { ...(sent.fields === undefined ? {} : formHeaders), ...sent.headers },
            body: sent.fields === undefined ? (sent.body ?? "") : form(sent.fields)
          }),
          peer: sent.peer ?? "192.0.2.1"
        }),
      accounts: built,
      services: server.services,
      routes: server.routes,
      workspace,
      storage: yield* Storage,
      audit,
      log,
      hashed
    })
  })
  const tessera = Layer.unwrap(
    Effect.map(Accounts, (built) =>
      Tessera.layer({
        policy: {
          ...standardPolicy,
          workspaceAccess: "registered",
          ...(options.documents === undefined ? {} : { scopes: signInScopes })
        },
        endpoints: [...signInEndpoints(built), ...accountSettingsEndpoints(built), ...settingsEndpoints(), ...endpoints]
      })
    )
  )
  return Effect.runPromise(
    program.pipe(
      Effect.provide(
        tessera.pipe(Layer.provide(resourceOwnerLayer), Layer.provideMerge(accounts), Layer.provideMerge(ground))
      ),
      Effect.provide(Layer.merge(TestClock.layer(), Logger.layer([logger]))),
      Effect.provideService(References.MinimumLogLevel, "All")
    )
  )
}

export const password = "correct horse battery"

export const addAccount = (house: House, email = "ada@example.com", role: "owner" | "member" = "owner") =>
  house.accounts.open(house.workspace.id, { email, name: "Ada", role, password: secret(password) })

const isBelow = (path: string, cookiePath: string): boolean =>
  cookiePath === "/" || path === cookiePath || path.startsWith(`${cookiePath}/`)

/** A browser: it keeps cookies as browsers do, and sends them along where their path is. */
export class Browser {
  readonly cookies = new Map<string, string>()
  readonly #paths = new Map<string, string>()
  readonly house: House
  readonly peer: string
  readonly agent: string
  /** `Sec-Fetch-Site`: where the page is that sends what comes next. */
  site = ""

  constructor(house: House, peer = "192.0.2.1", agent = "") {
    this.house = house
    this.peer = peer
    this.agent = agent
  }

  send(method: string, target: string, fields?: Readonly<Record<string, string>>): Effect.Effect<HttpResponse> {
    const path = target.split("?", 1)[0] ?? ""
    const cookie = [...this.cookies]
      .filter(([name]) => isBelow(path, this.#paths.get(name) ?? "/"))
      .map(([name, value]) => `${name}=${value}`)
      .join("; ")
    const sent = {
      peer: this.peer,
      ...(fields === undefined ? {} : { fields }),
      headers: {
        ...(cookie === "" ? {} : { cookie }),
        ...(this.agent === "" ? {} : { "user-agent": this.agent }),
        ...(this.site === "" ? {} : { "sec-fetch-site": this.site })
      }
    }
    return Effect.map(this.house.send(method, target, sent), (response) => {
      for (const [name, value] of response.headers) if (name === "set-cookie") this.#keep(value)
      return response
    })
  }

  get(target: string) {
    return this.send("GET", target)
  }

  /** Opens a page and sends its first form, with these fields filled in. */
  readonly submit = Effect.fnUntraced(function* (
    this: Browser,
    target: string,
    fields: Readonly<Record<string, string>>
  ) {
    const page = yield* this.get(target)
    return yield* this.send("POST", target.split("?")[0] ?? target, { ...hiddenFields(page.body), ...fields })
  })

  signIn(email = "ada@example.com", typed = password, target = "/login") {
    return this.submit(target, { email, password: typed })
  }

  #keep(header: string) {
    const [pair = "", ...attributes] = header.split("; ")
    const at = pair.indexOf("=")
    const name = pair.slice(0, at)
    if (attributes.includes("Max-Age=0")) this.cookies.delete(name)
    else this.cookies.set(name, pair.slice(at + 1))
    this.#paths.set(name, attributes.find((attribute) => attribute.startsWith("Path="))?.slice(5) ?? "/")
  }
}

export const reveal = Redacted.value<string>

export const cookiesOf = (response: HttpResponse) =>
  response.headers.filter(([name]) => name === "set-cookie").map(([, value]) => value)

export const sessionOf = (browser: Browser) => browser.cookies.get("__Host-tessera_session")

export const isSignedIn = (browser: Browser) =>
  Effect.map(browser.get("/settings/profile"), ({ status }) => status === 200)
