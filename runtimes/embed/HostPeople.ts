import type { HttpRequest } from "../../core/http/Http.ts"
import type { Profile } from "../../core/ports/ResourceOwner.ts"

/** A browser's request, as the host is asked about it. */
export interface HostRequest {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly headers: HttpRequest["headers"]
  /** The request as your framework has it, with what your middleware put there: Express's `req`, Hono's context … */
  readonly native: unknown
}

/** Somebody who is signed in with the host. */
export interface HostPerson {
  /** What applications know the person by, as `sub`: at most 128 characters without spaces. Never given to another. */
  readonly user: string
  /** Tells this session from every other, as the cookie's value does: forms are bound to it. Only its hash is used. */
  readonly session: string
  /** How the account is called on the pages: an email, a name. Default: `user`. */
  readonly label?: string
  /** Owners look after applications and keys on the settings pages. Default: `"member"`. */
  readonly role?: "owner" | "member"
}

type Now<A> = A | Promise<A>

/**
 * The people of a host. `signedIn` and `profile` give values, or promises of values; what they throw is answered with 503
 * and logged. `signInAt` and `switchAt` give addresses at once; what they throw is a fault of the server's, 500 and logged.
 */
export interface HostPeople {
  /** Who is at this browser, by your own session; `undefined` for nobody. */
  readonly signedIn: (request: HostRequest) => Now<HostPerson | null | undefined>
  /** Your sign-in page, told where to send the browser back to: `/sign-in?return_to=${encodeURIComponent(returnTo)}`. */
  readonly signInAt: (returnTo: string) => string
  /**
   * Where "Not you?" leads, and comes back from in the same way: a page that lets somebody sign in though they are signed
   * in already. Default: `signInAt`.
   */
  readonly switchAt?: (returnTo: string) => string
  /**
   * What applications with the scope `profile` learn; `undefined` once the person is gone. They are told what is named
   * here, and nothing else that the object has. Default: that there is somebody with this id.
   */
  readonly profile?: (user: string) => Now<Omit<Profile, "sub"> | null | undefined>
}
