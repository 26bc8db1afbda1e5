import { Effect } from "effect"
import { behindMark, collectPage, cursorOf } from "../engine/lists.ts"
import { noteOf } from "../http/audit.ts"
import { readParameters } from "../http/form.ts"
import type { Handler, Services } from "../http/Route.ts"
import { hidden } from "../pages/Field.ts"
import { type Html, html } from "../pages/Html.ts"
import type { Document, Place, Visitor } from "../pages/Layout.ts"
import { ago } from "../pages/Timestamp.ts"
import type { Accounts } from "../people/Accounts.ts"
import { endSessions, farewellBy } from "../people/endSessions.ts"
import { isLive, lastUsedFirst, lastUseOf, type Session, sessionMark } from "../people/Sessions.ts"
import type { StorageUnavailable } from "../ports/Storage.ts"
import type { Instant } from "../rules/Instant.ts"
import { ForgedForm } from "../rules/Refusal.ts"
import {
  backTo,
  type Inside as InsideOf,
  insideForm,
  insidePage,
  type Section,
  type SignedInAccount,
  type Visitors
} from "./inside.ts"
import { confirmed, noRows, type Paging, pager, pagingOf, type Row, rows } from "./Rows.ts"
import { sectionPath, settingsDocument } from "./SettingsLayout.ts"

/** One browser that the visitor is signed in with. */
interface SessionRow {
  readonly mark: string
  /** In plain words, where it named itself. */
  readonly browser?: string | undefined
  readonly since: Instant
  readonly lastUsedAt: Instant
  /** It is the one that asks. */
  readonly isHere: boolean
}

/** Its forms post to `{base}/settings/sessions` with `csrf` and `action`: `end` with an `id`, or `end-others`. */
interface SessionsPage {
  /** On the first page the one that asks, before the others; of these, the last used first. */
  readonly sessions: ReadonlyArray<SessionRow>
  readonly paging: Paging
}

const unnamed = "A browser or a program"

const rowOf = (session: SessionRow, path: string, visitor: Visitor): Row => {
  const name = session.browser ?? unnamed
  return {
    title: html`<bdi>${name}</bdi>`,
    name,
    ...(session.isHere ? { subtitle: html`This browser` } : {}),
    facts: [
      ["Signed in", ago(session.since, visitor.now)],
      ["Last used", session.isHere ? html`Now` : ago(session.lastUsedAt, visitor.now)]
    ],
    ...(session.isHere
      ? {}
      : {
          actions: (about) => [
            confirmed({
              label: "Sign out",
              about,
              question:
                "That browser has to sign in again. Applications that you signed in to there may sign you out too.",
              confirm: "Sign out there",
              tone: "danger",
              path,
              fields: { csrf: visitor.csrf, action: "end", id: session.mark }
            })
          ]
        })
  }
}

const endOthers = (path: string, csrf: string): Html => html`<form method="post" action="${path}" class="actions">
${hidden({ csrf, action: "end-others" })}
<button class="button" type="submit">Sign out everywhere else</button>
</form>`

export const sessionsPage = (place: Place, visitor: Visitor, model: SessionsPage): Document => {
  const path = sectionPath(place, "sessions")
  return settingsDocument(place, visitor, {
    section: "sessions",
    title: "Where you are signed in",
    lead: html`Browsers that are signed in to your account in <bdi>${place.name}</bdi>. If you do not know one, sign it out and change your password.`,
    main: html`<section aria-labelledby="sessions">
<h2 id="sessions" class="visually-hidden">Browsers</h2>
${
  model.sessions.length === 0
    ? noRows(model.paging, html``)
    : rows(model.sessions.map((session) => rowOf(session, path, visitor)))
}
${pager(path, model.paging)}
${(model.sessions.some(({ isHere }) => !isHere) || model.paging.nextCursor !== undefined) && endOthers(path, visitor.csrf)}
</section>`
  })
}

const section = {
  name: "sessions",
  notices: {
    "session-ended": { kind: "done", text: "That browser is signed out." },
    "others-ended": { kind: "done", text: "You are signed out everywhere else." },
    "session-gone": { kind: "problem", text: "That browser was signed out already. Nothing was changed." }
  }
} as const satisfies Section

type Inside = InsideOf<SignedInAccount>

const readPage = Effect.fnUntraced(function* (
  accounts: Accounts["Service"],
  { call: { now, request, workspace }, signedIn: { account, own } }: Inside
): Effect.fn.Return<SessionsPage, StorageUnavailable> {
  const after = behindMark(readParameters(request.query).parameters.get("after"))
  const found = yield* collectPage(
    (slice) => accounts.sessions.list(workspace.id, account.id, slice),
    after,
    (session) => Effect.succeed(isLive(session, account, now) ? session : undefined)
  )
  const others = lastUsedFirst(found.values.filter(({ id }) => id !== own.id))
  return {
    sessions: (after === undefined ? [own, ...others] : others).map((session) => ({
      mark: sessionMark(session),
      browser: session.browser,
      since: session.createdAt,
      lastUsedAt: lastUseOf(session),
      isHere: session.id === own.id
    })),
    paging: pagingOf(after, cursorOf(found.last))
  }
})

export const sessionsHandler = (
  services: Services,
  accounts: Accounts["Service"],
  visitors: Visitors<SignedInAccount>
): Handler =>
  insidePage(
    services,
    visitors,
    section,
    Effect.fnUntraced(function* (inside) {
      const page = yield* readPage(accounts, inside)
      return services.pages.show(inside.call.workspace, 200, (place) => sessionsPage(place, inside.visitor, page))
    })
  )

/** Which of the visitor's sessions a form ends; the visitor's own goes by signing out. */
const chosenBy = (form: { readonly get: (name: string) => string | undefined }) => {
  const id = form.get("id")
  switch (form.get("action")) {
    case "end":
      return (session: Session) => sessionMark(session) === id
    case "end-others":
      return () => true
    default:
      return undefined
  }
}

export const changeSessionsHandler = (
  services: Services,
  accounts: Accounts["Service"],
  visitors: Visitors<SignedInAccount>
): Handler =>
  insideForm(
    services,
    visitors,
    section,
    Effect.fnUntraced(function* (inside, form) {
      const { call, signedIn } = inside
      const isChosen = chosenBy(form)
      if (isChosen === undefined) return yield* new ForgedForm({ reason: "field_missing" })
      const { account } = signedIn
      const { id } = account
      const ended = yield* endSessions(
        accounts.sessions,
        call.workspace,
        id,
        (session) => session.id !== signedIn.session && isChosen(session),
        farewellBy(services, call, id)
      )
      if (ended > 0) {
        yield* noteOf(services, call, { _tag: "AccountChanged", account: id, change: "signed_out", by: id })
      }
      if (form.get("action") === "end-others") return backTo(call, section, "others-ended")
      return backTo(call, section, ended === 0 ? "session-gone" : "session-ended")
    })
  )
