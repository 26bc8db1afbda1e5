import { expect, test } from "bun:test"
import { Effect, Record } from "effect"
import type { Row } from "../../../adapters/postgres/Connection.ts"
import { failureOf } from "../../../adapters/postgres/outcome.ts"
import type { Session, Trouble } from "../../../adapters/postgres/Session.ts"
import { makeSingle } from "../../../adapters/postgres/single.ts"
import { statementsOf } from "../../../adapters/postgres/statements.ts"
import { kinds } from "../../../core/ports/Storage.ts"
import { key, record } from "./withStore.ts"

const cut: Trouble = { _tag: "Unanswered", failure: failureOf({ code: "ECONNRESET" }) }

/** Whose connection is cut while a statement is out; where only writes are cut, reads find these rows. */
const sessionThatIsCut = (found?: ReadonlyArray<Row>): Session => ({
  statements: Object.fromEntries(kinds.map((kind) => [kind, statementsOf("s", kind, false)])) as Session["statements"],
  caches: {},
  now: () => 0,
  deadline: () => 1000,
  read: () => (found === undefined ? Effect.fail(cut) : Effect.succeed(found)),
  write: () => Effect.fail(cut)
})

const page = { ...key(""), owner: "o", after: undefined, limit: 10 }

test("a connection that is cut leaves a write unknown, and of a read nothing done", () => {
  const verbs = makeSingle(sessionThatIsCut())
  const outcomes = Effect.all({
    get: Effect.flip(verbs.get(key("a"), 1000)),
    list: Effect.flip(verbs.list(page)),
    scan: Effect.flip(verbs.scan("grant", undefined, 10)),
    insert: Effect.flip(verbs.insert(record("a"), 1000)),
    replace: Effect.flip(verbs.replace({ expected: 1, record: record("a") }, 1000)),
    remove: Effect.flip(verbs.remove(key("a"))),
    sweep: Effect.flip(makeSingle(sessionThatIsCut([["w", "a"]])).sweep(5, 10))
  })
  const told = Record.map(Effect.runSync(outcomes), (error) => (error._tag === "Conflict" ? "conflict" : error.outcome))
  expect(told).toEqual({
    get: "not_done",
    list: "not_done",
    scan: "not_done",
    insert: "unknown",
    replace: "unknown",
    remove: "unknown",
    sweep: "unknown"
  })
})
