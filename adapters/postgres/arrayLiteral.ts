const quoted = /["\\]/

/** PostgreSQL's text form of a `text[]`; ids hardly ever need the slow way. */
export const textArray = (values: ReadonlyArray<string>): string =>
  `{${values.map((value) => (quoted.test(value) ? `"${value.replace(/["\\]/g, "\\$&")}"` : `"${value}"`)).join(",")}}`

export const numberArray = (values: ReadonlyArray<number | null>): string =>
  `{${values.map((value) => (value === null ? "NULL" : value)).join(",")}}`
