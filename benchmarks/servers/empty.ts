import { get } from "./forms.ts"
import { obey } from "./obey.ts"

/** Answers anything with a few bytes and reads nothing: what is left is the load generator's own limit. */
const body = "x".repeat(200)
const answer = `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`
const server = Bun.listen({
  hostname: "127.0.0.1",
  port: 0,
  socket: { data: (socket) => void socket.write(answer) }
})
await obey(server.port, () => get("/"))
