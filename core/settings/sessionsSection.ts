import { Effect } from "effect"
import { behindMark, collectPage, cursorOf } from "../engine/lists.ts"
import { noteOf } from "../http/audit.ts"
import { type Parameters, readParameters } from "../http/form.ts"
import { hidden } from "../pages/Field.ts"
import { type Html, html } from "../pages/Html.ts"
import { type Document, doneNotice, type Place, problemNotice, type Visitor } from "../pages/Layout.ts"
import { ago } from "../pages/Timestamp.ts"
import { endSessions, farewellBy } from "../people/endSessions.ts"
import { isLive, lastUsedFirst, lastUseOf, type Session, sessionMark } from "../people/Sessions.ts"
import type { StorageUnavailable } from "../ports/Storage.ts"
import type { Instant } from "../rules/Instant.ts"
import { backTo, type Inside as InsideOf, type Section, type SignedInAccount, sectionEndpoint } from "./inside.ts"
import { confirmed, type Forms, formsAt, listedAt, listSection, type Paging, type Row } from "./Rows.ts"
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

const rowOf = (session: SessionRow, forms: Forms, { now }: Visitor): Row => {
  const name = session.browser ?? unnamed
  return {
    title: html`<bdi>${name}</bdi>`,
    name,
    ...(session.isHere ? { subtitle: html`This browser` } : {}),
    facts: [
      ["Signed in", ago(session.since, now)],
      ["Last used", session.isHere ? html`Now` : ago(session.lastUsedAt, now)]
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
              ...forms("end", { id: session.mark })
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
  const { paging, sessions } = model
  const forms = formsAt(listedAt(path, paging), visitor)
  const hasOthers = sessions.some(({ isHere }) => !isHere) || paging.nextCursor !== undefined
  return settingsDocument(place, visitor, {
    section: "sessions",
    title: "Where you are signed in",
    lead: html`Browsers that are signed in to your account in <bdi>${place.name}</bdi>. If you do not know one, sign it out and change your password.`,
    main: listSection({
      id: "sessions",
      title: "Browsers",
      isTitleHidden: true,
      rows: sessions.map((session) => rowOf(session, forms, visitor)),
      none: html``,
      path,
      paging,
      more: hasOthers && endOthers(path, visitor.csrf)
    })
  })
}

const section = {
  name: "sessions",
  notices: {
    "session-ended": doneNotice("That browser is signed out."),
    "others-ended": doneNotice("You are signed out everywhere else."),
    "session-gone": problemNotice("That browser was signed out already. Nothing was changed.")
  }
} as const satisfies Section

type Inside = InsideOf<SignedInAccount>

const readPage = Effect.fnUntraced(function* ({
  call: { now, request, workspace },
  signedIn: { account, accounts, own }
}: Inside): Effect.fn.Return<SessionsPage, StorageUnavailable> {
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
    paging: { after: cursorOf(after), nextCursor: cursorOf(found.last) }
  }
})

const show = Effect.fnUntraced(function* (inside: Inside) {
  const page = yield* readPage(inside)
  return inside.services.pages.show(inside.call.workspace, 200, (place) => sessionsPage(place, inside.visitor, page))
})

/** Ends those that are meant of the visitor's others; the visitor's own goes by signing out. Answers how many. */
const endAmongOthers = Effect.fnUntraced(function* (
  { call, services, signedIn: { account, accounts, own } }: Inside,
  isMeant: (session: Session) => boolean
) {
  const { id } = account
  const ended = yield* endSessions(
    accounts.sessions,
    call.workspace,
    id,
    (session) => session.id !== own.id && isMeant(session),
    farewellBy(services, call, id)
  )
  if (ended > 0) {
    yield* noteOf(services, call, { _tag: "AccountChanged", account: id, change: "signed_out", by: id })
  }
  return ended
})

const end = Effect.fnUntraced(function* (inside: Inside, form: Parameters) {
  const id = form.get("id")
  const ended = yield* endAmongOthers(inside, (session) => sessionMark(session) === id)
  return backTo(inside.call, section, ended === 0 ? "session-gone" : "session-ended")
})

const endAllOthers = (inside: Inside) =>
  Effect.as(
    endAmongOthers(inside, () => true),
    backTo(inside.call, section, "others-ended")
  )

export const sessionsEndpoint = sectionEndpoint(section, { show, others: { end, "end-others": endAllOthers } })
