import type { HttpRequest, HttpResponse } from "../core/http/Http.ts"
import type { Serve } from "./Serve.ts"

/** One request as it went. No query and no header: codes, links and tokens travel there. */
export interface Access {
  readonly method: string
  readonly path: string
  readonly status: number
  readonly milliseconds: number
  readonly requestId: string | undefined
  readonly peer: string | undefined
}

export const accessLog = (serve: Serve, write: (access: Access, answer: HttpResponse) => void): Serve => {
  return (request: HttpRequest) => {
    const start = performance.now()
    // Asked now: when the answer is there, the connection may be gone.
    const { method, path, peer } = request
    const note = (answer: HttpResponse) => {
      const access = {
        method,
        path,
        status: answer.status,
        milliseconds: Math.round((performance.now() - start) * 10) / 10,
        requestId: answer.headers.find(([name]) => name === "x-request-id")?.[1],
        peer
      }
      write(access, answer)
      return answer
    }
    const answer = serve(request)
    return answer instanceof Promise ? answer.then(note) : note(answer)
  }
}
