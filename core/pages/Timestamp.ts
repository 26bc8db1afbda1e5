import { DateTime, Option } from "effect"
import { day, hour, type Instant, minute, second } from "../rules/Instant.ts"
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

/** Days up to 100: a key for 90 days would have "2 months" left a moment after it was made. */
const units = [
  { name: "year", length: 365 * day, from: 365 * day },
  { name: "month", length: 30 * day, from: 100 * day },
  { name: "day", length: day, from: day },
  { name: "hour", length: hour, from: hour },
  { name: "minute", length: minute, from: minute }
] as const

/** A record that this request made can be up to this much later than the request's time. */
const ofThisRequest = 2 * second

/** `3 days ago`, `in 4 months`, `just now`. Rounded down, so that it never promises too much time. */
export const relative = (at: Instant, now: Instant): string => {
  const distance = Math.abs(at - now)
  const unit = units.find(({ from }) => distance >= from)
  if (unit === undefined) return at - now > ofThisRequest ? "in less than a minute" : "just now"
  const count = Math.floor(distance / unit.length)
  const words = `${count} ${unit.name}${count === 1 ? "" : "s"}`
  return at > now ? `in ${words}` : `${words} ago`
}

const machine = (at: Instant): string =>
  Option.match(DateTime.make(at), { onNone: () => "", onSome: DateTime.formatIso })

/** A moment as date and time. */
export const timestamp = (at: Instant): Html => html`<time datetime="${machine(at)}">${writtenOut(at)}</time>`

/** A moment relative to now; the exact one is in the tooltip and in `datetime`. */
export const ago = (at: Instant, now: Instant): Html =>
  html`<time datetime="${machine(at)}" title="${writtenOut(at)}">${relative(at, now)}</time>`
