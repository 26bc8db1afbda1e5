/**
 * Random bits as base64url, 22 characters or the first eight of them: one id in 64 begins as a flag does. What could be
 * the name of a flag is one.
 */
const isDashedId = (arg: string): boolean => /^-(?!-[a-z-]+$)[A-Za-z0-9_-]{7}(?:[A-Za-z0-9_-]{14})?$/.test(arg)

/** Ids behind the `--` that ends the flags, so that one which begins with a dash is not taken for one. */
export const idsLast = (args: ReadonlyArray<string>): ReadonlyArray<string> => {
  const end = args.indexOf("--")
  const before = end < 0 ? args : args.slice(0, end)
  const ids = before.filter(isDashedId)
  if (ids.length === 0) return args
  return [...before.filter((arg) => !isDashedId(arg)), "--", ...ids, ...(end < 0 ? [] : args.slice(end + 1))]
}
