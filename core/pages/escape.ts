import { leadsToKnownProgram } from "../rules/RedirectUri.ts"

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
  "`": "&#96;"
}

/** Safe between tags and inside quotes. What HTML does not allow at all (controls, halves of a pair) becomes U+FFFD. */
export const escapeText = (text: string): string =>
  text
    .replace(/[&<>"'`]/g, (character) => entities[character] ?? "")
    .replace(/[^\t\n\r\P{Cc}]|\p{Cs}|\p{Noncharacter_Code_Point}/gu, "\ufffd")

/** The URL rule of redirect URIs, and paths of our own: no `javascript:`, `data:`, `//host` or `/\host`. */
const harmless = /^(?:$|#|\/(?![/\\])|https?:\/\/|[a-z][a-z0-9+-]*\.[a-z0-9+.-]*:)/i

/** A URL that a link or a form may have; anything else leads nowhere. */
export const safeUrl = (url: string): string =>
  (harmless.test(url) || leadsToKnownProgram(url)) && !/[\s\p{Cc}]/u.test(url) ? url : "#"

/** The path of an address holds nothing that means something in a policy or between two sources: no `;`, `,` or quote. */
const path = String.raw`\/(?![/\\])[A-Za-z0-9._~!$&()*+=:@%/-]*`
const host = String.raw`(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9](?::\d{1,5})?`

const harmlessImage = new RegExp(
  String.raw`^(?:data:image\/(?:png|svg\+xml|webp|jpeg|gif);base64,[A-Za-z0-9+/=]+|${path}|https:\/\/${host}${path})$`
)

/** A picture of the host's: carried along, from this server, or from one address. A client's logo is none of them. */
export const isSafeImage = (url: string): boolean => harmlessImage.test(url)

export const safeImage = (url: string): string => (isSafeImage(url) ? url : "data:,")
