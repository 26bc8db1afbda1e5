/** `tessera/runtime/node`. */

export {
  type NodeListener,
  type NodeOptions,
  type NodeServer,
  type NodeServerOptions,
  nodeListener,
  nodeServer
} from "./node/listener.ts"
export {
  type ConnectMount,
  connectMount,
  type FastifyMount,
  fastifyMount,
  type KoaMount,
  koaMount,
  type NodeMountOptions
} from "./node/mounts.ts"
export { type Serve, serveWith } from "./serve/Serve.ts"
