import { Option, Tracer } from "effect"

const form = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/** W3C Trace Context §3.2: the caller's span, if the header is one. What is not is taken for none at all. */
export const readTraceparent = (header: string | null | undefined): Option.Option<Tracer.ExternalSpan> => {
  const [, version, traceId = "", spanId = "", flags = "", more] = form.exec(header ?? "") ?? []
  if (version === undefined || version === "ff" || (version === "00" && more !== undefined)) return Option.none()
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return Option.none()
  return Option.some(Tracer.externalSpan({ traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 }))
}
