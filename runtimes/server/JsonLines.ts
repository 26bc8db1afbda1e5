import { Result } from "effect"

/** JSON that a person wrote, with the lines on which its values begin. */
export interface JsonLines {
  readonly value: unknown
  /** The line of the value at a path, or of the nearest above it that is there. */
  readonly lineOf: (path: ReadonlyArray<PropertyKey>) => number
}

interface JsonFault {
  readonly line: number
  readonly why: string
}

/** No list of resources is deeper. */
const deepest = 64

class Fault extends Error {
  readonly at: number
  constructor(why: string, at: number) {
    super(why)
    this.at = at
  }
}

const lineAt = (text: string, at: number): number => text.slice(0, at).split("\n").length

const keyOf = (path: ReadonlyArray<PropertyKey>): string => JSON.stringify(path.map(String))

/** JSON in which no member comes twice. Platforms say of what is wrong where it is, or not, each in its own words. */
class Reader {
  #at = 0
  readonly text: string
  readonly starts = new Map<string, number>()

  constructor(text: string) {
    this.text = text
  }

  whole(): unknown {
    const value = this.#value([])
    if (this.#next() !== undefined) throw new Fault("there is more behind the end", this.#at)
    return value
  }

  #next(): string | undefined {
    const rest = /[^ \t\r\n]/g
    rest.lastIndex = this.#at
    this.#at = rest.exec(this.text)?.index ?? this.text.length
    return this.text[this.#at]
  }

  #take(pattern: RegExp, expected: string): string {
    pattern.lastIndex = this.#at
    const [found] = pattern.exec(this.text) ?? []
    if (found === undefined) throw new Fault(`${expected} was expected`, this.#at)
    this.#at += found.length
    return found
  }

  #text(): string {
    const start = this.#at
    const quoted = this.#take(/"(?:[^"\\]|\\.)*"/y, "a text in quotes")
    try {
      return String(JSON.parse(quoted))
    } catch {
      throw new Fault("a text has what stands in no text of JSON", start)
    }
  }

  #value(path: ReadonlyArray<PropertyKey>): unknown {
    const first = this.#next()
    this.starts.set(keyOf(path), this.#at)
    if (path.length > deepest) throw new Fault("this is too deep", this.#at)
    if (first === "{") return this.#members(path)
    if (first === "[") return this.#items(path)
    if (first === '"') return this.#text()
    return JSON.parse(
      this.#take(/true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y, "a value of JSON")
    )
  }

  #members(path: ReadonlyArray<PropertyKey>): unknown {
    this.#at++
    const members = new Map<string, unknown>()
    if (this.#next() === "}") {
      this.#at++
      return {}
    }
    for (;;) {
      this.#next()
      const start = this.#at
      const name = this.#text()
      if (members.has(name)) throw new Fault(`${JSON.stringify(name)} comes twice`, start)
      this.#next()
      this.#take(/:/y, "a colon")
      members.set(name, this.#value([...path, name]))
      this.#next()
      // A member of this name is a member, whatever its name.
      if (this.#take(/[,}]/y, "a comma or }") === "}") return Object.fromEntries(members)
    }
  }

  #items(path: ReadonlyArray<PropertyKey>): unknown {
    this.#at++
    const items: Array<unknown> = []
    if (this.#next() === "]") {
      this.#at++
      return items
    }
    for (;;) {
      items.push(this.#value([...path, items.length]))
      this.#next()
      if (this.#take(/[,\]]/y, "a comma or ]") === "]") return items
    }
  }
}

export const readJsonLines = (text: string): Result.Result<JsonLines, JsonFault> => {
  const reader = new Reader(text)
  try {
    const value = reader.whole()
    const lineOf = (path: ReadonlyArray<PropertyKey>): number => {
      for (let length = path.length; length > 0; length--) {
        const start = reader.starts.get(keyOf(path.slice(0, length)))
        if (start !== undefined) return lineAt(text, start)
      }
      return 1
    }
    return Result.succeed({ value, lineOf })
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown
    return Result.fail({ line: lineAt(text, thrown.at), why: thrown.message })
  }
}
