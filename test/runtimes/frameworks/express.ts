import { createServer } from "node:http"
import express from "express"
import * as ofExpress from "../../../runtimes/express.ts"
import * as ofNode from "../../../runtimes/node.ts"
import { type Embedded, needs, see } from "./embedded.ts"
import { type Host, portOf } from "./Host.ts"

const listening = (app: express.Express): Promise<number> => {
  const server = createServer(app)
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(portOf(server))))
}

const parsers = [express.json(), express.urlencoded({ extended: true })]

const expressApp = ({ guard }: Embedded, ...handlers: ReadonlyArray<express.RequestHandler>) => {
  const app = express()
  app.use((request, response, next) => {
    see(request)
    response.set("x-mine", "1")
    if (request.query.cookie !== undefined) response.cookie("mine", "1")
    next()
  })
  app.get("/", (_, response) => void response.send("home"))
  app.use(...handlers)
  const shop = express.Router().use(ofExpress.guard(guard, needs))
  shop.get("/orders", (request, response) => void response.send(request.principal?._tag))
  app.use("/shop", shop)
  app.post("/own", (request, response) => void response.json(request.body))
  app.get("/users/:id", (request, response) => void response.send(request.params.id))
  app.use((_, response) => void response.status(404).send("my own 404"))
  return app
}

export const onExpress: Host = (tessera) => listening(expressApp(tessera, ofExpress.mount(tessera.mount), ...parsers))

/** As many older apps have it: parsers read bodies before any route sees them. */
export const onExpressParsed: Host = (tessera) =>
  listening(expressApp(tessera, ...parsers, ofExpress.mount(tessera.mount)))

/** The body is over, and its end long said, when the listener gets the request. */
export const onExpressParsedBefore: Host = (tessera) => {
  const later: express.RequestHandler = (_request, _response, next) => void setImmediate(next)
  return listening(express().use(...parsers, later, ofNode.handler(tessera.mount.serve)))
}
