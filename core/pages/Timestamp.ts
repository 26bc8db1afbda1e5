import { DateTime, Option } from "effect"
import type { Instant } from "../rules/Instant.ts"
import { type Html, html } from "./Html.ts"

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
const two = (number: number): string => String(number).padStart(2, "0")

/** `20 Nov 2026, 14:03 UTC` */
export const writtenOut = (at: Instant): string =>
  Option.match(DateTime.make(at), {
    onNone: () => "an unknown time",
    onSome: (time) => {
      const { year, month, day, hour, minute } = DateTime.toPartsUtc(time)
      return `${day} ${months[month - 1] ?? ""} ${year}, ${two(hour)}:${two(minute)} UTC`
    }
  })

const second = 1000
const units = [
  ["year", 365 * 86_400 * second],
  ["month", 30 * 86_400 * second],
  ["day", 86_400 * second],
  ["hour", 3600 * second],
  ["minute", 60 * second]
] as const

/** `3 days ago`, `in 2 months`, `just now`. Rounded down, so it never promises more than there is. */
export const relative = (at: Instant, now: Instant): string => {
  const distance = Math.abs(at - now)
  const unit = units.find(([, length]) => distance >= length)
  if (unit === undefined) return at > now ? "in less than a minute" : "just now"
  const count = Math.floor(distance / unit[1])
  const words = `${count} ${unit[0]}${count === 1 ? "" : "s"}`
  return at > now ? `in ${words}` : `${words} ago`
}

const machine = (at: Instant): string =>
  Option.match(DateTime.make(at), { onNone: () => "", onSome: DateTime.formatIso })

/** A moment, written out. */
export const timestamp = (at: Instant): Html => html`<time datetime="${machine(at)}">${writtenOut(at)}</time>`

/** A moment in words that count from now; the exact one is in its tooltip and for machines. */
export const ago = (at: Instant, now: Instant): Html =>
  html`<time datetime="${machine(at)}" title="${writtenOut(at)}">${relative(at, now)}</time>`
