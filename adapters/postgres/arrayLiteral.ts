const quoted = /["\\]/

/** PostgreSQL's text form of a `text[]`; ids hardly ever need the slow way. */
export const textArray = (values: ReadonlyArray<string | undefined>): string => `{${values.map(textItem).join(",")}}`

const textItem = (value: string | undefined): string => {
  if (value === undefined) return "NULL"
  return quoted.test(value) ? `"${value.replace(/["\\]/g, "\\$&")}"` : `"${value}"`
}

export const numberArray = (values: ReadonlyArray<number | null>): string =>
  `{${values.map((value) => (value === null ? "NULL" : value)).join(",")}}`
