import { type Schema, SchemaAST } from "effect"

/** Where something stands in a form or in a value, as `.refresh<Line>.keys[]`: of what may be one of several, with its tag. */
type Places = ReadonlySet<string>

const tagOf = (type: SchemaAST.Objects): string => {
  const tag = type.propertySignatures.find(({ name }) => name === "_tag")?.type
  return tag !== undefined && SchemaAST.isLiteral(tag) ? `<${String(tag.literal)}>` : ""
}

/** All places that values of a form may have. */
export const placesOf = (form: Schema.Top): Places => {
  const places = new Set<string>()
  const walk = (type: SchemaAST.AST, at: string): void => {
    if (SchemaAST.isUnion(type)) {
      for (const one of type.types) walk(one, at)
      return
    }
    places.add(at)
    if (SchemaAST.isLiteral(type)) places.add(`${at} = ${String(type.literal)}`)
    if (SchemaAST.isArrays(type)) {
      for (const one of [...type.elements, ...type.rest]) walk(one, `${at}[]`)
    } else if (SchemaAST.isObjects(type)) {
      const tagged = `${at}${tagOf(type)}`
      for (const { name, type: member } of type.propertySignatures) walk(member, `${tagged}.${String(name)}`)
    }
  }
  walk(SchemaAST.toEncoded(form.ast), "")
  return places
}

/** The places that these values have, with a tag and without it: a form may leave its tags open. */
const placesIn = (values: ReadonlyArray<unknown>): Places => {
  const places = new Set<string>()
  const walk = (value: unknown, at: string): void => {
    places.add(at).add(`${at} = ${String(value)}`)
    if (Array.isArray(value)) {
      for (const one of value) walk(one, `${at}[]`)
    } else if (typeof value === "object" && value !== null) {
      const tags = "_tag" in value && typeof value._tag === "string" ? ["", `<${value._tag}>`] : [""]
      for (const [name, member] of Object.entries(value)) {
        for (const tag of tags) walk(member, `${at}${tag}.${name}`)
      }
    }
  }
  for (const value of values) walk(value, "")
  return places
}

/** Which of these places none of the values has. */
export const missingIn = (values: ReadonlyArray<unknown>, places: Places): ReadonlyArray<string> => {
  const there = placesIn(values)
  return [...places].filter((place) => !there.has(place))
}
