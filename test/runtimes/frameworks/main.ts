import { embedded } from "./embedded.ts"
import { onExpress, onExpressParsed, onExpressParsedBefore } from "./express.ts"
import { onFastify, onFastifyParsed } from "./fastify.ts"
import type { Host } from "./Host.ts"
import { onHono, onHonoParsed } from "./honoOnNode.ts"
import { onKoa } from "./koa.ts"

/** Every application that runs on Node, for each issuer that it was given, with one workspace and with many. Says where they are, as JSON, in one line. */
const apps: Readonly<Record<string, Host>> = {
  "Express 5": onExpress,
  "Express 5, parsers first": onExpressParsed,
  "Express 5, a listener behind parsers": onExpressParsedBefore,
  "Fastify 5": onFastify,
  "Fastify 5, parsers first": onFastifyParsed,
  "Hono, on Node": onHono,
  "Hono, on Node, bodies read first": onHonoParsed,
  Koa: onKoa
}

const started = []
for (const issuer of process.argv.slice(2)) {
  for (const [name, host] of Object.entries(apps)) {
    for (const hosts of ["one", "many"] as const) {
      started.push({ name, issuer, hosts, port: await host(await embedded(issuer, hosts)) })
    }
  }
}
process.stdout.write(`${JSON.stringify(started)}\n`)
