/** What a browser says that only it does, the more particular first: most name those whose pages they can show too. */
const browsers = [
  ["Edg", "Edge"],
  ["OPR/", "Opera"],
  ["SamsungBrowser/", "Samsung Internet"],
  ["Firefox/", "Firefox"],
  ["FxiOS/", "Firefox"],
  ["CriOS/", "Chrome"],
  ["Chrome/", "Chrome"],
  ["Safari/", "Safari"]
] as const

const systems = [
  ["iPhone", "an iPhone"],
  ["iPad", "an iPad"],
  ["Android", "Android"],
  ["Windows", "Windows"],
  ["CrOS", "ChromeOS"],
  ["Mac OS X", "a Mac"],
  ["Linux", "Linux"]
] as const

/** Longer than any browser's. */
const readMost = 512

/**
 * A browser in words that its person knows it by. A caller can send any User-Agent, so only these words are kept of it,
 * and nothing is decided by it.
 */
export const browserOf = (userAgent: string | null | undefined): string | undefined => {
  const text = (userAgent ?? "").slice(0, readMost)
  const named = (of: ReadonlyArray<readonly [mark: string, words: string]>) =>
    of.find(([mark]) => text.includes(mark))?.[1]
  const [browser, system] = [named(browsers), named(systems)]
  if (browser === undefined) return system === undefined ? undefined : `A browser on ${system}`
  return system === undefined ? browser : `${browser} on ${system}`
}
