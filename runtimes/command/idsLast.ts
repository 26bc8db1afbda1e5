/** 128 random bits as base64url: one id in 64 begins as a flag does. */
const isDashedId = (arg: string): boolean => /^-[A-Za-z0-9_-]{21}$/.test(arg)

/** Ids behind the `--` that ends the flags, so that one which begins with a dash is not taken for one. */
export const idsLast = (args: ReadonlyArray<string>): ReadonlyArray<string> => {
  const end = args.indexOf("--")
  const before = end < 0 ? args : args.slice(0, end)
  const ids = before.filter(isDashedId)
  if (ids.length === 0) return args
  return [...before.filter((arg) => !isDashedId(arg)), "--", ...ids, ...(end < 0 ? [] : args.slice(end + 1))]
}
