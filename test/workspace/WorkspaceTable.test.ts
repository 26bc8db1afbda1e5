import { describe, expect, test } from "bun:test"
import { Effect, Result } from "effect"
import type { Dice } from "../../core/testing/Dice.ts"
import { basePath, Issuer, pathBelow, type Workspace, WorkspaceId } from "../../core/workspace/Workspace.ts"
import { addressOf, depthOf, pathsWithin, readHost, WorkspaceTable } from "../../core/workspace/WorkspaceTable.ts"
import { law } from "../laws/law.ts"

const workspace = (id: string, issuer: string): Workspace => ({
  id: WorkspaceId.make(id),
  issuer: Issuer.make(issuer),
  name: id
})

const tableOf = (...workspaces: ReadonlyArray<Workspace>) => Result.getOrThrow(WorkspaceTable.of(workspaces))
const idAt = (table: WorkspaceTable, host: string, path = "/"): string | undefined => table.find(host, path)?.id

const root = workspace("root", "https://id.example")
const acme = workspace("acme", "https://id.example/acme")
const beta = workspace("beta", "https://id.example/acme/beta")
const own = workspace("own", "https://own.example")
const odd = workspace("odd", "https://own.example:8443")
const local = workspace("local", "http://localhost")
const six = workspace("six", "http://[::1]:3000")
const all = [root, acme, beta, own, odd, local, six]

describe("a table of workspaces finds by host", () => {
  const found: ReadonlyArray<readonly [host: string, id: string | undefined]> = [
    ["own.example", "own"],
    ["OWN.Example", "own"],
    ["own.example:443", "own"],
    ["own.example:80", undefined],
    ["own.example:8443", "odd"],
    ["own.example:08443", undefined],
    ["own.example.", undefined],
    ["own.example.:443", undefined],
    [".own.example", undefined],
    ["a.own.example", undefined],
    ["own..example", undefined],
    ["own.example.evil.example", undefined],
    ["own.example:443:443", undefined],
    ["own.example:", undefined],
    ["own.example@evil.example", undefined],
    ["own.example/", undefined],
    ["own.example ", undefined],
    ["öwn.example", undefined],
    ["own\u212a.example", undefined],
    ["", undefined],
    ["localhost", "local"],
    ["localhost:80", "local"],
    ["localhost:443", undefined],
    ["[::1]:3000", "six"],
    ["[::1]", undefined],
    [`${"a".repeat(250)}.example`, undefined]
  ]
  test.each(found)("%p: %p", (host, id) => expect(idAt(tableOf(...all), host)).toBe(id as string))
})

describe("a table of workspaces finds by path below a host", () => {
  const document = "/.well-known/oauth-authorization-server"
  const found: ReadonlyArray<readonly [path: string, id: string]> = [
    ["/", "root"],
    ["", "root"],
    ["/oauth/token", "root"],
    ["/acme", "acme"],
    ["/acme/", "acme"],
    ["/acme/oauth/token", "acme"],
    ["/acme/beta", "beta"],
    ["/acme/beta/oauth/token", "beta"],
    ["/acme/betamax", "acme"],
    ["/acmeother", "root"],
    ["/ACME/oauth/token", "root"],
    ["/%61cme/oauth/token", "root"],
    ["/acme%2fbeta/oauth/token", "root"],
    ["//acme/oauth/token", "root"],
    ["/acme//beta", "acme"],
    ["/x/acme", "root"],
    [document, "root"],
    [`${document}/`, "root"],
    [`${document}/acme`, "acme"],
    [`${document}/acme/beta`, "beta"],
    [`${document}/acme/beta/mcp`, "beta"],
    [`${document}/acme/mcp`, "acme"],
    [`${document}/other`, "root"],
    [`/acme${document}`, "acme"],
    [`/acme/beta${document}`, "beta"],
    ["/.well-known/", "root"],
    ["/.well-known", "root"]
  ]
  test.each(found)("%p: %p", (path, id) => expect(idAt(tableOf(...all), "id.example", path)).toBe(id))

  test("none, where no workspace has the host as a whole", () => {
    const table = tableOf(acme, beta)
    for (const path of ["/", "/oauth/token", "/other", document])
      expect(idAt(table, "id.example", path)).toBeUndefined()
    expect(idAt(table, "id.example", "/acme/x")).toBe("acme")
  })
})

describe("a table of workspaces changes while it is asked", () => {
  test("a new one is found, and one that is taken away no more", () => {
    const table = tableOf(root)
    expect(idAt(table, "id.example", "/acme/x")).toBe("root")
    expect(Result.isSuccess(table.put(acme))).toBe(true)
    expect(idAt(table, "id.example", "/acme/x")).toBe("acme")
    expect(idAt(table, "id.example", "/x")).toBe("root")
    table.remove(root.id)
    expect(idAt(table, "id.example", "/x")).toBeUndefined()
    expect(idAt(table, "id.example", "/acme/x")).toBe("acme")
    table.remove(acme.id)
    expect([idAt(table, "id.example", "/acme/x"), table.size]).toEqual([undefined, 0])
    table.remove(acme.id)
  })

  test("one that has moved is found where it is now, and there alone", () => {
    const table = tableOf(own, root)
    expect(Result.isSuccess(table.put({ ...own, issuer: acme.issuer }))).toBe(true)
    expect([idAt(table, "own.example"), idAt(table, "id.example", "/acme")]).toEqual([undefined, "own"])
  })

  test("what is put in its place is given whole", () => {
    const table = tableOf(own)
    const renamed = { ...own, name: "Other", disabled: true }
    table.put(renamed)
    expect([table.find("own.example", "/"), table.get(own.id), [...table.values()]]).toEqual([
      renamed,
      renamed,
      [renamed]
    ])
  })

  test("one that is another's is refused, and nothing changes", () => {
    const table = tableOf(own, root)
    const clash = table.put({ ...root, issuer: own.issuer })
    expect(Result.isFailure(clash) && [clash.failure.shared, clash.failure.other]).toEqual(["address", "own"])
    expect([idAt(table, "own.example"), idAt(table, "id.example")]).toEqual(["own", "root"])
  })

  test("all of them give way to others, and those that are as they were stay the same values", () => {
    const table = tableOf(own, root, acme)
    const swapped = [{ ...own }, { ...root, issuer: acme.issuer }, { ...acme, issuer: root.issuer }, beta]
    expect(table.replaceAll(swapped)).toEqual(Result.succeed({ added: 1, changed: 2, removed: 0 }))
    expect(table.find("own.example", "/") === own).toBe(true)
    expect([idAt(table, "id.example"), idAt(table, "id.example", "/acme/x")]).toEqual(["acme", "root"])
    expect(table.replaceAll([own])).toEqual(Result.succeed({ added: 0, changed: 0, removed: 3 }))
    expect([idAt(table, "id.example"), table.size]).toEqual([undefined, 1])
    expect(Result.isFailure(table.replaceAll([own, { ...root, id: own.id }]))).toBe(true)
    expect([...table.values()]).toEqual([own])
  })

  test("a list with an id or an address twice makes no table", () => {
    const clash = (...list: ReadonlyArray<Workspace>) => {
      const made = WorkspaceTable.of(list)
      return Result.isFailure(made) ? made.failure.shared : undefined
    }
    expect(clash(own, { ...root, id: own.id })).toBe("id")
    expect(clash(own, { ...own, id: root.id })).toBe("address")
    expect(clash(acme, { ...acme, id: root.id })).toBe("address")
    expect(clash(own, root)).toBeUndefined()
  })
})

describe("the parts of an address", () => {
  test("an issuer's host and path", () => {
    expect(addressOf(beta)).toEqual({ host: "id.example", path: "/acme/beta" })
    expect(addressOf(six)).toEqual({ host: "[::1]:3000", path: "" })
  })
  test("a host as an issuer would have it", () => {
    expect(readHost("A.example:8443")).toBe("a.example:8443")
    for (const none of [undefined, null, "", "a.", ".a", "a..b", "a b", "a\tb", "ä"])
      expect(readHost(none)).toBeUndefined()
    const long = `${"a".repeat(63)}.`.repeat(3)
    expect(readHost(long + "b".repeat(63))).toHaveLength(255)
    expect(readHost(long + "b".repeat(64))).toBeUndefined()
  })
  test("how deep a path is, and what it begins with", () => {
    expect(["", "/a", "/a/b"].map(depthOf)).toEqual([0, 1, 2])
    expect(pathsWithin("/a/b/c", 2)).toEqual(["/a/b", "/a"])
    expect(pathsWithin("/a/b/c", 0)).toEqual([])
    expect(pathsWithin("/a", 3)).toEqual(["/a"])
    expect(pathsWithin("/a/", 3)).toEqual(["/a/", "/a"])
    expect(pathsWithin("", 3)).toEqual([])
    expect(pathsWithin("/.well-known/x/a/b", 5)).toEqual(["/a/b", "/a"])
    for (const path of ["/.well-known/x", "/.well-known/"]) expect(pathsWithin(path, 5)).toEqual([])
    expect(pathsWithin("/.well-known", 5)).toEqual(["/.well-known"])
  })
})

const hosts = ["a.example", "b.example", "c.example:8443"] as const
const paths = ["", "/x", "/y", "/x/y", "/x/y/z", "/xy"] as const
const asked = [
  "/",
  "/x",
  "/x/",
  "/xy",
  "/x/y",
  "/x/y/z/oauth",
  "/y/x",
  "/.well-known/d/x/y",
  "/x/.well-known/d",
  "/q"
] as const

/** As it would be done without a table. */
const byHand = (list: ReadonlyArray<Workspace>, host: string, path: string): string | undefined =>
  list
    .filter((one) => new URL(one.issuer).host === host && pathBelow(one, path) !== undefined)
    .sort((a, b) => basePath(b.issuer).length - basePath(a.issuer).length)[0]?.id

const draw = (dice: Dice) => workspace(`w${dice.under(8)}`, `https://${dice.pick(hosts)}${dice.pick(paths)}`)

describe("the law of the table", () => {
  law("whatever came and went, it finds what a look at all of them finds", (dice) =>
    Effect.sync(() => {
      const table = new WorkspaceTable()
      let list: ReadonlyArray<Workspace> = []
      for (let step = 0; step < 20; step++) {
        const one = draw(dice)
        if (dice.chance(30)) {
          table.remove(one.id)
          list = list.filter(({ id }) => id !== one.id)
        } else {
          const taken = list.some(({ id, issuer }) => issuer === one.issuer && id !== one.id)
          expect(Result.isFailure(table.put(one))).toBe(taken)
          if (!taken) list = [...list.filter(({ id }) => id !== one.id), one]
        }
        for (const host of hosts) {
          for (const path of asked) expect(idAt(table, host, path)).toBe(byHand(list, host, path) as string)
        }
        expect(table.size).toBe(list.length)
      }
    })
  )
})
