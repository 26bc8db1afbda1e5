/** What a browser would post back from a consent page. */
export interface ConsentForm {
  readonly action: string
  readonly fields: { readonly [name: string]: string }
}

const entities: { readonly [entity: string]: string } = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#39;": "'",
  "&#x27;": "'"
}

const unescaped = (text: string): string =>
  text.replace(/&(?:amp|lt|gt|quot|#39|#x27);/g, (one) => entities[one] ?? one)

const attribute = (tag: string, name: string): string | null => {
  const found = new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1]
  return found === undefined ? null : unescaped(found)
}

/** The page's form with such a field; other forms on the page (signing out, say) are none of our business. */
const readFormWith = (html: string, field: string, otherwise: string): ConsentForm | null => {
  for (const [form] of html.matchAll(/<form\b[\s\S]*?<\/form>/g)) {
    const fields: Record<string, string> = {}
    for (const [input] of form.matchAll(/<input\b[^>]*>/g)) {
      const name = attribute(input, "name")
      const type = attribute(input, "type")
      // As a person who reads the page fills it: what has to be ticked is.
      const filled = type === "hidden" || (type === "checkbox" && /\srequired[\s>]/.test(input))
      if (filled && name !== null) fields[name] = attribute(input, "value") ?? ""
    }
    const opening = form.slice(0, form.indexOf(">") + 1)
    if (form.includes(` name="${field}"`)) return { action: attribute(opening, "action") ?? otherwise, fields }
  }
  return null
}

export const readConsentForm = (html: string): ConsentForm | null => readFormWith(html, "ticket", "/consent")

/** RP-Initiated Logout §2: where a person says that they want to sign out. */
export const readSignOutForm = (html: string): ConsentForm | null => {
  const form = readFormWith(html, "csrf", "/oauth/logout")
  return form?.action.endsWith("/oauth/logout") === true ? form : null
}

/** RFC 8628 §3.3: where a person enters the code of a device. */
export const readDeviceForm = (html: string): ConsentForm | null => readFormWith(html, "user_code", "/device")
