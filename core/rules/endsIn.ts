/** Whether `bytes` ends in `end`, found in a time that says nothing about where they differ. */
export const endsIn = (bytes: Uint8Array, end: Uint8Array): boolean => {
  const start = bytes.length - end.length
  let difference = start < 0 ? 1 : 0
  for (let i = 0; i < end.length; i++) difference |= (bytes[start + i] ?? 0) ^ (end[i] ?? 0)
  return difference === 0
}
