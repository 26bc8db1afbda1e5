import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { portOf } from "../portOf.ts"
import { bearer, introspect, metadata, token } from "./answers.ts"

const write = (response: ServerResponse, body: string, cache: string) => {
  response.writeHead(200, [
    "content-type",
    "application/json",
    "cache-control",
    cache,
    "content-length",
    String(Buffer.byteLength(body))
  ])
  response.end(body)
}

const read = (request: IncomingMessage, done: (body: string) => void) => {
  const chunks: Array<Buffer> = []
  request.on("data", (chunk: Buffer) => void chunks.push(chunk))
  request.on("end", () => done(Buffer.concat(chunks).toString()))
}

export const start = (): Promise<number> =>
  portOf(
    createServer((request, response) => {
      switch (request.url) {
        case "/oauth/token":
          return read(request, (body) => write(response, token(body), "no-store"))
        case "/oauth/introspect":
          return read(request, (body) => write(response, introspect(body), "no-store"))
        case "/rest/companies":
          return write(response, bearer(request.headers.authorization), "no-store")
        default:
          return write(response, metadata, "public, max-age=300")
      }
    })
  )
