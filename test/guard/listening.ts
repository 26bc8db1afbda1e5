import { createServer, type RequestListener } from "node:http"

export interface Running {
  readonly port: number
  readonly stop: () => Promise<unknown>
}

export const listening = (listener: RequestListener): Promise<Running> => {
  const server = createServer(listener)
  return new Promise((resolve) =>
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      resolve({
        port: typeof address === "object" && address !== null ? address.port : 0,
        stop: () => new Promise((stopped) => server.close(stopped).closeAllConnections())
      })
    })
  )
}
