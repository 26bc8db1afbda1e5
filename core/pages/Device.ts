import { field, hidden } from "./Field.ts"
import { breakable, html } from "./Html.ts"
import { card, type Document, type Place } from "./Layout.ts"
import { qrImage } from "./qrCode.ts"

/** Posts `user_code` and `csrf` to `{base}/device`. */
interface DevicePage {
  /** As it came, in the address or the form. */
  readonly entered: string | undefined
  /** `SignedIn.label` */
  readonly account: string
  readonly switchAccount: string
  readonly problem?: string
  /** Where the code is drawn for another device to scan. */
  readonly shownAt?: string
  readonly csrf: string
}

const title = "Connect a device"

/** RFC 8628 §3.3: where a person enters the code that a device shows; also where a link brought it (§3.3.1). */
export const devicePage = (place: Place, model: DevicePage): Document => ({
  name: "device",
  title: model.problem === undefined ? title : `Problem: ${title}`,
  // The form leads on to the consent page, which may be the host's own.
  formsEnd: "anywhere",
  opener: "cut",
  session: "kept",
  body: card(
    place,
    html`<h1>${title}</h1>
<dl class="terms">
<div><dt>Your account</dt><dd><bdi>${breakable(model.account)}</bdi></dd><dd class="terms-aside"><a class="quiet-link" href="${model.switchAccount}">Not you?</a></dd></div>
</dl>
<form method="post" action="${place.base}/device" class="stacked">
${hidden({ csrf: model.csrf })}
${field({
  label: "Code on your device",
  name: "user_code",
  value: model.entered,
  autofocus: model.entered === undefined || model.problem !== undefined,
  maxlength: 32,
  problem: model.problem,
  hint: "Eight letters, such as WDJB-MJHT. Use a code only if you see it on a device of your own."
})}
<button class="button primary wide" type="submit">Continue</button>
</form>
${model.shownAt !== undefined && html`<p class="aside"><a href="${model.shownAt}">Go on with your phone</a></p>`}`
  )
})

/**
 * What a device shows that can show pages: the code, and the address that takes it, for people and as a QR code. Anyone
 * may write a link to it with a code of their own (RFC 8628 §5.4), so it says whose screen it is good on.
 */
interface DeviceCodePage {
  readonly userCode: string
  /** RFC 8628 §3.2. */
  readonly verificationUri: string
  readonly verificationUriComplete: string
}

export const deviceCodePage = (place: Place, model: DeviceCodePage): Document => ({
  name: "device-code",
  title: `Code ${model.userCode}`,
  formsEnd: "here",
  opener: "cut",
  body: card(
    place,
    html`<h1>Your code is <strong class="user-code">${model.userCode}</strong></h1>
<div class="prose"><p>On your phone or computer, open <strong class="host">${breakable(model.verificationUri)}</strong> and enter this code, or scan the picture.</p></div>
<div class="notice notice-caution"><p>If a link that somebody sent you led here, close this page: whoever sent it would get into your account.</p></div>
${qrImage(model.verificationUriComplete, `QR code of ${model.verificationUriComplete}`)}
<p class="aside">Nothing is shared before you approve it there.</p>`
  )
})
