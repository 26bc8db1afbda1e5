import { createServer } from "node:http"
import express from "express"
import { middleware } from "./draft.ts"
import { type Host, portOf } from "./Host.ts"

export const onExpress: Host = (tessera) => {
  const app = express()
  app.get("/", (_, response) => void response.send("home"))
  app.use(middleware(tessera))
  app.use(express.json(), express.urlencoded({ extended: true }))
  app.post("/own", (request, response) => void response.json(request.body))
  app.get("/users/:id", (request, response) => void response.send(request.params.id))
  app.use((_, response) => void response.status(404).send("my own 404"))
  const server = createServer(app)
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(portOf(server))))
}
