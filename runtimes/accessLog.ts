import type { HttpRequest, HttpResponse } from "../core/http/Http.ts"
import type { Serve } from "./Serve.ts"
import type { OnTurnedAway } from "./turnedAway.ts"

/** One request as it went. No query and no header: codes, links and tokens travel there. */
export interface Access {
  readonly method: string
  readonly path: string
  readonly status: number
  readonly milliseconds: number
  readonly requestId: string | undefined
  readonly peer: string | undefined
}

export interface AccessLog {
  readonly serve: Serve
  /** Notes what was answered without `serve`. */
  readonly onTurnedAway: OnTurnedAway
}

export const accessLog = (serve: Serve, write: (access: Access, answer: HttpResponse) => void): AccessLog => {
  const begin = ({ method, path, peer }: HttpRequest) => {
    const start = performance.now()
    return (answer: HttpResponse) => {
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
  }
  return {
    serve: (request) => {
      // Asked now: when the answer is there, the connection may be gone.
      const note = begin(request)
      const answer = serve(request)
      return answer instanceof Promise ? answer.then(note) : note(answer)
    },
    onTurnedAway: (request, answer) => void begin(request)(answer)
  }
}
