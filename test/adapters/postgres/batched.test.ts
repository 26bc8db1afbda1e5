import { describe, expect, test } from "bun:test"
import { Effect, Exit, Option, Result } from "effect"
import { makeBatched, sendBatch, type Verb } from "../../../adapters/postgres/batched.ts"
import type { Cell, Row } from "../../../adapters/postgres/Connection.ts"
import { failureOf } from "../../../adapters/postgres/outcome.ts"
import type { Pool } from "../../../adapters/postgres/Pool.ts"
import { makeSession } from "../../../adapters/postgres/Session.ts"
import { makeSingle, type Replacement } from "../../../adapters/postgres/single.ts"
import { statementsOf } from "../../../adapters/postgres/statements.ts"
import { toKeyText } from "../../../adapters/records/KeyText.ts"
import { type Conflict, forEachKind, type NewRecord, StorageUnavailable } from "../../../core/ports/Storage.ts"
import { key, record } from "./withStore.ts"

const statements = forEachKind((kind) => statementsOf("s", kind, false))
const said = (code: string, severity = "ERROR") => failureOf({ code, severity, message: "" })

type Answer = ReturnType<Pool["run"]>
const rows = (...found: ReadonlyArray<Row>): Answer => Effect.succeed(found)
const trouble = (failure: ReturnType<typeof failureOf>): Answer => Effect.fail({ _tag: "Unanswered", failure })

/** What is asked of a server, and what it answers: the last answer again and again. */
const asking = (...answers: ReadonlyArray<Answer>) => {
  const asked: Array<{ readonly text: string; readonly parameters: ReadonlyArray<Cell> }> = []
  const pool: Pool = {
    run: ({ parameters, text }) => {
      asked.push({ text, parameters })
      return answers[Math.min(asked.length, answers.length) - 1] ?? rows()
    }
  }
  const session = Effect.runSync(makeSession(pool, statements, 1000))
  const several = makeBatched(session, "tessera", false)
  const single = makeSingle(session)
  const inserts: Verb<NewRecord, void, Conflict> = {
    writes: true,
    keyOf: (one) => one,
    one: single.insert,
    several: several.insert
  }
  const replaces: Verb<Replacement, void, Conflict> = {
    writes: true,
    keyOf: (one) => one.record,
    one: single.replace,
    several: several.replace
  }
  const until = session.deadline()
  return { asked, session, several, single, inserts, replaces, until }
}

const outcomeOf = (exit: Exit.Exit<void, Conflict | StorageUnavailable>): string => {
  if (Exit.isSuccess(exit)) return "done"
  const error = Exit.findErrorOption(exit)
  return error._tag === "Some" && error.value._tag === "StorageUnavailable" ? error.value.outcome : "conflict"
}

const insertAll = ({ inserts, until }: ReturnType<typeof asking>, ...ids: ReadonlyArray<string>) => {
  const records = ids.map((id) => record(id))
  const sent = Effect.runSync(Effect.result(sendBatch(inserts, "grant", records, until)))
  return Result.isSuccess(sent) ? sent.success.map(outcomeOf) : sent.failure.outcome
}

describe("a batch", () => {
  test("tells each what became of its own, by whatever id, in the order in which they came", () => {
    const ids = ["b", "a", "é😀", "\u0000"]
    const written = (...those: ReadonlyArray<string>) => rows(...those.map((id) => [toKeyText(id)]))
    const taken = asking(written("é😀", "\u0000", "a"))
    expect(insertAll(taken, ...ids)).toEqual(["conflict", "done", "done", "done"])
    // Every process writes in one order, so that none waits for another that waits for it.
    const inOrder = ["\u0000", "a", "b", "é😀"].map((id) => `"${toKeyText(id)}"`)
    expect(taken.asked[0]?.parameters[1]).toBe(`{${inOrder.join(",")}}`)

    const server = asking(rows([1], [3]))
    const replacements = ["c", "a", "b"].map((id, n) => ({ expected: n + 1, record: record(id) }))
    const sent = Effect.runSync(sendBatch(server.replaces, "grant", replacements, server.until))
    // The server has them in the order of their keys.
    expect(server.asked[0]?.parameters.slice(1, 3)).toEqual(['{"a","b","c"}', "{2,3,1}"])
    expect(sent.map(outcomeOf)).toEqual(["done", "done", "conflict"])
  })

  test("is sent one by one where one row made it fail, and none was written", () => {
    for (const code of ["22P05", "23514", "54000", "55P03", "57014"]) {
      const server = asking(trouble(said(code)), rows([1]), trouble(said(code)), rows())
      expect([code, insertAll(server, "a", "b", "c")]).toEqual([code, ["done", "not_done", "conflict"]])
      expect(server.asked.map(({ text }) => text.includes("ON CONFLICT"))).toEqual([true, true, true, true])
    }
  })

  test("is never sent again where it may have been written, nor where no row was in the way", () => {
    const codes: ReadonlyArray<readonly [ReturnType<typeof failureOf>, string]> = [
      [failureOf({ code: "ECONNRESET" }), "unknown"],
      [said("57P01", "FATAL"), "unknown"],
      [said("08006"), "unknown"],
      [said("40003"), "unknown"],
      [said("25006"), "not_done"],
      [said("53100"), "not_done"]
    ]
    for (const [failure, outcome] of codes) {
      const server = asking(trouble(failure))
      expect([failure.code, insertAll(server, "a", "b")]).toEqual([failure.code, outcome])
      expect(server.asked).toHaveLength(1)
    }
  })
})

test("a body that is known is left out by the server while it is current, and taken from it when it is not", () => {
  const row = (n: number, version: number, body: string | null) => [n, "o", version, null, body]
  const { asked, several, until } = asking(
    rows(row(1, 1, '{"n":1}'), row(2, 1, '{"n":2}')),
    rows(row(1, 1, null), row(2, 2, '{"n":3}'))
  )
  const keys = [key("a"), key("b")]
  const bodies = () =>
    Effect.runSync(several.get("grant", keys, until)).map((exit) =>
      Exit.isSuccess(exit) ? Option.map(exit.value, ({ body }) => body) : exit
    )
  expect(bodies()).toEqual([Option.some({ n: 1 }), Option.some({ n: 2 })])
  expect(bodies()).toEqual([Option.some({ n: 1 }), Option.some({ n: 3 })])
  expect(asked.map(({ parameters }) => parameters[3])).toEqual(["{NULL,NULL}", "{1,1}"])
})

describe("a statement", () => {
  test("is repeated where a race was lost, and the server has rolled it back: three times", () => {
    for (const code of ["40001", "40P01"]) {
      const won = asking(trouble(said(code)), trouble(said(code)), rows([1]))
      expect(insertAll(won, "a")).toEqual(["done"])
      expect(won.asked).toHaveLength(3)
      const lost = asking(trouble(said(code)))
      expect(insertAll(lost, "a")).toEqual(["not_done"])
      expect(lost.asked).toHaveLength(4)
      const reading = asking(trouble(said(code)), rows(["x"]))
      expect(Effect.runSync(reading.session.read("SELECT", [], reading.until))).toEqual([["x"]])
    }
  })

  test("is not repeated where it may have been done, or could not be sent", () => {
    const failures: ReadonlyArray<readonly [Answer, string]> = [
      [trouble(failureOf({ code: "ECONNRESET" })), "unknown"],
      [trouble(said("40001", "FATAL")), "unknown"],
      [trouble(said("40003")), "unknown"],
      [trouble(said("23505")), "not_done"],
      [Effect.fail(new StorageUnavailable({ outcome: "not_done", message: "no connection" })), "not_done"]
    ]
    for (const [failure, outcome] of failures) {
      const server = asking(failure)
      expect(insertAll(server, "a")).toEqual([outcome])
      expect(server.asked).toHaveLength(1)
    }
  })
})

test("a page is asked for one row more, by which it is known whether another follows", () => {
  const row = (id: string) => [id, "o", 1, null, "{}"]
  const pageOf = (...ids: ReadonlyArray<string>) => {
    const { asked, single } = asking(rows(...ids.map(row)))
    const page = Effect.runSync(single.list({ ...key(""), owner: "o", after: undefined, limit: 2 }))
    expect(asked[0]?.parameters.at(-1)).toBe(3)
    return [page.records.map(({ id }) => id), page.next]
  }
  expect(pageOf("a", "b")).toEqual([["a", "b"], undefined])
  expect(pageOf("a", "b", "c")).toEqual([["a", "b"], "b"])
})

test("a sweep looks for no more than it may remove, of all kinds together", () => {
  const found = (...ids: ReadonlyArray<string>) => rows(...ids.map((id) => ["w", id]))
  const { asked, single } = asking(found("a", "b"), rows([1], [1]), found(), found("c"), rows([1]), found("d"))
  expect(Effect.runSync(single.sweep(5, 3))).toBe(3)
  // What was prolonged meanwhile was looked at too.
  expect(asked.map(({ parameters }) => parameters.at(-1))).toEqual([3, 5, 1, 1, 5])
})
