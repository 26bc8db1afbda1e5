import type { HttpResponse } from "../../core/http/Http.ts"
import { readBefore, unreadable } from "../bodyFaults.ts"

/** What Hono keeps of a body that the app has read through it. */
export interface HonoBody {
  readonly bodyCache: object
  readonly text: () => Promise<string>
  readonly formData: () => Promise<FormData>
}

const fieldsOf = (form: FormData): string => {
  const pairs: Array<[string, string]> = []
  for (const [name, value] of form) if (typeof value === "string") pairs.push([name, value])
  return new URLSearchParams(pairs).toString()
}

/** A body that was read before: as it came, or as it can be written again. */
export const honoBody = async (body: HonoBody): Promise<string | HttpResponse> => {
  if (Object.keys(body.bodyCache).length === 0) return readBefore
  try {
    return "formData" in body.bodyCache ? fieldsOf(await body.formData()) : await body.text()
  } catch {
    return unreadable()
  }
}
