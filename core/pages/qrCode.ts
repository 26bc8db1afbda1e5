import { type Html, html } from "./Html.ts"

/*
 * ISO/IEC 18004, as much of it as an address needs: bytes, error correction M, versions 1 to 20.
 */

/** The modules of a QR code, row by row; `true` is dark. */
export type Modules = ReadonlyArray<ReadonlyArray<boolean>>

/** By version: codewords for error correction in each block, and how many blocks there are. */
const correction: ReadonlyArray<readonly [perBlock: number, blocks: number]> = [
  [10, 1],
  [16, 1],
  [26, 1],
  [18, 2],
  [24, 2],
  [16, 4],
  [18, 4],
  [22, 4],
  [22, 5],
  [26, 5],
  [30, 5],
  [22, 8],
  [22, 9],
  [24, 9],
  [24, 10],
  [28, 10],
  [28, 11],
  [26, 13],
  [26, 14],
  [26, 16]
]

/** Modules that carry codewords and remainder bits. */
const rawModules = (version: number): number => {
  const alignments = version < 2 ? 0 : Math.floor(version / 7) + 2
  const finders = (16 * version + 128) * version + 64
  const less = version < 2 ? 0 : (25 * alignments - 10) * alignments - 55
  return finders - less - (version >= 7 ? 36 : 0)
}

const rawCodewords = (version: number): number => Math.floor(rawModules(version) / 8)

const dataCodewords = (version: number): number => {
  const [perBlock, blocks] = correction[version - 1] ?? [0, 0]
  return rawCodewords(version) - perBlock * blocks
}

/** The product in GF(2^8) modulo x^8 + x^4 + x^3 + x^2 + 1. */
const times = (a: number, b: number): number => {
  let product = 0
  for (let bit = 7; bit >= 0; bit--) {
    product = (product << 1) ^ ((product >>> 7) * 0x11d)
    product ^= ((b >>> bit) & 1) * a
  }
  return product
}

const divisorOf = (degree: number): ReadonlyArray<number> => {
  let divisor = [...Array.from({ length: degree - 1 }, () => 0), 1]
  let root = 1
  for (let i = 0; i < degree; i++) {
    divisor = divisor.map((one, at) => times(one, root) ^ (divisor[at + 1] ?? 0))
    root = times(root, 2)
  }
  return divisor
}

const remainderOf = (data: ReadonlyArray<number>, divisor: ReadonlyArray<number>): ReadonlyArray<number> => {
  let rest: ReadonlyArray<number> = divisor.map(() => 0)
  for (const byte of data) {
    const factor = byte ^ (rest[0] ?? 0)
    rest = divisor.map((one, at) => (rest[at + 1] ?? 0) ^ times(one, factor))
  }
  return rest
}

/** The bytes behind their mode and length, filled up to what the version has. */
const dataOf = (bytes: Uint8Array, version: number): ReadonlyArray<number> => {
  const bits: Array<number> = []
  const put = (value: number, length: number) => {
    for (let bit = length - 1; bit >= 0; bit--) bits.push((value >>> bit) & 1)
  }
  const capacity = dataCodewords(version) * 8
  put(4, 4)
  put(bytes.length, version < 10 ? 8 : 16)
  for (const byte of bytes) put(byte, 8)
  put(0, Math.min(4, capacity - bits.length))
  put(0, (8 - (bits.length % 8)) % 8)
  for (let pad = 0xec; bits.length < capacity; pad ^= 0xec ^ 0x11) put(pad, 8)
  return Array.from({ length: capacity / 8 }, (_, at) =>
    bits.slice(8 * at, 8 * at + 8).reduce((byte, bit) => (byte << 1) | bit, 0)
  )
}

/** All codewords, those of the blocks in turn: a blot then harms a little of each. */
const codewordsOf = (data: ReadonlyArray<number>, version: number): ReadonlyArray<number> => {
  const [perBlock, count] = correction[version - 1] ?? [0, 1]
  const raw = rawCodewords(version)
  const longOnes = raw % count
  const shortData = Math.floor(raw / count) - perBlock
  const divisor = divisorOf(perBlock)
  let from = 0
  const blocks = Array.from({ length: count }, (_, at) => {
    const end = from + shortData + (at < count - longOnes ? 0 : 1)
    const block = data.slice(from, end)
    from = end
    return { block, rest: remainderOf(block, divisor) }
  })
  const codewords: Array<number> = []
  for (let i = 0; i <= shortData; i++)
    for (const { block } of blocks) if (i < block.length) codewords.push(block[i] ?? 0)
  for (let i = 0; i < perBlock; i++) for (const { rest } of blocks) codewords.push(rest[i] ?? 0)
  return codewords
}

/** The middles of the small squares, in each direction. */
const alignmentsOf = (version: number): ReadonlyArray<number> => {
  if (version === 1) return []
  const count = Math.floor(version / 7) + 2
  const step = Math.ceil((4 * version + 4) / (2 * count - 2)) * 2
  const last = 4 * version + 10
  return [6, ...Array.from({ length: count - 1 }, (_, at) => last - (count - 2 - at) * step)]
}

type Cell = boolean | undefined

/** Fifteen bits that say the error correction and the mask; eighteen that say the version. */
const formatBits = (mask: number): number => {
  let rest = mask
  for (let i = 0; i < 10; i++) rest = (rest << 1) ^ ((rest >>> 9) * 0x537)
  return ((mask << 10) | rest) ^ 0x5412
}

const versionBits = (version: number): number => {
  let rest = version
  for (let i = 0; i < 12; i++) rest = (rest << 1) ^ ((rest >>> 11) * 0x1f25)
  return (version << 12) | rest
}

const bitOf = (bits: number, at: number): boolean => ((bits >>> at) & 1) === 1

class Grid {
  readonly size: number
  readonly cells: Array<Array<Cell>>
  constructor(size: number) {
    this.size = size
    this.cells = Array.from({ length: size }, () => Array.from({ length: size }, (): Cell => undefined))
  }

  set(x: number, y: number, dark: boolean): void {
    const row = this.cells[y]
    if (row !== undefined && x >= 0 && x < this.size) row[x] = dark
  }

  isFree(x: number, y: number): boolean {
    return this.cells[y]?.[x] === undefined
  }

  /** Rings around a middle, by their distance from it. */
  rings(x: number, y: number, dark: ReadonlyArray<boolean>): void {
    const far = dark.length - 1
    for (let dy = -far; dy <= far; dy++)
      for (let dx = -far; dx <= far; dx++) this.set(x + dx, y + dy, dark[Math.max(Math.abs(dx), Math.abs(dy))] ?? false)
  }

  patterns(version: number): void {
    const { size } = this
    for (let i = 0; i < size; i++) {
      this.set(6, i, i % 2 === 0)
      this.set(i, 6, i % 2 === 0)
    }
    const finder = [true, true, false, true, false]
    this.rings(3, 3, finder)
    this.rings(size - 4, 3, finder)
    this.rings(3, size - 4, finder)
    const middles = alignmentsOf(version)
    const last = size - 7
    for (const x of middles)
      for (const y of middles) {
        const isFinder = (x === 6 && y === 6) || (x === 6 && y === last) || (x === last && y === 6)
        if (!isFinder) this.rings(x, y, [true, false, true])
      }
    this.format(0)
    if (version < 7) return
    for (let i = 0; i < 18; i++) {
      const dark = bitOf(versionBits(version), i)
      this.set(size - 11 + (i % 3), Math.floor(i / 3), dark)
      this.set(Math.floor(i / 3), size - 11 + (i % 3), dark)
    }
  }

  format(mask: number): void {
    const { size } = this
    const bits = formatBits(mask)
    for (let i = 0; i < 15; i++) {
      const dark = bitOf(bits, i)
      // Beside the finder at the top left, around its corner; and once more, half at each of the others.
      if (i < 8) this.set(8, i < 6 ? i : i + 1, dark)
      else this.set(i === 8 ? 7 : 14 - i, 8, dark)
      if (i < 8) this.set(size - 1 - i, 8, dark)
      else this.set(8, size - 15 + i, dark)
    }
    this.set(8, size - 8, true)
  }

  /** The bits of the codewords, two columns wide, up and down from the right. */
  fill(codewords: ReadonlyArray<number>, flips: (x: number, y: number) => boolean): void {
    const { size } = this
    let next = 0
    for (let right = size - 1; right >= 1; right -= 2) {
      if (right === 6) right = 5
      for (let step = 0; step < size; step++) {
        const isUp = ((right + 1) & 2) === 0
        const y = isUp ? size - 1 - step : step
        for (const x of [right, right - 1]) {
          if (!this.isFree(x, y)) continue
          const dark = bitOf(codewords[next >>> 3] ?? 0, 7 - (next & 7)) && next < codewords.length * 8
          this.set(x, y, dark !== flips(x, y))
          next++
        }
      }
    }
  }
}

const masks: ReadonlyArray<(x: number, y: number) => boolean> = [
  (x, y) => (x + y) % 2 === 0,
  (_, y) => y % 2 === 0,
  (x) => x % 3 === 0,
  (x, y) => (x + y) % 3 === 0,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2 === 0,
  (x, y) => ((x * y) % 2) + ((x * y) % 3) === 0,
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2 === 0,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2 === 0
]

const finderLike = ["10111010000", "00001011101"]

const penaltyOfLine = (line: string): number => {
  const runs = line.match(/0{5,}|1{5,}/g) ?? []
  const long = runs.reduce((sum, run) => sum + run.length - 2, 0)
  const alike = finderLike.reduce((sum, part) => {
    let count = 0
    for (let at = line.indexOf(part); at >= 0; at = line.indexOf(part, at + 1)) count++
    return sum + 40 * count
  }, 0)
  return long + alike
}

/** How hard a reader would find it: the mask with the least is taken. */
const penaltyOf = (modules: Modules): number => {
  const size = modules.length
  const rows = modules.map((row) => row.map((dark) => (dark ? "1" : "0")).join(""))
  const columns = Array.from({ length: size }, (_, x) => rows.map((row) => row.charAt(x)).join(""))
  let penalty = [...rows, ...columns].reduce((sum, line) => sum + penaltyOfLine(line), 0)
  for (let y = 1; y < size; y++)
    for (let x = 1; x < size; x++) {
      const dark = modules[y]?.[x]
      const isBlock = [modules[y]?.[x - 1], modules[y - 1]?.[x], modules[y - 1]?.[x - 1]].every((one) => one === dark)
      if (isBlock) penalty += 3
    }
  const dark = rows.join("").replaceAll("0", "").length
  return penalty + 10 * Math.max(0, Math.ceil(Math.abs(dark * 20 - size * size * 10) / (size * size)) - 1)
}

const utf8 = new TextEncoder()

/** A text as a QR code; `undefined` where it is too long for one. `mask`: without one, the best to read. */
export const qrCode = (text: string, mask?: number): Modules | undefined => {
  const bytes = utf8.encode(text)
  const fits = (version: number) => 4 + (version < 10 ? 8 : 16) + 8 * bytes.length <= 8 * dataCodewords(version)
  const version = correction.findIndex((_, at) => fits(at + 1)) + 1
  if (version === 0) return undefined
  const codewords = codewordsOf(dataOf(bytes, version), version)
  const drawn = masks.flatMap((flips, at) => {
    if (mask !== undefined && mask !== at) return []
    const grid = new Grid(4 * version + 17)
    grid.patterns(version)
    grid.format(at)
    grid.fill(codewords, flips)
    const modules = grid.cells.map((row) => row.map((dark) => dark === true))
    return [{ modules, penalty: penaltyOf(modules) }]
  })
  return drawn.reduce((best, one) => (one.penalty < best.penalty ? one : best)).modules
}

/** Light around it, as readers need it. */
const quiet = 4

/** Dark on light in every colour scheme: many a reader knows nothing else. `label`: for who cannot see it. */
export const qrImage = (text: string, label: string): Html | undefined => {
  const modules = qrCode(text)
  if (modules === undefined) return undefined
  const size = modules.length + 2 * quiet
  const path = modules
    .flatMap((row, y) => row.flatMap((dark, x) => (dark ? [`M${x + quiet} ${y + quiet}h1v1h-1z`] : [])))
    .join("")
  return html`<svg class="qr" role="img" aria-label="${label}" viewBox="0 0 ${size} ${size}" shape-rendering="crispEdges"><rect width="${size}" height="${size}" fill="#ffffff"/><path d="${path}" fill="#000000"/></svg>`
}
