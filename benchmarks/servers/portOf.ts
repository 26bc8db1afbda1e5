import type { Server } from "node:http"

/** Listens on a free port of this machine, and says which. */
export const portOf = (server: Server): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      if (address === null || typeof address === "string") reject(new Error("not listening on a port"))
      else resolve(address.port)
    })
  })
