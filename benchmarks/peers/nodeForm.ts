import type { IncomingMessage, ServerResponse } from "node:http"

/** A form that came over Node's HTTP, as the simplest of body parsers gives it. */
export const readForm = async (request: IncomingMessage): Promise<Record<string, string>> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk)
  return Object.fromEntries(new URLSearchParams(Buffer.concat(chunks).toString()))
}

export const writeJson = (
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: unknown
): void => {
  const text = JSON.stringify(body)
  response.writeHead(status, { "content-type": "application/json", ...headers })
  response.end(text)
}
