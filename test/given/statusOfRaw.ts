import { connect } from "node:net"

/** The status of a request that is sent byte by byte, because `fetch` folds dot segments away. */
export const statusOfRaw = (port: number, request: string): Promise<number> =>
  new Promise((resolve, reject) => {
    let text = ""
    const socket = connect(port, "127.0.0.1", () => socket.write(request))
    socket.on("data", (bytes) => {
      text += bytes
    })
    socket.on("end", () => resolve(Number(text.slice(9, 12))))
    socket.on("error", reject)
  })
