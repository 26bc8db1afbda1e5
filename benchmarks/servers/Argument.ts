/** `--name=value` of the command line. */
export const argument = (name: string, fallback: string): string => {
  const start = `--${name}=`
  return process.argv.find((one) => one.startsWith(start))?.slice(start.length) ?? fallback
}
